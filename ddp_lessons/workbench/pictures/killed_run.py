"""A run that is killed in mid-epoch and resumed: which rank reads which sample, what is lost, and what counts."""

from collections import Counter
from functools import cache
from itertools import chain

import torch
from torch.utils.data import DataLoader

from ddp_lessons.lesson3_sampler import samples_read
from ddp_lessons.lesson6_score_and_resume import ResumableSampler
from ddp_lessons.workbench.pictures.picture import (
    COLORS,
    HEIGHT,
    INK,
    PALE,
    PAPER,
    Picture,
    box,
    color_of,
    line,
    slider,
    switch,
    text,
)
from ddp_lessons.workbench.pictures.sampler import count

STEPS, BATCH = 8, 12  # in the epoch; samples a step, on all ranks together
SAMPLES = range(STEPS * BATCH)  # a sample is its own number
LEFT, ACROSS, WIDE, HIGH, PITCH = 70, 4, 20, 24, 86  # pixels: where boxes begin, how many stand in a row, their size,
TALL = BATCH // ACROSS * HIGH  # from one step to the next; and the height of a step
TOP, BELOW = 42, 196  # where the boxes of the two runs begin

Step = dict[int, int]  # who reads what: the rank of each sample


class KilledRun(Picture):
    """One epoch of a run that is killed and resumed, on as many ranks or on others: what each rank reads."""

    def __init__(
        self,
        before: int = 4,
        after: int = 2,
        every: int = 3,
        forgets: bool = False,
        sigterm: bool = False,
        killed: int = 7,
    ):
        super().__init__(
            before=slider("first run on", 1, 4, before),
            after=slider("resumed on", 1, 4, after),
            every=slider("save every", 1, STEPS, every),
            forgets=switch("resume forgets its place", forgets),
            sigterm=switch("SIGTERM, not SIGKILL", sigterm),
            killed=slider("killed after", 1, STEPS - 1, killed),
        )

    def draw(self, before, after, every, forgets, sigterm, killed) -> tuple[list[str], str]:
        """Ask the samplers; return the boxes of the first run and of the resumed one, and what they show."""
        saves = [step for step in range(1, killed + 1) if step % every == 0 or (sigterm and step == killed)]
        saved = max(saves, default=0)
        first, again = steps_left(before)[:killed], steps_left(after, 0 if forgets else saved * BATCH)
        lost = set(chain(*first[saved:]))
        counts = Counter(chain(*first[:saved], *again))  # how often each sample is in the weights at the end
        twice = {sample for sample in counts if counts[sample] > 1}
        titles = first_title(before, every, sigterm, killed), second_title(after, forgets, saved, killed)
        result = in_the_end(counts, twice)
        shapes = [text(8, y - 26, title, size=13) for y, title in zip((TOP, BELOW), titles, strict=True)]
        shapes += run(TOP, before, dict(enumerate(first, 1)), lost, twice)
        shapes += marks(saves, killed, "stopped" if sigterm else "killed")
        shapes += run(BELOW, after, dict(enumerate(again, saved + 1)), set(), twice)
        shapes += [text(8, BELOW + TALL + 22, result, size=13), *legend()]
        return shapes, " ".join([titles[0], of_lost(saved, killed), titles[1], result])


