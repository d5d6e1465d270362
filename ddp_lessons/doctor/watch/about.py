"""What a call among ranks is about: which ranks, which tensor, from which lines."""

import inspect
import os
import sys
from types import FrameType

import torch
import torch.distributed as dist

from ddp_lessons.doctor.journal import is_readers

TENSORS = ["tensor", "input_tensor", "output", "output_tensor"]  # what a rank gives or gets, by its argument's name
PEERS = ["src", "dst"]
SHORT = 40  # characters of a text that may name what is sent
FEW = 40  # calls a line whose variables are looked at: what differs between ranks differs early

numbers: dict[int, int] = {}  # each parameter's, in the order in which modules got them, by its id
looked: dict[tuple, int] = {}  # how often a line's variables have been looked at


def registered(_module: torch.nn.Module, _name: str, parameter: torch.nn.Parameter) -> None:
    """Number a parameter that a module gets."""
    if parameter is not None and id(parameter) not in numbers:
        numbers[id(parameter)] = len(numbers)


def group(process_group: object) -> dict:
    """Return the `group` (its ranks) and `pg` (its name) that a call is in."""
    if not dist.is_initialized():
        return {"group": list(range(int(os.environ["WORLD_SIZE"]))), "pg": ""}
    process_group = process_group or dist.group.WORLD
    return {"group": dist.get_process_group_ranks(process_group), "pg": process_group.group_name}


def call(name: str, given: dict) -> dict:
    """Return what is to be noted of a call with some arguments: shapes, root or peer, operation."""
    more = {"group": given.get("group")} if isinstance(given.get("group"), dist.ProcessGroup) else {}
    tensor = next((given[key] for key in TENSORS if isinstance(given.get(key), torch.Tensor)), None)
    if tensor is not None:
        more |= {"shape": list(tensor.shape), "dtype": str(tensor.dtype).removeprefix("torch."), "tensor": tensor}
    for key in [key for key in PEERS if key in given]:
        more[key] = peer(given, key)
    if "op" in given:
        more["op"] = str(given["op"]).removeprefix("RedOpType.")
    if given.get("tag"):
        more["tag"] = given["tag"]
    if name == "new_group":
        ranks = given.get("ranks")
        more |= {"ranks": None if ranks is None else sorted(ranks), "local": bool(given["use_local_synchronization"])}
    if name.startswith("all_to_all"):
        more |= {"gives": parts(given, "input"), "gets": parts(given, "output")}
    return more


def peer(given: dict, key: str) -> int | None:
    """Return the rank, of all, that a call names as its `src` or `dst`."""
    inner = given.get(f"group_{key}")
    if given[key] is not None or inner is None:
        return given[key]
    return dist.get_global_rank(given.get("group") or dist.group.WORLD, inner)


def parts(given: dict, side: str) -> list[int]:
    """Return how many numbers go to, or come from, each rank of an all-to-all."""
    if f"{side}_tensor_list" in given:
        return [tensor.numel() for tensor in given[f"{side}_tensor_list"]]
    tensor, size = given[side], dist.get_world_size(given.get("group"))
    row = tensor[0].numel() if len(tensor) else 0
    return [rows * row for rows in given[f"{side}_split_sizes"] or [len(tensor) // size] * size]


def frames(tensor: torch.Tensor | None) -> dict:
    """Return the `trail` of the reader's lines behind the innermost, and the `labels` in their variables."""
    trail, labels, frame = [], {}, sys._getframe(1)
    while frame:
        if is_readers(frame.f_code.co_filename):
            trail.append([os.path.abspath(frame.f_code.co_filename), frame.f_lineno])
            key = frame.f_code, frame.f_lineno
            looked[key] = looked.get(key, 0) + 1
            if tensor is not None and looked[key] <= FEW:
                labels |= variables(frame, tensor)
        frame = frame.f_back
    return {"trail": trail[1:]} | ({"labels": labels} if labels else {})


def variables(frame: FrameType, tensor: torch.Tensor) -> dict[str, object]:
    """Return the variables of a frame that may tell which of several tensors this one is.

    A parameter is told by its number, a text by itself: in a list of one where a dict has it among its keys.
    """
    found, here = {}, frame.f_locals
    values = list(here.items())
    dicts = [value for _, value in values if issubclass(type(value), dict) and value is not frame.f_globals]
    for name, value in values:
        if type(value) is str and len(value) <= SHORT and not name.startswith("__"):
            found[name] = [value] if any(has(one, value, tensor) for one in dicts) else value
        elif isinstance(value, torch.nn.Parameter) and id(value) in numbers and is_part(value, tensor):
            found["parameter"] = numbers[id(value)]
    if frame.f_code.co_flags & inspect.CO_OPTIMIZED and type(here) is dict:
        here.clear()  # this copy of a function's variables would keep them alive
    return found


def has(named: dict, key: str, tensor: torch.Tensor) -> bool:
    """Tell whether a key is a dict's; of a dict of a class of its own, also that its value is the tensor's."""
    if type(named) is dict or not dict.__contains__(named, key):
        return type(named) is dict and key in named
    value = dict.__getitem__(named, key)
    one_number = tensor.numel() == 1 and tensor.device.type == "cpu" and isinstance(value, int | float)
    return value is tensor or (one_number and value != 0 and tensor.new_tensor(value).item() == tensor.item())


def is_part(parameter: torch.nn.Parameter, tensor: torch.Tensor) -> bool:
    """Tell whether a tensor is a parameter's, or its gradient's."""
    owned = [parameter] if parameter.grad is None else [parameter, parameter.grad]
    return tensor.data_ptr() in [one.data_ptr() for one in owned]
