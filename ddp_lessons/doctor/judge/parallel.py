"""Which ranks train one model on parts of the data: only they must not read the same."""

from ddp_lessons.doctor.journal import Run

TWICE = 2  # calls after a backward that show it


def data_parallel(run: Run) -> bool:
    """Tell whether ranks share the data out: a model is wrapped, or gradients or weights are averaged by hand.

    Ranks that each hold a part of a model (tensor parallel) call each other within the forward, and are to read the
    same; and scripts for a single card, launched more than once, have another fault.
    """
    if any(run.all("wrap")):
        return True
    counts = [calls(events) for events in run.ranks.values()]
    return any(after >= TWICE for _, after in counts) and not any(within for within, _ in counts)


def calls(events: list[dict]) -> tuple[int, int]:
    """Return how many calls a rank makes from when a batch comes to its backward, and from there to the next batch."""
    within = after = pending = 0
    learned = False
    for event in events:
        if event["what"] in ("batch", "rows"):
            learned, pending = False, 0
        elif event["what"] == "backward":
            learned, within, pending = True, within + pending, 0
        elif event["what"] == "call":
            after, pending = after + learned, pending + (not learned)
    return within, after


def together(run: Run, one: int, other: int) -> bool:
    """Tell whether two ranks' wrappers average over a group that both are in."""
    groups = [event["ranks"] for rank, event in run.all("group") if rank == one]
    return not groups or any(other in group for group in groups)
