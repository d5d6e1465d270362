"""What a rank sends and receives, heard where every call of torch.distributed passes, however it was written."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.distributed as dist
from torch.utils._python_dispatch import TorchDispatchMode

MESSAGES = {"send": "send", "recv_": "recv", "recv_any_source_": "recv"}


class Listening(TorchDispatchMode):
    """While it is active, `heard` fills with what this rank says, in order: each a dict that JSON can hold.

    A message has `call` ("send" or "recv"), `bytes` and the `partner`; a collective has `call` and `bytes`. Others may
    add to the list.
    """

    def __init__(self, heard: list[dict] | None = None):
        super().__init__()
        self.heard = [] if heard is None else heard

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # nothing here is compiled, and to skip the compiler is to import it, for seconds

    def __torch_dispatch__(self, call, types, given=(), more=None):
        if call.namespace == "c10d":
            self.note(call._opname, given)
        return call(*given, **(more or {}))

    def note(self, name: str, given: tuple) -> None:
        """Note a call: its tensors come first, and its partner third."""
        tensors = given[0] if isinstance(given[0], list) else [given[0]]
        size = sum(tensor.nbytes for tensor in tensors if isinstance(tensor, torch.Tensor))
        if name in MESSAGES:
            partner = given[2] if name != "recv_any_source_" else None
            self.heard.append({"call": MESSAGES[name], "bytes": size, "partner": partner})
        else:
            self.heard.append({"call": name.strip("_"), "bytes": size})


@contextmanager
def hearing_waits(heard: list[dict]) -> Iterator[None]:
    """Have the list get a "wait" or a "get_future" as well, the first time that a call's handle is asked for it.

    A synchronous call waits for its own.
    """
    originals, handles = {name: getattr(dist.Work, name) for name in ("wait", "get_future")}, {}

    def asked(name: str, handle: dist.Work, *given: object) -> object:
        if id(handle) not in handles:
            heard.append({"call": name})
        handles[id(handle)] = handle  # kept, so that no other handle gets its id
        return originals[name](handle, *given)

    for name in originals:
        setattr(dist.Work, name, lambda *given, name=name: asked(name, *given))
    try:
        yield
    finally:
        for name, original in originals.items():
            setattr(dist.Work, name, original)


def messages(heard: list[dict], call: str) -> list[dict]:
    """Return the messages among what was heard that were sent ("send") or received ("recv")."""
    return [said for said in heard if said["call"] == call]
