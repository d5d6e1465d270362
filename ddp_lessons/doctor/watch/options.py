"""Supplies `--local-rank`, which old launchers pass, in the spelling that the script reads.

Events:
`option`: the script's command line is to have the option, in the `spellings` given; `default` is its default, as
text, and `rank` this rank's number on its machine.
"""

import argparse
import functools
import os
import sys

from ddp_lessons.doctor.journal import Journal
from ddp_lessons.doctor.watch.words import word

SPELLINGS = ("--local_rank", "--local-rank")


def supplied(journal: Journal, parser: argparse.ArgumentParser, arguments: list[str]) -> list[str]:
    """Return the arguments, with this rank's number in front if the parser reads it and they do not give it."""
    read = [spelling for spelling in SPELLINGS if spelling in parser._option_string_actions]
    given = any(str(argument).split("=")[0] in SPELLINGS for argument in arguments)
    if not read or given or parser._option_string_actions[read[0]].nargs is not None:
        return arguments
    return [read[0], word(journal, "LOCAL_RANK", os.environ["LOCAL_RANK"]), *arguments]


def install(journal: Journal, limit: int | None) -> None:
    """Lay the instrument on."""
    parser, container = argparse.ArgumentParser, getattr(argparse, "_ActionsContainer", argparse.ArgumentParser)
    parse, add = parser.parse_known_args, container.add_argument

    def more(self, args) -> list[str] | None:
        return supplied(journal, self, list(sys.argv[1:] if args is None else args))

    def note(names: tuple, default: object) -> None:
        spellings = [name for name in names if name in SPELLINGS]
        if spellings:
            journal.note("option", spellings=spellings, default=str(default), rank=os.environ["LOCAL_RANK"])

    more, note = journal.safely(more), journal.safely(note)

    @functools.wraps(parse)
    def watched_parse(self, args=None, namespace=None):
        found = more(self, args)
        return parse(self, args if found is None else found, namespace)

    @functools.wraps(add)
    def watched_add(self, *args, **kwargs):
        note(args, kwargs.get("default"))
        return add(self, *args, **kwargs)

    parser.parse_known_args, container.add_argument = watched_parse, watched_add
