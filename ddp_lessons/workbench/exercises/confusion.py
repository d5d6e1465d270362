"""The exercise on a score of all samples, of which each rank tests its share: the confusion matrix."""

from collections.abc import Callable
from itertools import chain
from math import ceil

import torch
import torch.distributed as dist

from ddp_lessons.workbench.exercises.buckets import NOT_WAITED, unwaited
from ddp_lessons.workbench.exercises.exercise import Exercise, first_hint, readable, same, with_hint
from ddp_lessons.workbench.exercises.listen import Listening, hearing_waits
from ddp_lessons.workbench.exercises.small_ddp import out_of_step
from ddp_lessons.workbench.on_ranks import Outcome

CASES = [(10, 3), (11, 3), (1, 2), (3, 5), (64, 4)]  # samples and classes: some shares are empty, some classes too
COUNT_WELL = ("int32", "int64", "float64")


class Hearing(Listening):
    """Listening that notes of each call also in what kind of number it adds up."""

    def note(self, name: str, given: tuple) -> None:
        super().note(name, given)
        tensors = given[0] if isinstance(given[0], list) else [given[0]]
        self.heard[-1]["dtype"] = str(getattr(tensors[0], "dtype", None))


def samples_of(samples: int, classes: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return images, labels and a model's answers. All pixels of an image are its number, so that it is known again."""
    generator = torch.Generator().manual_seed(samples)
    labels, others = torch.randint(classes, (2, samples), generator=generator)
    answers = torch.where(torch.rand(samples, generator=generator) < 0.3, labels, others)
    return torch.arange(float(samples)).view(-1, 1, 1, 1).repeat(1, 1, 2, 2), labels, answers


def counts(numbers: list[int], samples: int, classes: int) -> list[list[int]]:
    """Return the table of the samples of these numbers, each as often as it is among them."""
    _, labels, answers = samples_of(samples, classes)
    table = torch.zeros(classes, classes, dtype=torch.long)
    for number in numbers:
        table[labels[number], answers[number]] += 1
    return table.tolist()


def try_confusion(attempt: Callable, cases: list[tuple[int, int]]) -> list[dict]:
    """Return the table that the attempt gives, what it has tested, and what was heard meanwhile, in each case."""
    outputs = []
    for samples, classes in cases:
        (images, labels, answers), tested, heard = samples_of(samples, classes), [], []

        def predict(batch, answers=answers, tested=tested):
            if batch.shape[1:] != (1, 2, 2):
                raise ValueError(f"images have the shape (batch, 1, 2, 2), and not {tuple(batch.shape)}")
            numbers = batch[:, 0, 0, 0].long()
            tested.extend(numbers.tolist())
            return answers[numbers]

        with Hearing(heard), hearing_waits(heard):
            table = attempt(predict, images, labels, classes)
        outputs.append({"table": table, "tested": tested, "heard": heard, "unwaited": unwaited(heard)})
        dist.barrier()  # a rank that is done with this case must not be taken for one that is stuck in the next
    return outputs


def judge(results: list[list[dict]]) -> str:
    """Return what is wrong, by case and then by rank: with the tables, the work of each rank, and the messages."""
    for case, outputs in zip(CASES, zip(*results, strict=True), strict=True):
        where = f"of {case[0]} samples in {case[1]} classes, "
        if wrong := wrong_table(case, outputs) or wrong_work(case, outputs) or wrong_messages(case, outputs):
            return where + wrong
    return ""


def wrong_table(case: tuple[int, int], outputs: tuple[dict]) -> str:
    """Return what is wrong with the tables, "" if nothing is."""
    wanted = counts(range(case[0]), *case)
    for rank, output in enumerate(outputs):
        if not same(output["table"], wanted):
            wrong = f"rank {rank} gave {readable(output['table'])}; right is {readable(wanted)}"
            return with_hint(wrong, first_hint(mistakes(case, outputs, wanted)))
        if any(isinstance(number, float) for number in chain(*output["table"])):
            wrong = f"rank {rank} gave {float(wanted[0][0])} samples; right is {wanted[0][0]}, a whole number"
            return with_hint(wrong, "`.long()` makes counts of them")
    return ""


def total(table: object) -> float:
    """Return the sum of a table, 0 if it is none."""
    lines = [line for line in table if isinstance(line, list)] if isinstance(table, list) else []
    return sum(number for number in chain(*lines) if isinstance(number, int | float))


def shape(table: object) -> list[int]:
    """Return the length of a table's lines, by line; no length if it is none."""
    return [len(line) for line in table if isinstance(line, list)] if isinstance(table, list) else []


def mistakes(case: tuple[int, int], outputs: tuple[dict], wanted: list[list[int]]) -> dict[str, bool]:
    """Return hints for tables that were given, by rank."""
    given, tested = [output["table"] for output in outputs], [output["tested"] for output in outputs]
    right, of_all = [same(table, wanted) for table in given], list(chain(*tested))
    together = same(given, [counts(of_all, *case)] * len(given))
    across = [list(line) for line in zip(*wanted, strict=True)]
    once = [torch.tensor(counts(numbers, *case)).clamp(max=1) for numbers in tested]
    diagonal = [[n * (row == column) for column, n in enumerate(line)] for row, line in enumerate(wanted)]
    return {
        "the table has a line for each label and a column for each answer: `classes` of both": (
            not any(shape(table) == shape(wanted) for table in given)
        ),
        f"rank {right.index(True) if any(right) else 0} has the table of all samples, and every rank must": any(right),
        "that is the table of the rank's own share: the others' counts are to be added": (
            same(given, [counts(numbers, *case) for numbers in tested])
        ),
        "each rank tested all samples, and all was added up: let each test its share": (
            together and all(len(numbers) == case[0] for numbers in tested)
        ),
        "a sample that comes twice counts twice: shares need not be equally long here": (
            together and len(of_all) > len(set(of_all))
        ),
        "some samples were left out: shares need not be equally long here": together and len(of_all) < case[0],
        "`table[labels, answers] += 1` adds 1 once, however often a pair comes: bincount counts": (
            same(given, [sum(once).tolist()] * len(given))
        ),
        "the label goes down, and the answer across": same(given, [across] * len(given)),
        "wrong answers count as well: they stand off the diagonal": same(given, [diagonal] * len(given)),
        "counts are asked for, and not parts of the whole": all(abs(total(table) - 1) < 1e-3 for table in given),
        "counts are added, and not averaged": all(abs(total(t) - case[0] / len(given)) < 1e-3 for t in given),
    }


def wrong_work(case: tuple[int, int], outputs: tuple[dict]) -> str:
    """Return what is wrong with who tested what, where the table is right; "" if each rank tested its share."""
    most = ceil(case[0] / len(outputs))
    for rank, output in enumerate(outputs):
        if (number := len(output["tested"])) > most:
            wrong = f"the table is right, but rank {rank} gave {number} images to predict; right is {most}, or fewer"
            return with_hint(wrong, "to test is most of the work: ranks that share it are done that much earlier")
    return ""


def wrong_messages(case: tuple[int, int], outputs: tuple[dict]) -> str:
    """Return what is wrong with what the ranks said, "" if it was one all-reduce of numbers that count well."""
    calls = [said["call"] for said in outputs[0]["heard"] if "dtype" in said]
    if calls != ["allreduce"]:
        said = f"the ranks spoke {len(calls)} times, in {', '.join(calls)}" if calls else "the ranks have not spoken"
        hint = "a tensor of all counts can be added up in a single all_reduce"
        return with_hint(f"the table is right, but {said}; right is one all_reduce", hint)
    if outputs[0]["unwaited"]:
        return with_hint("the table is right, but all_reduce was left without a wait; right is to wait", NOT_WAITED)
    sent, kind = outputs[0]["heard"][0]["bytes"], outputs[0]["heard"][0]["dtype"].removeprefix("torch.")
    if sent > (most := case[1] ** 2 * 8):
        hint = "with more samples the table stays as small as it is: let that go round, and not the answers"
        return with_hint(f"the table is right, but {sent} bytes were added up; right is {most}, or fewer", hint)
    if kind not in COUNT_WELL:
        hint = "uint8 begins again after 255, and float32 stands still: it holds 16777216, and not 16777217"
        return with_hint(f"the table is right, but {kind} was added up; right is a kind that counts on, as int64", hint)
    return ""


def hint(outcome: Outcome) -> str:
    """Return a hint for an attempt that failed, or hung."""
    said = outcome.sentence
    return first_hint(
        {
            "bincount ends at the largest number that it meets, which differs from share to share: `minlength`": (
                "is invalid for input of size" in said or "op.preamble.length" in said + outcome.last_words
            ),
            "`predict` takes a batch: `images[3:4]` is one of a single image": "images have the shape" in said,
            "with fewer samples than ranks some shares are empty, and torch.chunk, for one, gives none": (
                "IndexError" in said
            ),
            "with fewer samples than ranks some shares are empty": "ZeroDivisionError" in said,
            "a collective call comes back when all ranks have made it: do all come to it, also with an empty share?": (
                out_of_step(outcome)
            ),
        }
    )


EXERCISES = {"confusion": Exercise(try_confusion, judge, (CASES,), hint)}
