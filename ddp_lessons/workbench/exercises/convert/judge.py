"""What a converted script did, held against what the given one does on a single card."""

import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ddp_lessons.workbench.exercises.convert import mistakes
from ddp_lessons.workbench.exercises.convert.seen import WEIGHTS, Seen, answer_of

NOT_JOINED = "each process trained on its own: none of them was in a process group. Join it first of all"
NO_GROUP = "under plain python there is no group to join. torchrun sets RANK in the environment: ask for that first"
TOO_EARLY = "a rank reads the file before rank 0 has written it. Let all wait for each other in between: dist.barrier()"
APART = "some ranks wait in a call that others do not make. All must make it, so `if rank == 0` cannot stand before it"
STOPPED = "some ranks go on where others have stopped. All must decide alike, so from the same number"
NOT_LEFT = "the process group was not left. End with dist.destroy_process_group()"
ALL_PRINT = "every rank prints. Let rank 0 print, and the others be silent"
ALL_SAVE = "every rank saves, all of them into one file. Let rank 0 save, and nobody else"
ALL_TEST = "a rank tested the whole test set. Share it out as well"
WRAPPER = "its keys begin with `module.`: that is the wrapper. Save the model in it"
ALL_READ = "every rank is to end with the weights that were saved. Which of them read the file?"
CLOSE = 1e-8  # in float64, what adding up in another order cannot reach, and a mistake passes


@dataclass
class Case:
    """One run of a converted script on `ranks` ranks (None: plain python), and the given script that it is held to."""

    name: str
    text: str
    data: Path
    run: Seen
    ranks: int | None

    def __post_init__(self):
        self.right = answer_of(self.text, self.data)
        self.printed = "\n".join(self.run.lines)

    def known(self, same: Callable[[Seen], bool]) -> str:
        """Return the hint of the first known mistake whose run on a single card is the `same`, or nothing."""
        for hint, changes in mistakes.MISTAKES[self.name].items():
            changes = (tuple(change.items()) for change in changes)
            if any(same(answer_of(self.text, self.data, self.ranks or 1, change)) for change in changes):
                return hint
        return ""


def verdict(case: Case) -> tuple[str, str]:
    """Return what is wrong, and a hint where that is known; two empty texts if nothing is."""
    checks = [failed, trained, together, saved_once, saved, weights, ended_alike, shared, tested]
    checks += [printed, printed_once, left]
    wrong, hint = next(filter(None, (check(case) for check in checks)), ("", ""))
    return wrong, hint.replace("WORLD", str(case.ranks or 1))


def failed(case: Case) -> tuple[str, str] | None:
    """Tell whether the script failed or hung, and why."""
    said = " ".join([case.run.error, *(error for errors in case.run.of("error") for error in errors)])
    if not case.run.error:
        return None
    if not case.ranks:
        hint = NO_GROUP if re.search(r"\bRANK\b|MASTER_ADDR|process group", said) else ""
    elif together(case):
        hint = NOT_JOINED  # then all of them may have written one file
    elif "FileNotFoundError" in said and WEIGHTS in said:
        hint = TOO_EARLY
    elif '"module.' in said:
        hint = WRAPPER
    elif re.search("waits in|gloo|SIGABRT", said):
        epochs = max(map(len, case.run.of("test")), default=0)
        hint = STOPPED if case.name == "3_early_stop" and epochs > 2 else APART  # nobody stops earlier
    else:
        hint = NOT_LEFT if [False] in case.run.of("left") and not any(case.run.of("error")) else ""
    return case.run.error, hint


def trained(case: Case) -> tuple[str, str] | None:
    """Tell whether no rank trained at all."""
    return None if any(case.run.of("train")) else ("nothing was trained", "")


def together(case: Case) -> tuple[str, str] | None:
    """Tell whether the ranks trained without a group."""
    sizes = {size for rank in case.run.of("group") for size in rank}
    return ("the ranks did not work together", NOT_JOINED) if case.ranks and sizes == {1} else None


