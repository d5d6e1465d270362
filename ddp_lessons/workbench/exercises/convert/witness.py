"""Runs a script as Python would, and notes what cannot be seen from outside: `witness.py FOLDER SCRIPT …`."""

import json
import os
import sys
import time
from collections.abc import Callable

import torch
import torch.distributed as dist

LAST = []  # the last layer, once it has computed
SLOW = 0.5  # seconds until a file that ranks save is there, as on a disk that machines share


def note_rows(note: Callable) -> object:
    """Note the rows of each batch that reaches a layer of ten outputs, the last one, and the calls of DDP's wrapper.

    Returns the hook, to be removed.
    """

    def before_forward(layer, inputs):
        if isinstance(layer, torch.nn.parallel.DistributedDataParallel):
            note("wrapper", 1)
        if isinstance(layer, torch.nn.Linear) and layer.out_features == 10:
            LAST[:] = [layer]
            note("train" if torch.is_grad_enabled() else "test", len(inputs[0]))
            note("group", dist.get_world_size() if dist.is_initialized() else 1)

    return torch.nn.modules.module.register_module_forward_pre_hook(before_forward)


def note_saves(note: Callable) -> None:
    """Note what is saved, and on ranks take some time for it: who reads too early is then sure to find nothing."""

    def slow_save(*args, **options):
        note("save", 1)
        time.sleep(SLOW * dist.is_initialized())
        return save(*args, **options)

    save, torch.save = torch.save, slow_save


def main() -> None:
    """Run the script that the command line names; its traceback, should it end in one, is without lines of ours."""
    folder, script, *_ = sys.argv[1:]
    notes = open(os.path.join(folder, os.environ.get("RANK", "0")), "w", buffering=1)  # noqa: SIM115 (until we end)

    def note(kind: str, what: int | str) -> None:
        print(json.dumps([kind, what]), file=notes)

    note_rows(note), note_saves(note)
    sys.argv, sys.path[0] = sys.argv[2:], os.path.dirname(script)
    with open(script, encoding="utf-8") as file:
        code = compile(file.read(), script, "exec")
    try:
        exec(code, {"__name__": "__main__", "__file__": script})  # noqa: S102 (it is what we are for)
    except Exception as error:  # noqa: BLE001 (the reader is to see it, whatever it is)
        note("error", f"{type(error).__name__}: {error}")
        error = error.with_traceback(error.__traceback__.tb_next)
        sys.excepthook(type(error), error, error.__traceback__)
        sys.exit(1)
    finally:
        note("left", not dist.is_initialized())
        if LAST:
            note("end", LAST[0].weight.norm().item())  # enough to see whether ranks end with the same weights


if __name__ == "__main__":
    main()
