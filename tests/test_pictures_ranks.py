"""The ranks map and the ring: every number shown, against closed forms."""

import re
from itertools import pairwise, product

import pytest
from drawn import boxes_of, shapes_of

from ddp_lessons.workbench.pictures.picture import INK
from ddp_lessons.workbench.pictures.ranks_map import RanksMap
from ddp_lessons.workbench.pictures.ring import RingAllReduce

BYTES = 840 * 4  # that each rank of the ring holds


def test_map_places_every_rank_and_marks_the_picked_one():
    for machines, cards in product(range(1, 5), range(1, 9)):
        for rank in range(machines * cards):
            picture = RanksMap(machines, cards, rank)
            shown = [word.text for word in shapes_of(picture) if word.text]
            names = [f"{'▶ ' * (r == rank)}rank {r}" for r in range(machines * cards)]
            assert [word for word in shown if re.fullmatch(r"(▶ )?rank \d+", word)] == names
            assert shown.count("local rank 0") == machines
            assert (
                f"Rank {rank} of {machines * cards}: machine {rank // cards}, local rank {rank % cards}."
                in picture.words
            )
            assert picture.svg.count('stroke-width="3"') == 1


def test_map_gives_the_environment_and_the_command():
    many, alone = RanksMap(machines=3, cards=8, rank=17), RanksMap(machines=1, cards=4, rank=2)
    environment = "RANK=17, LOCAL_RANK=1, WORLD_SIZE=24, LOCAL_WORLD_SIZE=8, GROUP_RANK=2, GROUP_WORLD_SIZE=3, "
    assert f"{environment}MASTER_ADDR=ADDRESS_OF_MACHINE_0, MASTER_PORT=29500." in many.words
    command = (
        "torchrun --nnodes 3 --node-rank 2 --nproc-per-node 8 --master-addr ADDRESS_OF_MACHINE_0 --master-port 29500"
    )
    assert many.words.endswith(f"The command on machine 2: {command} scripts/lesson2_ranks.py")
    assert alone.words.endswith("torchrun --standalone --nproc-per-node 4 scripts/lesson2_ranks.py")
    assert "OMP_NUM_THREADS" not in many.words  # it depends on the reader's machine


@pytest.mark.parametrize("ranks", range(2, 9))
def test_ring_holds_these_numbers_after_every_step(ranks):
    start = [[10 * (rank + 1) + chunk for chunk in range(ranks)] for rank in range(ranks)]
    total = [sum(column) for column in zip(*start, strict=True)]
    for step in range(2 * ranks - 1):
        expected = [list(numbers) for numbers in start]
        for rank, back in product(range(ranks), range(1, step + 1)):
            chunk = (rank - back) % ranks
            if back < ranks:  # the partial sum of so many ranks has come here
                expected[rank][chunk] = sum(start[(rank - b) % ranks][chunk] for b in range(back + 1))
            else:
                expected[rank][(rank - back + ranks) % ranks] = total[(rank - back + ranks) % ranks]
        assert numbers_of(RingAllReduce(ranks, step)) == expected
    assert expected == [total] * ranks


def numbers_of(picture) -> list[list[int]]:
    """Return the numbers in the chunks of each rank."""
    ranks, shapes = picture.values["ranks"], shapes_of(picture)
    pairs = pairwise(shapes)
    numbers = [int(word.text) for box, word in pairs if box.get("width") == "38" and word.text.isdecimal()]
    return [numbers[rank * ranks : (rank + 1) * ranks] for rank in range(ranks)]


@pytest.mark.parametrize("ranks", range(2, 9))
def test_ring_counts_its_bytes_and_shows_what_goes_where(ranks):
    for step in range(2 * ranks - 1):
        picture = RingAllReduce(ranks, step)
        bound = 2 * (ranks - 1) * BYTES // ranks
        sends = f"the busiest rank sends {bound} bytes, the naive way {(ranks - 1) * BYTES}"
        assert f"{sends}; the bound, 2(N-1)/N of {BYTES} bytes, is {bound}." in picture.words
        full = max(0, step - ranks + 2)  # of each rank's chunks
        assert f"each rank has {full} summed over all ranks" in picture.words
        assert len(boxes_of(picture, INK)) == ranks * full
        assert picture.svg.count("<polygon") == (ranks + 1 if step else 0)  # one arrow is drawn in two parts
        half = ["Before the first", "reduce-scatter", "all-gather"][(step > 0) + (step >= ranks)]
        assert half in picture.words
