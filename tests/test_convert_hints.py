"""The exercises on converting a script: every known mistake gets its own hint, on two ranks and on four."""

from itertools import combinations

import pytest
from converted import GIVEN, SOLUTIONS, changed, judged
from slow import slow, slow_but

from ddp_lessons.workbench.exercises.convert import judge
from ddp_lessons.workbench.exercises.convert.judge import close
from ddp_lessons.workbench.exercises.convert.mistakes import MISTAKES
from ddp_lessons.workbench.exercises.convert.seen import answer_of
from ddp_lessons.workbench.scripts import ROOT

HINTS = {name: list(hints) for name, hints in MISTAKES.items()}
SHARE, SAMPLER = "args.batch_size // world_size", "DistributedSampler(train_set, world_size, rank"
EVERYTHING = {SAMPLER: "DistributedSampler(train_set, 1, 0"}
GROWN, LONG = {SHARE: "args.batch_size"}, {"lr=args.lr": "lr=args.lr * world_size"}
JOIN = '    dist.init_process_group("gloo")\n    return dist.get_rank(), dist.get_world_size()'
STEPS = [
    (EVERYTHING, 0),
    (EVERYTHING | GROWN, 0),
    (GROWN, 1),
    (LONG, 2),
    (GROWN | LONG, 3),
    ({"DDP(model) if dist.is_initialized() else model": "model"}, 4),
    ({JOIN: "    return 0, 1"}, judge.NOT_JOINED),
    ({"        if rank == 0:\n            print(": "        if True:\n            print("}, judge.ALL_PRINT),
    ({"    if rank == 0:\n        torch.save": "    if True:\n        torch.save"}, judge.ALL_SAVE),
    ({"    if dist.is_initialized():\n        dist.destroy_process_group()\n": ""}, judge.NOT_LEFT),
]
KEYS = ({"torch.save(model.": "torch.save(wrapped."}, judge.WRAPPER)
SUM, SUM_OF_LOSS = (f"    if dist.is_initialized():\n        dist.all_reduce({name})\n" for name in ("right", "loss"))
SHARE_OF_TEST, SIZE = "sampler=range(rank, len(dataset), world_size)", "right.item() / len(dataset)"
REPEAT = {SHARE_OF_TEST: "sampler=DistributedSampler(dataset, world_size, rank, shuffle=False)"}
TESTS_ALL = {SHARE_OF_TEST: "sampler=range(len(dataset))", SUM: ""}
LOSS = SUM_OF_LOSS + "    return loss.item() / len(dataset)"
PADDED = "    size = len(dataset) + -len(dataset) % world_size\n    images, labels = dataset"
WRONG = {
    "1_loop": [
        *STEPS, KEYS,
        ({", shuffle=False": ""}, 5),
        ({", shuffle=False": "", "        for images,": "        sampler.set_epoch(epoch)\n        for images,"}, 5),
        ({SAMPLER + ", shuffle=False)": "range(rank * 2048 // world_size, (rank + 1) * 2048 // world_size)"}, 6),
    ],
    "2_score": [
        STEPS[1], STEPS[5], KEYS,
        ({"        sampler.set_epoch(epoch)\n": ""}, 5),
        ({"rank, seed=args.seed": "rank, shuffle=False"}, 6),
        ({SUM: "", SIZE: f"right.item() / len({SHARE_OF_TEST[8:]})"}, 7),
        ({SUM: ""}, 7),
        ({SUM: f"    right /= len({SHARE_OF_TEST[8:]})\n{SUM}", SIZE: "right.item() / world_size"}, 8),
        (REPEAT, 9),
        (REPEAT | {SIZE: "right.item() / (len(dataset) + -len(dataset) % world_size)"}, 9),
        ({SHARE_OF_TEST: "sampler=range(rank, len(dataset) // world_size * world_size, world_size)",
          SIZE: "right.item() / (len(dataset) // world_size * world_size)"}, 10),
        (TESTS_ALL, judge.ALL_TEST),
        (TESTS_ALL | {"= score(": "= rank == 0 and score("}, judge.ALL_TEST),
    ],
    "3_early_stop": [
        STEPS[1], STEPS[5],
        ({"        sampler.set_epoch(epoch)\n": ""}, 5),
        ({LOSS: "    loss /= len(labels)\n    dist.broadcast(loss, 0)\n    return loss.item()"}, 6),
        ({LOSS: f"    loss /= len(labels)\n{SUM_OF_LOSS}    return loss.item() / world_size"}, 7),
        ({"    images, labels = dataset[rank::world_size]":
          f"{PADDED}[[i % len(dataset) for i in range(rank, size, world_size)]]",
          "loss.item() / len(dataset)": "loss.item() / size"}, 8),
        ({", drop_last=True": ""}, 9),
        ({"    model.load_state_dict(": "    if rank == 0:\n        model.load_state_dict("}, judge.ALL_READ),
    ],
}  # fmt: skip
CASES = [
    (name, changes, HINTS[name][hint] if isinstance(hint, int) else hint)
    for name, wrong in WRONG.items()
    for changes, hint in wrong
]
FIRST_OF_ITS_HINT = {hint: (name, changes, hint) for name, changes, hint in reversed(CASES)}


@pytest.mark.parametrize("ranks", [2, slow(4)])
@pytest.mark.parametrize(("name", "changes", "hint"), slow_but(list(FIRST_OF_ITS_HINT.values()), CASES))
def test_a_wrong_answer_gets_its_own_hint(name, changes, hint, ranks, tmp_path):
    wrong, said = judged(tmp_path, name, changed(SOLUTIONS[name], changes), ranks)
    assert wrong and said == hint.replace("WORLD", str(ranks))


@pytest.mark.parametrize("ranks", [2, slow(4)])
@pytest.mark.parametrize("name", MISTAKES)
def test_known_mistakes_differ_from_the_answer_and_from_each_other(name, ranks):
    found = [(None, answer_of(GIVEN[name], ROOT / "data"))]
    for hint, changes in MISTAKES[name].items():
        found += [(hint, answer_of(GIVEN[name], ROOT / "data", ranks, tuple(change.items()))) for change in changes]
    for one, other in combinations(found, 2):
        alike = close(one[1].weights, other[1].weights) and one[1].lines == other[1].lines
        assert not alike or one[0] == other[0]


def test_every_known_mistake_is_tried():
    assert {hint for _, _, hint in CASES} >= {hint for hints in HINTS.values() for hint in hints}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"        torch.save(model.state_dict(), args.save)\n": ""}, "the file that --save names was not written"),
        ({"        torch.save(model.state_dict(), args.save)\n": "        open(args.save, 'w').close()\n"},
         "the saved file cannot be read with weights_only=True: EOFError"),
        ({"            print(": "            str(", "        print(": "        str("}, "nothing was printed"),
        ({"{epoch + 1}: done": "{epoch + 1}: over"}, "`epoch 1: done` is right, and it printed `epoch 1: over`"),
    ],
)  # fmt: skip
def test_what_is_missing_is_told_in_a_sentence(changes, told, tmp_path):
    wrong, hint = judged(tmp_path, "1_loop", changed(SOLUTIONS["1_loop"], changes), 2)
    assert wrong.startswith(told) and not hint and "\n" not in wrong
