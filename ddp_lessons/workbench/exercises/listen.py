"""What a rank sends and receives, heard where every call of torch.distributed passes, however it was written."""

import torch
from torch.utils._python_dispatch import TorchDispatchMode

MESSAGES = {"send": "send", "recv_": "recv", "recv_any_source_": "recv"}


class Listening(TorchDispatchMode):
    """While it is active, `heard` fills with what this rank says, in order: each a dict that JSON can hold.

    A message has `call` ("send" or "recv"), `bytes` and the `partner`; a collective has `call`, `bytes` and
    `waits`: whether the call comes back only when it is done. Others may add to the list.
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
        """Note a call: its tensors come first, its partner third, and whether it is asynchronous fifth, if told."""
        tensors = given[0] if isinstance(given[0], list) else [given[0]]
        size = sum(tensor.nbytes for tensor in tensors if isinstance(tensor, torch.Tensor))
        if name in MESSAGES:
            partner = given[2] if name != "recv_any_source_" else None
            self.heard.append({"call": MESSAGES[name], "bytes": size, "partner": partner})
        else:
            self.heard.append({"call": name.strip("_"), "bytes": size, "waits": given[4:] == (False,)})


def collectives(heard: list[dict]) -> list[str]:
    """Return the names of the collective calls among what was heard; a barrier carries no data, and is none."""
    return [said["call"] for said in heard if said["call"] not in ("send", "recv", "barrier")]


def messages(heard: list[dict], call: str) -> list[dict]:
    """Return the messages among what was heard that were sent ("send") or received ("recv")."""
    return [said for said in heard if said["call"] == call]