@cache
def steps_left(ranks: int, start: int = 0) -> list[Step]:
    """Return the steps left of the epoch once all ranks together have read `start` samples: lesson 6's sampler says."""
    reads = []
    for rank in range(ranks):
        sampler = ResumableSampler(SAMPLES, ranks, rank, drop_last=True)
        sampler.start = start
        own = torch.Generator()  # the reader's random numbers stay where they are
        loader = DataLoader(SAMPLES, BATCH // ranks, sampler=sampler, drop_last=True, generator=own)
        reads.append(samples_read(loader))
    steps = zip(*reads, strict=True)
    return [{sample: rank for rank, batch in enumerate(step) for sample in batch} for step in steps]


def first_title(ranks: int, every: int, sigterm: bool, killed: int) -> str:
    """Return a sentence on the first run."""
    often = "every step" if every == 1 else f"every {every} steps"
    how = f"SIGTERM in step {killed}, which is saved" if sigterm else f"SIGKILL after step {killed}"
    return f"First run: {count(ranks, 'rank')}, a checkpoint after {often}, {how}."


def of_lost(saved: int, killed: int) -> str:
    """Return a sentence on what the kill costs."""
    last = f"The last checkpoint is that of step {saved}" if saved else "There is no checkpoint yet"
    return f"{last}: {steps_are(killed - saved)} lost."


def steps_are(number: int) -> str:
    """Return a number of steps, with its verb."""
    return f"{count(number, 'step') if number else 'no step'} {'are' if number > 1 else 'is'}"


def second_title(ranks: int, forgets: bool, saved: int, killed: int) -> str:
    """Return a sentence on the resumed run."""
    place = "but at the start of the epoch" if forgets else "at its place in the epoch"
    begun = f"with the weights of step {saved}, {place}" if saved else "from the first step"
    return f"Resumed run: {count(ranks, 'rank')}, {begun}: {steps_are(killed - (not forgets and saved))} done again."


def in_the_end(counts: Counter, twice: set[int]) -> str:
    """Return a sentence on how often samples count."""
    if twice:
        return f"In the end {len(twice)} of {len(counts)} samples count twice: they were in the weights already."
    return f"In the end each of the {len(counts)} samples counts once."


def run(y: float, ranks: int, steps: dict[int, Step], lost: set[int], twice: set[int]) -> list[str]:
    """Return a box for each sample of the epoch, in the order of its list, with what the steps of a run make of it."""
    order = list(chain(*steps_left(1)))  # to a single rank the sampler gives the whole list
    readers = {sample: rank for step in steps.values() for sample, rank in step.items()}
    shapes = [text(LEFT - 8, y - 5, "step", anchor="end"), *names(y, ranks)]
    for number, step in steps.items():
        x, _ = place_of(min(map(order.index, step)))
        shapes.append(text(x + ACROSS * WIDE / 2, y - 5, number, anchor="middle"))
    for place, sample in enumerate(order):
        x, down = place_of(place)
        color, ink = color_of(readers[sample]) if sample in readers else (PAPER, INK)
        shapes += draw_sample(x, y + down, sample, color, ink, sample in lost, sample in twice)
    return shapes


def names(y: float, ranks: int) -> list[str]:
    """Return the ranks' names, each on its colour."""
    shapes = []
    for rank in range(ranks):
        (color, ink), top = color_of(rank), y + rank * TALL / 4
        shapes += [box(8, top + 1, 52, TALL / 4 - 2, color, PAPER), text(34, top + 13, f"rank {rank}", ink, "middle")]
    return shapes


def place_of(place: int) -> tuple[float, float]:
    """Return where a place of the list stands, from the left and from the first row: a block for each step."""
    step, inside = divmod(place, BATCH)
    row, column = divmod(inside, ACROSS)
    return LEFT + step * PITCH + column * WIDE, row * HIGH


def draw_sample(x: float, y: float, sample: object, color: str, ink: str, lost: bool, twice: bool) -> list[str]:
    """Return a sample's box in its reader's colour: hollow if lost, with a thick frame if it counts twice."""
    edge, around = 2 if twice else 1, PALE if color == PAPER else PAPER
    shapes = [box(x + edge, y + edge, WIDE - 2 * edge, HIGH - 2 * edge, color, around, thick=twice)]
    if lost:
        shapes.append(box(x + 4, y + 4, WIDE - 8, HIGH - 8, PAPER, PAPER))
    return [*shapes, text(x + WIDE / 2, y + HIGH / 2 + 4, sample, INK if lost else ink, "middle", 11)]


def marks(saves: list[int], killed: int, how: str) -> list[str]:
    """Return a triangle below the end of each step that was saved, and a thick line where the run ends, and how."""
    shapes, y = [], TOP + TALL
    for step in saves:
        x = end_of(step)
        shapes.append(f'<polygon points="{x:g},{y + 3:g} {x - 7:g},{y + 15:g} {x + 7:g},{y + 15:g}" fill="{INK}"/>')
        shapes.append(text(x - 11, y + 14, "saved", anchor="end"))
    x = end_of(killed)
    return [*shapes, line(x, TOP - 14, x, y + 1, INK, 4), text(x + 11, y + 14, how)]


def end_of(step: int) -> float:
    """Return the middle between a step's block and the next."""
    return LEFT + step * PITCH - (PITCH - ACROSS * WIDE) / 2


def legend() -> list[str]:
    """Return what the looks of a box mean."""
    grey, y = COLORS[-1], HEIGHT - 33
    looks = {"read": (grey, False, False), "read, and lost": (grey, True, False), "counts twice": (grey, False, True)}
    shapes, x = [], 8
    for meaning, (color, lost, twice) in (looks | {"not read in this run": (PAPER, False, False)}).items():
        shapes += [*draw_sample(x, y, "", color, INK, lost, twice)[:-1], text(x + 26, y + 15, meaning)]
        x += 42 + 6 * len(meaning)
    return [*shapes, text(x, y + 15, "number: the sample; colour: its rank")]
