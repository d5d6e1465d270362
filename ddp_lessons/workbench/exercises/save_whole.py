"""The exercise on a file that is whole, whoever is killed while writing it, and whether the disk is full."""

import os

from ddp_lessons.workbench.exercises.exercise import Exercise, first_hint, with_hint
from ddp_lessons.workbench.exercises.saves import NEW, OTHER, try_save
from ddp_lessons.workbench.on_ranks import Outcome

IN_PLACE = (
    "who writes into the file itself has a moment in which it is neither: write another file beside it, and give "
)
IN_PLACE += "that one the name when it is whole"


def judge(results: list[dict[str, list]]) -> str:
    """Return what is wrong: with the file, when killed, with the order of what was done, when it cannot be written."""
    for output in results:
        wrongs = [wrong_file(facts) for facts in output["plain"]]
        wrongs += [wrong_order(output["notes"])]
        wrongs += [wrong_when_killed(facts) for facts in output["killed"]]
        wrongs += [wrong_way(output["notes"])]
        wrongs += [wrong_failure(facts, "on a full disk") for facts in output["full"]]
        wrongs += [wrong_failure(facts, "where `path` is a folder") for facts in output["no_name"]]
        if wrong := next(filter(None, wrongs), ""):
            return wrong
    return ""


def wrong_file(facts: dict) -> str:
    """Return what is wrong with what it leaves if nobody disturbs it."""
    if facts["found"] != "the new content":
        return f"save_whole left {facts['found']} at `path`; right is the new content"
    if OTHER in facts["beside"]:
        return f"save_whole took away {OTHER!r}, which was there before; right is to leave it"
    if facts["beside"]:
        hint = "os.replace gives a file another name: then there is no file of the first name left"
        return with_hint(f"save_whole left {facts['beside'][0]!r} beside the file; right is the file alone", hint)
    return ""


def wrong_when_killed(facts: dict) -> str:
    """Return what is wrong with what is there after SIGKILL, or with what is there when it is called again."""
    before = "the old content" if facts["had"] else "no file"
    if facts["found"] not in (before, "the new content"):
        hint = IN_PLACE
        if facts["found"] == "no file":
            hint = "os.replace puts a file in the place of another in a single step: nothing has to be gone before"
        return with_hint(f"killed on the way, it left {facts['found']}; right is {before} or the new content", hint)
    if facts["raised"] != "" or facts["then"] != "the new content":
        said = f"it raised {facts['raised']}" if facts["raised"] else f"it left {facts['then']}"
        hint = "a killed run cannot clear away its temporary file: the next one has to do with what it finds"
        return with_hint(f"killed on the way and called again, {said}; right is the new content", hint)
    return ""


def renames(notes: list[dict]) -> list[dict]:
    """Return the notes of when a file got the name."""
    return [note for note in notes if note["call"] == "rename"]


def wrong_way(notes: list[dict]) -> str:
    """Return what is wrong where no file got the name, and yet it is there; "" if one did."""
    hint = "Python hears nothing of it: who says that it is a single step?"
    return "" if renames(notes) else with_hint("the name was not given by os.replace; right is that it is", hint)


def wrong_order(notes: list[dict]) -> str:
    """Return what is wrong with where the new file comes from, and with what was on the disk when it got its name."""
    if not renames(notes):
        return ""  # written in place, as is seen when it is killed
    rename = renames(notes)[-1]
    if not rename["source"].startswith(os.path.dirname(rename["target"]) + "/"):
        hint = "another folder can be another disk, and os.replace cannot go from one to another: the folder of `path`"
        return with_hint(f"the new file came from {rename['source']}; right is the same folder", hint)
    syncs = [note for note in notes if note["call"] == "sync" and note["file"] == rename["file"]]
    early = [note["bytes"] for note in syncs if notes.index(note) < notes.index(rename)]
    wrong = (
        f"the new file got its name when {max(early, default=0)} of its {len(NEW)} bytes were sure to be on the disk"
    )
    return "" if len(NEW) in early else with_hint(f"{wrong}; right is all", first_hint(order_mistakes(syncs, early)))


def order_mistakes(syncs: list[dict], early: list[int]) -> dict[str, bool]:
    """Return hints for a file that was not on the disk; `early` are the bytes of each fsync before it got its name."""
    return {
        "os.fsync brings to the disk what the system has: until `flush()`, an open file holds some back": bool(early),
        "os.fsync comes too late: a machine that goes down before it leaves the name, and no content": bool(syncs),
        "when the machine goes down, a file can have its name and not yet its content: os.fsync brings that to the "
        "disk": True,
    }


def wrong_failure(facts: dict, where: str) -> str:
    """Return what is wrong with what it does when it cannot save."""
    before = "the old content" if facts["had"] else "no file"
    if facts["raised"] is None:
        return f"{where}, save_whole did not come back; right is that it raises the OSError"
    if facts["found"] != before:
        hint = (
            IN_PLACE
            if facts["raised"]
            else "opened with `buffering=0`, a file writes what there is room for, and only "
        )
        hint += "says how much that was" * (not facts["raised"])
        return with_hint(f"{where}, save_whole left {facts['found']}; right is {before}", hint)
    if not facts["raised"]:
        hint = "who calls takes it for saved: let the exception through, or raise it again"
        return with_hint(f"{where}, save_whole came back as if it had saved; right is that it raises the OSError", hint)
    if facts["why"] and facts["why"] not in facts["raised"]:
        hint = "an error while it clears away hides the one that made it necessary"
        return with_hint(f"{where}, save_whole raised {facts['raised']}; right is to raise the OSError", hint)
    if facts["beside"]:
        hint = "whatever fails, the writing or the renaming: take the temporary file away, and let the exception go on"
        return with_hint(f"{where}, save_whole left {facts['beside'][0]!r} behind; right is no other file", hint)
    return ""


def hint(outcome: Outcome) -> str:
    """Return a hint for an attempt that failed."""
    return "`content` is bytes: open the file with `wb`" * (
        "bytes-like" in outcome.sentence or "not bytes" in outcome.sentence
    )


EXERCISES = {"save_whole": Exercise(try_save, judge, (), hint, ranks=(1,))}
