"""The all-reduce that goes round a ring, step by step, and what it sends beside the naive way."""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import torch

from ddp_lessons.workbench.pictures.picture import COLORS, INK, PAPER, Picture, arrow, box, color_of, slider, text
from ddp_lessons.workbench.ring import all_reduce_at_rank_0, on_threads, ring_all_reduce

NUMBERS = 840  # float32 that each rank holds: 2 to 8 ranks cut them into equal chunks
COLUMN, LINE, LEFT, TOP = 56, 31, 82, 62  # pixels: from rank to rank, from chunk to chunk, where they begin
WIDE, HIGH = 38, 22  # pixels of a chunk
BARS, LONGEST = 552, 190  # where the bars begin, and how long the longest is
LEGEND = "A chunk shows the number that fills it. Filled boxes: the sum over all ranks."


class RingAllReduce(Picture):
    """The ring, step by step: what each rank holds, what it hands to whom, and what all that costs."""

    def __init__(self, ranks: int = 4, step: int = 0):
        super().__init__(ranks=slider("ranks", 2, 8, ranks), step=slider("step", 0, 2 * (ranks - 1), step))

    def limits(self, ranks: int, step: int) -> dict[str, int]:
        """Return how many steps there are."""
        return {"step": 2 * (ranks - 1)}

    def draw(self, ranks: int, step: int) -> tuple[list[str], str]:
        """Return the chunks after a step of the recorded run, with what the run has sent, and the same in words."""
        run = record(ranks)
        bound = 2 * (ranks - 1) * NUMBERS * 4 // ranks
        shapes = [text(8, 18, heading(step, ranks), size=13), text(8, 332, LEGEND)]
        shapes += draw_chunks(run.states[step], run.states[-1])
        shapes += [shape for rank, chunk in enumerate(run.sent[step]) for shape in draw_arrow(rank, chunk, ranks)]
        shapes += draw_bars({"ring": run.ring, "naive": run.naive, "bound": bound})
        full = [rank.count(True) for rank in in_full(run.states[step], run.states[-1])]
        said = f"{heading(step, ranks)}. Of its {ranks} chunks, each rank has {full[0]} summed over all ranks. "
        said += f"Over all steps the busiest rank sends {run.ring} bytes, the naive way {run.naive}; "
        return shapes, f"{said}the bound, 2(N-1)/N of {NUMBERS * 4} bytes, is {bound}."


class Recording(NamedTuple):
    """What was seen of a run."""

    states: list  # states[step][rank]: the numbers that fill the rank's chunks after so many steps
    sent: list  # sent[step][rank]: which chunk it sent in that step; none in step 0
    ring: int  # bytes that the busiest rank sends round the ring
    naive: int  # and if everything goes through rank 0


@cache
def record(ranks: int) -> Recording:
    """Run the ring and the naive way, with a thread for each rank; return what was seen."""
    seen, ring = on_threads(ranks, watch_ring)
    _, naive = on_threads(ranks, add_up_at_0)
    states, sent = (list(zip(*each, strict=True)) for each in zip(*seen, strict=True))
    return Recording(states, [(), *sent], max(ring), max(naive))


def first_chunks(rank: int, ranks: int) -> list[torch.Tensor]:
    """Return what a rank begins with: chunk 2 of rank 1 is filled with 22."""
    return [torch.full((NUMBERS // ranks,), 10.0 * (rank + 1) + chunk) for chunk in range(ranks)]


def watch_ring(rank: int, ranks: int, send: Callable, receive: Callable) -> tuple[list, list]:
    """Be one rank of the ring; return its numbers before each step and at the end, and which chunks it sent."""
    chunks, states, sent = first_chunks(rank, ranks), [], []

    def exchange(chunk: torch.Tensor) -> torch.Tensor:
        states.append([int(numbers[0]) for numbers in chunks])
        sent.append([numbers is chunk for numbers in chunks].index(True))
        send((rank + 1) % ranks, chunk)
        return receive((rank - 1) % ranks)

    ring_all_reduce(chunks, rank, exchange)
    return [*states, [int(numbers[0]) for numbers in chunks]], sent


def add_up_at_0(rank: int, ranks: int, send: Callable, receive: Callable) -> None:
    """Be one rank of the naive way."""
    all_reduce_at_rank_0(torch.cat(first_chunks(rank, ranks)), rank, ranks, send, receive)


def in_full(state: list, last: list) -> list[list[bool]]:
    """Return which chunks of each rank hold the sum over all ranks: what they hold in the end."""
    return [[a == b for a, b in zip(*pair, strict=True)] for pair in zip(state, last, strict=True)]


def heading(step: int, ranks: int) -> str:
    """Return where in the run a step is."""
    if step == 0:
        return f"Before the first of {2 * (ranks - 1)} steps"
    half = "reduce-scatter, partial sums grow" if step < ranks else "all-gather, full sums go round"
    return f"After step {step} of {2 * (ranks - 1)}: {half}"


def draw_chunks(state: list, last: list) -> list[str]:
    """Return a column of chunks for each rank, those in full filled."""
    shapes = [text(8, TOP + chunk * LINE + 15, f"chunk {chunk}") for chunk in range(len(state))]
    full = in_full(state, last)
    for rank, numbers in enumerate(state):
        x, (color, ink) = LEFT + rank * COLUMN, color_of(rank)
        shapes += [box(x, 30, WIDE, HIGH, color, PAPER), text(x + WIDE / 2, 45, f"rank {rank}", ink, "middle", 11)]
        for chunk, number in enumerate(numbers):
            y, (color, ink) = TOP + chunk * LINE, (INK, PAPER) if full[rank][chunk] else (PAPER, INK)
            shapes += [box(x, y, WIDE, HIGH, color, INK), text(x + WIDE / 2, y + 15, number, ink, "middle")]
    return shapes


def draw_arrow(rank: int, chunk: int, ranks: int) -> list[str]:
    """Return the arrow from a rank to its right neighbour; from the last one it goes out, and comes in at rank 0."""
    x, y, gap = LEFT + rank * COLUMN + WIDE, TOP + chunk * LINE + HIGH / 2, COLUMN - WIDE
    starts = [x] if rank < ranks - 1 else [x, LEFT - gap]
    return [arrow(start + 2, y, start + gap - 1) for start in starts]


def draw_bars(sent: dict[str, int]) -> list[str]:
    """Return a bar for the bytes of each way."""
    shapes = [text(BARS, 45, "bytes from the busiest rank")]
    looks = {"ring": (COLORS[0], False), "naive": (COLORS[3], False), "bound": (PAPER, True)}
    for place, (way, count) in enumerate(sent.items()):
        y, (color, dashed) = TOP + place * 48, looks[way]
        shapes.append(text(BARS, y + 13, f"{way}: {count}"))
        shapes.append(box(BARS, y + 18, LONGEST * count / max(sent.values()), 16, color, INK, dashed))
    words = [
        "Counted in a run: each rank holds",
        "840 numbers of 4 bytes. Naive: all",
        "goes through rank 0. The bound is",
        "2(N-1)/N of those bytes: Patarasuk",
        "and Yuan, 2009.",
    ]
    return shapes + [text(BARS, 226 + 17 * place, line, size=11) for place, line in enumerate(words)]
