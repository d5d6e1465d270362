"""What a wrapper said while it trained, judged: the sizes of its buckets, when they left, who waited for them."""

from itertools import accumulate

from ddp_lessons.workbench.exercises.exercise import first_hint, with_hint
from ddp_lessons.workbench.exercises.training import small

LIMITS = (120, 80, 64, 1000)  # bytes: what is right at one limit is wrong at another, unless all of it is right
NOT_WAITED = "with `async_op=True` the numbers are there once `wait()` of the handle has come back: is each waited for?"


def sizes_of_gradients() -> list[int]:
    """Return the bytes of each gradient, from the last parameter to the first."""
    return [p.nbytes for p in reversed(list(small(seed=0).parameters())) if p.requires_grad]


def buckets(limit: int, all_open: bool = False) -> list[int]:
    """Return the bytes of each bucket, when a parameter joins the last one, or (wrong) any, that has room for it."""
    filled: list[int] = []
    for size in sizes_of_gradients():
        places = range(len(filled))[0 if all_open else -1 :]
        place = next((place for place in places if filled[place] + size <= limit), len(filled))
        filled[place : place + 1] = [sum(filled[place : place + 1]) + size]
    return filled


def never_anew(limit: int) -> list[int]:
    """Return the bytes of each bucket when (wrong) bytes are counted on from bucket to bucket."""
    sizes = sizes_of_gradients()
    first = [size for size, total in zip(sizes, accumulate(sizes), strict=True) if total <= limit]
    return [sum(first), *sizes[len(first) :]]


def of_kind(heard: list[dict], call: str) -> list[int]:
    """Return the places of the calls of one kind in what was heard."""
    return [place for place, said in enumerate(heard) if said["call"] == call]


def unwaited(heard: list[dict]) -> int:
    """Return how many calls of all_reduce were not waited for in a step."""
    calls, *asked = (len(of_kind(heard, call)) for call in ("allreduce", "wait", "get_future"))
    return max(0, calls - sum(asked))


def wrong_buckets(limit: int, outputs: list[dict]) -> str:
    """Return what is wrong with the calls of all_reduce, "" if they are one for each bucket, in time."""
    for heard in (step["heard"] for output in outputs for step in output["steps"]):
        if wrong := wrong_sizes(limit, heard) or wrong_times(limit, heard):
            return f"the gradients are right, but with buckets of {limit} bytes {wrong}"
    return ""


def wrong_messages(outputs: list[dict]) -> str:
    """Return what is wrong with calls of all_reduce that carry each gradient as it is, "" if they carry it once."""
    steps = [step["heard"] for step in outputs[0]["steps"]]
    first, *_, last = (sum(heard[place]["bytes"] for place in of_kind(heard, "allreduce")) for heard in steps)
    if last <= (once := sum(sizes_of_gradients())):
        return ""
    return with_hint(
        f"the gradients are right, but step {len(steps)} sent {last} bytes; right is {once}",
        first_hint(
            {
                "each step sends more than the one before: hooks stay, so one registered in forward comes on top": (
                    last > first
                ),
                "is a gradient averaged twice? a tied weight is one parameter, and needs one hook": True,
            }
        ),
    )


def wrong_sizes(limit: int, heard: list[dict]) -> str:
    """Return what is wrong with the sizes of the buckets of a step."""
    sizes, wanted = [heard[place]["bytes"] for place in of_kind(heard, "allreduce")], buckets(limit)
    if sorted(sizes) == sorted(wanted):
        return ""
    return with_hint(f"a step sent {sizes} bytes; right is {wanted}", first_hint(bucket_mistakes(limit, sizes)))


def wrong_times(limit: int, heard: list[dict]) -> str:
    """Return what is wrong with when the buckets of a step left, and were waited for."""
    calls, waits, ready = (of_kind(heard, call) for call in ("allreduce", "wait", "ready"))
    if left := unwaited(heard):
        return with_hint(f"a step left {left} of its {len(calls)} calls of all_reduce without a wait", NOT_WAITED)
    if any(calls[0] < place < ready[-1] for place in waits):
        return with_hint(
            "backward stood still until an all_reduce was done",
            "`async_op=True` gives a handle at once, and backward goes on; who waits for it, and when?",
        )
    if len(calls) > 1 and calls[0] > ready[-1]:
        return with_hint(
            "the first one left after the last gradient was ready",
            "a bucket can leave as soon as its own gradients are ready: a hook knows when that is",
        )
    return ""


def bucket_mistakes(limit: int, sizes: list[int]) -> dict[str, bool]:
    """Return hints for the sizes of buckets."""
    whole, sent = sizes_of_gradients(), sorted(sizes)
    return {
        "a bucket may be filled to its last byte": sent == sorted(buckets(limit - 1)),
        "a bucket that opens has the bytes of its own parameters only": sent == sorted(never_anew(limit)),
        "only one bucket is open: those before it take no more": sent == sorted(buckets(limit, all_open=True)),
        "each gradient went alone": sent == sorted(whole),
        "all gradients went together, at the end": sizes == [sum(whole)],
        "are the parameters taken from the last to the first, and is a bucket closed before it grows too large?": (
            sum(sizes) == sum(whole)
        ),
    }