def saved_once(case: Case) -> tuple[str, str] | None:
    """Tell whether more than one rank saved."""
    saving = sum(map(bool, case.run.of("save")))
    return (f"{saving} ranks saved", ALL_SAVE) if saving > 1 else None


def saved(case: Case) -> tuple[str, str] | None:
    """Tell whether the file of weights is missing, or is not what the single card saves."""
    found, right = case.run.weights, case.right.weights
    if found is None:
        return "the file that --save names was not written", ""
    if not isinstance(found, dict):
        told = textwrap.shorten(f"{type(found).__name__} {found}", 150, placeholder=" ...")
        return f"the saved file cannot be read with weights_only=True: {told}", ""
    if found.keys() != right.keys():
        hint = WRAPPER if any(key.startswith("module.") for key in found) else ""
        return f"the weights are saved under other names: {', '.join(found)}", hint
    return None


def weights(case: Case) -> tuple[str, str] | None:
    """Tell whether the weights are others than the single card's."""
    if close(case.run.weights, case.right.weights):
        return None
    hint = case.known(lambda wrong: close(case.run.weights, wrong.weights))
    wrong = "the weights are not the single card's" if case.ranks else "the weights are not what they were"
    if case.ranks and not hint:
        hint = mistakes.EVERYTHING if most(case, "train") else "" if any(case.run.of("wrapper")) else mistakes.ALONE
    return wrong, hint


def ended_alike(case: Case) -> tuple[str, str] | None:
    """Tell whether ranks ended with other weights than the ones that were saved."""
    ends = [rank[-1] for rank in case.run.of("end") if rank]
    return ("the ranks ended with different weights", ALL_READ) if max(ends) - min(ends) > CLOSE else None


def shared(case: Case) -> tuple[str, str] | None:
    """Tell whether ranks did the work of a single card each, which gives its weights as well."""
    return ("the weights are right, but no work was shared", mistakes.EVERYTHING) if most(case, "train") else None


def tested(case: Case) -> tuple[str, str] | None:
    """Tell whether one rank tested what was to be shared out."""
    return ("the test was not shared", ALL_TEST) if case.name == "2_score" and most(case, "test") else None


def printed(case: Case) -> tuple[str, str] | None:
    """Tell whether a line is missing, or says something else than on the single card."""
    if not case.printed.strip():
        return "nothing was printed", ""
    missing = [line for line in case.right.lines if line not in case.printed]
    if not missing:
        return None
    hint = case.known(lambda wrong: all(line in case.printed for line in wrong.lines))
    found = next((line for line in case.run.lines if line.startswith(head(missing[0]))), "nothing of that kind")
    return f"`{missing[0]}` is right, and it printed `{found}`", hint


def printed_once(case: Case) -> tuple[str, str] | None:
    """Tell whether a line came more than once."""
    often = next((line for line in case.right.lines if case.printed.count(head(line)) > 1), None)
    return (f"`{head(often)}` was printed {case.printed.count(head(often))} times", ALL_PRINT) if often else None


def left(case: Case) -> tuple[str, str] | None:
    """Tell whether a rank ended inside its group."""
    return ("it ended inside its process group", NOT_LEFT) if [False] in case.run.of("left") else None


def most(case: Case, kind: str) -> bool:
    """Tell whether a rank had most of the samples that a single card has: a share is half of them, or less."""
    rows = [sum(rank) for rank in case.run.of(kind)]
    return bool(case.ranks and case.ranks > 1) and max(rows) > 0.75 * sum(case.right.of(kind)[0])


def close(found: dict, right: dict) -> bool:
    """Tell whether weights are equal up to rounding."""
    return all(
        getattr(found[key], "shape", None) == right[key].shape and (found[key] - right[key]).abs().max() < CLOSE
        for key in right
    )


def head(line: str) -> str:
    """Return what a line begins with, up to its colon."""
    return line[: line.find(":") + 1]
