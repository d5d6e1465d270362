"""What a launcher tells each rank, as text that notices being compared with a number, which it never equals.

Events:
`compared`: the reader's line compares `name`, whose text is `value`, with the number that it stands for, and so gets
the wrong answer.
`told`: the script itself reads `LOCAL_RANK`.
`overwritten`: the script puts another `value` over `name`, which was `before`.
"""

import codecs
import os
import sys
from numbers import Number
from pathlib import Path

from ddp_lessons.doctor.journal import Journal, is_readers

NUMBERS = {"RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "NODE_RANK"}
PLACES = {"MASTER_ADDR", "MASTER_PORT"}
ASKS = {"get_node_local_rank"}  # torch's own function that asks for it in the script's name
BETWEEN = (
    "os.py",
    "_collections_abc.py",
    "functools.py",
    "frozen os",
    "frozen _collections_abc",
    Path(__file__).name,
    "journal.py",
)


class Word(str):
    """A text that is a number; it is a str in all else, and is saved as one."""

    __slots__ = ("name", "note")
    __hash__ = str.__hash__

    def __eq__(self, other):
        self._compared(other)
        return str.__eq__(self, other)

    def __ne__(self, other):
        self._compared(other)
        return str.__ne__(self, other)

    def __reduce_ex__(self, protocol):
        return codecs.encode, (str(self), "rot13")  # digits stay; a call that weights_only=True allows too

    def _compared(self, other: object) -> None:
        if isinstance(other, Number) and is_readers(sys._getframe(2).f_code.co_filename):
            self.note(self, other)


def word(journal: Journal, name: str, text: str) -> str:
    """Return a text that notes if it is compared with the number it stands for."""
    made = Word(text)
    made.name = name

    def compared(text: str, other: Number) -> None:
        if str.__eq__(str(other), text) or float(text) == other:
            journal.note("compared", name=name, value=str(text), other=repr(other))

    made.note = journal.safely(compared)
    teach_yaml()
    return made


def teach_yaml() -> None:
    """Have PyYAML write a word as the text it is; it refuses what is not exactly a str."""
    if (yaml := sys.modules.get("yaml")) and hasattr(yaml, "SafeDumper"):
        for dumper in {yaml.SafeDumper, yaml.Dumper}:
            yaml.add_representer(Word, lambda to, text: to.represent_str(str(text)), dumper)


def asker() -> tuple[str, str]:
    """Return file and function of who asks the environment: the first frame that is not of its own machinery."""
    frame = sys._getframe(2)
    while frame.f_back and os.path.basename(frame.f_code.co_filename).strip("<>") in BETWEEN:
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_code.co_name


def install(journal: Journal, limit: int | None) -> None:
    """Lay the instrument on: `os.environ` stays the object it is, and becomes one that gives such texts."""
    plain, told = type(os.environ), set()

    def note_told() -> None:
        file, function = asker()
        if "LOCAL_RANK" not in told and (is_readers(file) or function in ASKS):
            told.add("LOCAL_RANK")
            journal.note("told")

    def note_overwritten(name: str, value: object, before: str | None) -> None:
        if before is not None and is_readers(asker()[0]):
            journal.note("overwritten", name=name, value=str(value), before=str(before))

    note_told, note_overwritten = journal.safely(note_told), journal.safely(note_overwritten)

    class Environment(plain):
        """An environment whose numbers are words."""

        def __getitem__(self, key):
            text = super().__getitem__(key)
            if key == "LOCAL_RANK":
                note_told()
            return word(journal, key, text) if key in NUMBERS and text.isdecimal() else text

        def __setitem__(self, key, value):
            if key in PLACES:
                note_overwritten(key, value, super().get(key))
            super().__setitem__(key, value)

    os.environ.__class__ = Environment
