"""Who reads which sample in which step: torch's own sampler is asked, and what it says is drawn."""

from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

from ddp_lessons.lesson3_sampler import repeats_and_gaps, samples_read
from ddp_lessons.workbench.pictures.picture import (
    HEIGHT,
    INK,
    PAPER,
    WIDTH,
    Picture,
    box,
    color_of,
    slider,
    switch,
    text,
)

LEFT, TOP, GAP = 68, 4, 8  # where boxes begin; from one step to the next
SIZES = (56, 44, 34, 26, 21)  # a box's width in pixels
NOTHING = ", since drop_last leaves out all if there are fewer samples than ranks"
LEGEND = "above the boxes: the step; thick frame: read more than once; dashed: read by nobody"


def read_on(world_size: int, numbers: range, batch_size: int = 2, epoch: int | None = None, **options) -> list:
    """Return what each rank reads in an epoch, by asking a sampler for each rank in turn."""
    reads = []
    for rank in range(world_size):
        sampler = DistributedSampler(numbers, world_size, rank, **options)
        if epoch is not None:
            sampler.set_epoch(epoch)
        reads.append(samples_read(DataLoader(numbers, batch_size, sampler=sampler)))
    return reads


class SamplerExplorer(Picture):
    """Who reads which sample in which step, for any small data set, and any few ranks."""

    def __init__(
        self,
        samples: int = 10,
        ranks: int = 2,
        batch_size: int = 2,
        shuffle: bool = False,
        drop_last: bool = False,
        epoch: int = 0,
        set_epoch: bool = True,
    ):
        super().__init__(
            samples=slider("samples", 1, 64, samples),
            ranks=slider("ranks", 1, 8, ranks),
            batch_size=slider("batch size", 1, 16, batch_size),
            shuffle=switch("shuffle", shuffle),
            drop_last=switch("drop_last", drop_last),
            set_epoch=switch("set_epoch", set_epoch),
            epoch=slider("epoch", 0, 9, epoch),
        )

    def draw(self, samples, ranks, batch_size, shuffle, drop_last, set_epoch, epoch) -> tuple[list[str], str]:
        """Ask the samplers; return the rows of boxes, and what they show."""
        asked = epoch if set_epoch else None
        reads = read_on(ranks, range(samples), batch_size, asked, shuffle=shuffle, drop_last=drop_last)
        repeated, missed = repeats_and_gaps(reads, samples)
        said = [f"{count(samples, 'sample')} on {count(ranks, 'rank')}, batches of {batch_size}:"]
        said += [
            f"{count(len(reads[0]), 'step')}{'' if reads[0] else NOTHING}.",
            *counted(repeated, missed),
            order(shuffle, set_epoch, epoch),
        ]
        return rows(reads, repeated, missed), " ".join(said)


def count(number: int, thing: str) -> str:
    """Return a number with its noun."""
    return f"{number} {thing}{'s' * (number != 1)}"


def counted(repeated: list[int], missed: list[int]) -> list[str]:
    """Return two sentences: what was read more than once, and what was not read."""
    several = f"{count(len(repeated), 'sample')} ({named(repeated)})" if repeated else "none"
    nobody = f"{count(len(missed), 'sample')} ({named(missed)})" if missed else "none"
    return [f"Read more than once: {several}.", f"Read by nobody: {nobody}."]


def named(samples: list[int]) -> str:
    """Return the samples with commas, of many the first ones."""
    return ", ".join(map(str, samples[:8])) + (", …" if len(samples) > 8 else "")


def order(shuffle: bool, set_epoch: bool, epoch: int) -> str:
    """Return a sentence on what the epoch has to do with the order."""
    if not shuffle:
        return f"Without shuffle, epoch {epoch} has the same order as every other."
    if set_epoch:
        return f"set_epoch({epoch}) was called: this is the order of epoch {epoch}."
    return "set_epoch was not called: every epoch has the order of epoch 0."


def rows(reads: list, repeated: list[int], missed: list[int]) -> list[str]:
    """Return a row for each rank, and one for nobody, in the largest boxes that leave room for all."""
    names = [f"rank {rank}" for rank in range(len(reads))] + ["nobody"] * bool(missed)
    for size in SIZES:
        wrapped = [lines_of(steps, size) for steps in [*reads, [missed]][: len(names)]]
        widest = max((len(batch) for steps in reads for batch in steps), default=0) * size
        if LEFT + widest <= WIDTH and sum(map(len, wrapped)) * pitch(size) <= HEIGHT - TOP - 24:
            break
    shapes, y = [text(8, HEIGHT - 8, LEGEND)], TOP
    for rank, lines in enumerate(wrapped):
        shapes.append(text(8, y + pitch(size) / 2 + 7, names[rank]))
        shapes += [] if lines[0] else [text(LEFT, y + pitch(size) / 2 + 7, "reads nothing")]
        for line in lines:
            for x, step, batch in line:
                shapes += draw_step(x, y, size, names[rank] != "nobody" and (rank, step), batch, repeated)
            y += pitch(size)
    return shapes


def pitch(size: int) -> float:
    """Return the height of a line of boxes, the numbers of the steps above them included."""
    return size * 0.7 + 17


def lines_of(steps: list[list[int]], size: int) -> list[list[tuple]]:
    """Return the steps as lines of `(x, step, batch)`, in boxes of a size: a line ends where the picture does."""
    lines, x = [[]], LEFT
    for step, batch in enumerate(steps, start=1):
        if x + size * len(batch) > WIDTH:
            lines.append([])
            x = LEFT
        lines[-1].append((x, step, batch))
        x += size * len(batch) + GAP
    return lines


def draw_step(x: float, y: float, size: int, reader: tuple | bool, batch: list[int], repeated: list[int]) -> list[str]:
    """Return the boxes of the samples that a reader, `(rank, step)`, reads at once; nobody's if it is False."""
    color, ink = color_of(reader[0]) if reader else (PAPER, INK)
    shapes = [text(x + size * len(batch) / 2, y + 10, reader[1], anchor="middle", size=10)] if reader else []
    for place, sample in enumerate(batch):
        left, line = x + place * size, PAPER if reader else INK
        marked = sample in repeated
        shapes.append(box(left + 1, y + 13, size - 2, size * 0.7, color, line, dashed=not reader, thick=marked))
        shapes.append(text(left + size / 2, y + 17 + size * 0.35, sample, ink, "middle"))
    return shapes
