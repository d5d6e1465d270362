"""A DDP step, drawn as it ran: what backward computed, what each bucket carried, and who waited for whom."""

from collections.abc import Callable, Iterable

from ddp_lessons.workbench.pictures.picture import HEIGHT, INK, PALE, PAPER, Picture, box, color_of, line, slider, text
from ddp_lessons.workbench.scripts import Refused

LEFT, RIGHT = 134, 640  # where time begins and ends; names stand before it, numbers behind it
TOP, LANES, BOTTOM = 112, 142, HEIGHT - 24  # of the lane of backward, of those below it, and of the time
NONE = "DDPStep draws what on_ranks(ranks, record_steps) returns, for one to eight ranks: this is something else"

At = Callable[[float], float]  # where a time is, from left to right


class DDPStep(Picture):
    """Draw steps that ranks have taken; `records` is what `on_ranks` returned for `record_steps`.

    An all-reduce is hidden as long as this rank's backward computes, that is until its last gradient is ready;
    what comes after it is waited for. Raises Refused for what is no such record.
    """

    def __init__(self, records: list[list[dict]]):
        self.records = records
        try:
            ranks, sizes, steps = len(records), len(records[0]), len(records[0][0]["steps"])
            if ranks > 8 or steps < 1:
                raise ValueError
            super().__init__(
                rank=slider("rank", 0, ranks - 1, 0),
                size=slider("size no.", 1, sizes, min(3, sizes)),
                step=slider("step", 1, steps, steps),
            )
            _ = [self.draw(r, z, s) for r in range(ranks) for z in range(1, sizes + 1) for s in range(1, steps + 1)]
        except (LookupError, TypeError, ValueError, ZeroDivisionError):
            raise Refused(NONE) from None

    def draw(self, rank: int, size: int, step: int) -> tuple[list[str], str]:
        """Return the shapes of a rank's step, and the same in words."""
        steps = [runs[size - 1]["steps"][step - 1] for runs in self.records]
        title = f"Rank {rank}, step {step}, buckets of {self.records[rank][size - 1]['bucket_mb']:g} MB"
        begin, end = min(each["began"] for each in steps), max(each["returned"] for each in steps)

        def at(time: float) -> float:
            return LEFT + (time - begin) / (end - begin) * (RIGHT - LEFT)

        mine = steps[rank]
        buckets, others = list(enumerate(mine["buckets"])), [other for other in range(len(steps)) if other != rank]
        pitch = min(30, (BOTTOM - LANES) / (len(buckets) + len(others)))
        places = iter([(LANES + number * pitch, pitch - 6) for number in range(len(buckets) + len(others))])
        shapes = [text(LEFT, 16, title, size=13), *legend(), *axis(end - begin)]
        shapes += backward(mine, TOP, 20, f"rank {rank}: backward", at) + gradients(mine, at)
        for index, bucket in buckets:
            shapes += all_reduce(mine, index, bucket, *next(places), at)
        for other in others:
            shapes += backward(steps[other], *next(places), f"rank {other}: backward", at)
        return shapes, f"{title}: {words(steps, rank)}"


def words(steps: list[dict], rank: int) -> str:
    """Return in words what a rank's step took, what its buckets carried, and for whom it waited."""
    step, last = steps[rank], max(range(len(steps)), key=lambda each: computed(steps[each]))
    late = computed(steps[last]) - computed(step)
    latest = f"The last to compute was rank {last}, {ms(late)} ms after this one" if late else "It computed last"
    hidden, waited = overlap(step, step["buckets"])
    count, share = len(step["buckets"]), hidden / (hidden + waited)
    carried = [f"in bucket {index}: {', '.join(each['names'])}" for index, each in enumerate(step["buckets"])]
    return (
        f"backward computed for {ms(computed(step) - step['began'])} ms, and returned "
        f"{ms(step['returned'] - computed(step))} ms later. {count} all-reduce{'s' * (count > 1)} took "
        f"{ms(hidden + waited)} ms in all, overlaps counted once, "
        f"{ms(hidden)} ms of it ({share * 100:.0f} %) hidden behind backward, "
        f"{ms(waited)} ms waited for. {latest}. Gradients {'; '.join(carried)}."
    )


def computed(step: dict) -> float:
    """Return when a rank's last gradient was ready: from then on it has nothing to do but wait."""
    return step["gradients"][-1]["ready"]


def overlap(step: dict, buckets: list[dict]) -> tuple[float, float]:
    """Return for how long all-reduces ran while backward computed, and for how long after it.

    Where several run at once, that time counts once.
    """
    until = computed(step)
    spans = [(each["begun"], each["done"]) for each in buckets]
    hidden = covered((begun, min(done, until)) for begun, done in spans)
    return hidden, covered((max(begun, until), done) for begun, done in spans)


