"""Launchers' command lines, which may stand where the doctor's script is to be."""

import os
from collections.abc import Sequence

LAUNCHERS = ("torch.distributed.run", "torch.distributed.launch")
HOW = "give the doctor the script itself: ddp-doctor --ranks 2 train.py"


def unwrapped(words: Sequence[str]) -> tuple[int | None, str, list[str]]:
    """Return ranks, script and its arguments from a command line, without what launches it; None if it has no count.

    Raises ValueError with a sentence where it launches something else than a script.
    """
    words = list(words)
    if os.path.basename(words[0]).startswith("python"):
        words = words[1:]
    if words[:1] == ["-m"]:
        if words[1:2] and words[1] not in LAUNCHERS:
            raise ValueError(f"-m {words[1]} is no launcher of torch's: {HOW}")
        return launched(words[2:])
    if words and os.path.basename(words[0]) == "torchrun":
        return launched(words[1:])
    if not words:
        raise ValueError(f"there is no script: {HOW}")
    return None, words[0], words[1:]


def launched(words: list[str]) -> tuple[int | None, str, list[str]]:
    """Return ranks, script and its arguments from what a launcher of torch's is given."""
    from torch.distributed.run import get_args_parser  # torch takes seconds to import, which few need here

    parser, wrong = get_args_parser(), []
    parser.error = wrong.append  # it would print torchrun's long usage
    parser.add_argument("--use-env", "--use_env", action="store_true")
    args = parser.parse_args(words)
    if wrong or not args.training_script:
        raise ValueError(f"torchrun would not start with {' '.join(words) or 'nothing'}: {HOW}")
    if args.module or args.no_python:
        raise ValueError(f"only scripts can be looked at, no modules and no other programs: {HOW}")
    ranks = int(args.nproc_per_node) if args.nproc_per_node.isdecimal() else None
    given = any(word.startswith(("--nproc", "--nproc_per_node")) for word in words)
    return ranks if given else None, args.training_script, args.training_script_args