def covered(spans: Iterable[tuple[float, float]]) -> float:
    """Return how much time spans cover together."""
    total, reached = 0.0, float("-inf")
    for begin, end in sorted(spans):
        total += max(0.0, end - max(begin, reached))
        reached = max(reached, end)
    return total


def ms(seconds: float) -> str:
    """Return a time in milliseconds."""
    return f"{seconds * 1000:.1f}"


def bar(begin: float, done: float, until: float, y: float, height: float, color: str, at: At) -> list[str]:
    """Return a bar that is filled as long as backward computes, and then empty and dashed: that is waited for."""
    shapes = []
    if begin < until:
        shapes.append(box(at(begin), y, max(at(min(done, until)) - at(begin), 1), height, color, INK))
    if until < done:
        shapes.append(box(at(max(begin, until)), y, max(at(done) - at(max(begin, until)), 1), height, PAPER, INK, True))
    return shapes


def lane(y: float, height: float, name: str, filled: float, dashed: float) -> list[str]:
    """Return what stands before and behind a lane."""
    middle, size = y + height / 2 + 4, 11 if height < 14 else 12
    numbers = f"{ms(filled)} + {ms(dashed)} ms"
    return [text(LEFT - 8, middle, name, anchor="end", size=size), text(RIGHT + 8, middle, numbers, size=size)]


def backward(step: dict, y: float, height: float, name: str, at: At) -> list[str]:
    """Return the lane of a rank's backward."""
    began, until, returned = step["began"], computed(step), step["returned"]
    return bar(began, returned, until, y, height, PALE, at) + lane(y, height, name, until - began, returned - until)


def gradients(step: dict, at: At) -> list[str]:
    """Return a mark in the lane of backward for each gradient, in its bucket's colour, with its name above."""
    bucket_of = {name: index for index, each in enumerate(step["buckets"]) for name in each["names"]}
    shapes, rows = [], {}
    for gradient in reversed(step["gradients"]):  # from the right, each name above the marks that it would run into
        x, color = at(gradient["ready"]), color_of(bucket_of[gradient["name"]])[0]
        row = 1 + max((row for right, row in rows.items() if right < x + 56), default=-1)
        rows[x] = row
        y = TOP - 6 - row * 11
        shapes += [line(x, y - 8, x, TOP + 20, color, 2), text(x + 3, y, gradient["name"], size=10)]
    return shapes


def all_reduce(step: dict, index: int, bucket: dict, y: float, height: float, at: At) -> list[str]:
    """Return the lane of a bucket: its gradients as they come, then its all-reduce."""
    color, name = color_of(index)[0], f"bucket {index}: {bucket['numbers'] * 4 / 1000:,.1f} kB"
    ready = [each["ready"] for each in step["gradients"] if each["name"] in bucket["names"]]
    return [
        line(at(ready[0]), y + height / 2, at(bucket["begun"]), y + height / 2, color),
        *(line(at(time), y, at(time), y + height, color, 2) for time in ready),
        *bar(bucket["begun"], bucket["done"], computed(step), y, height, color, at),
        *lane(y, height, name, *overlap(step, [bucket])),
    ]


def legend() -> list[str]:
    """Return what an upright line, a filled and a dashed bar mean."""
    meanings = [
        (line(14, 10, 14, 22, width=2), "gradient ready"),
        (box(6, 29, 16, 12, INK, INK), "rank computes"),
        (box(6, 48, 16, 12, PAPER, INK, dashed=True), "rank waits"),
    ]
    shapes = [shape + text(28, 20 + 19 * row, meaning, size=11) for row, (shape, meaning) in enumerate(meanings)]
    return [*shapes, text(RIGHT + 8, 16, "filled + dashed", size=11)]


def axis(seconds: float) -> list[str]:
    """Return the time in milliseconds, below, in round pieces, eight at most."""
    total = seconds * 1000
    piece = next(10**power * digit for power in range(-3, 9) for digit in (1, 2, 5) if total / (10**power * digit) < 8)
    shapes = [line(LEFT, BOTTOM, RIGHT, BOTTOM), text(RIGHT + 8, BOTTOM + 16, "ms", size=11)]
    for count in range(int(total / piece) + 1):
        x = LEFT + count * piece / total * (RIGHT - LEFT)
        shapes += [line(x, BOTTOM, x, BOTTOM + 4), text(x, BOTTOM + 16, f"{count * piece:g}", INK, "middle", 11)]
    return shapes
