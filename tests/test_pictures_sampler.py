"""The sampler explorer: boxes and words against torch's own sampler."""

import re
from collections import Counter
from itertools import chain

from drawn import boxes_of, corners
from torch.utils.data.distributed import DistributedSampler

from ddp_lessons.workbench.pictures.picture import COLORS, PAPER, color_of
from ddp_lessons.workbench.pictures.sampler import SamplerExplorer


def test_sampler_shows_what_torchs_own_sampler_gives():
    for picture in corners(SamplerExplorer()):
        samples, ranks, batch_size, shuffle, drop_last, set_epoch, epoch = picture.values.values()
        numbers, shares = range(samples), []
        for rank in range(ranks):
            sampler = DistributedSampler(numbers, ranks, rank, shuffle=shuffle, drop_last=drop_last)
            sampler.set_epoch(epoch if set_epoch else 0)
            shares.append(list(sampler))
            assert boxes_of(picture, color_of(rank)[0]) == list(map(str, shares[-1]))
        steps = -(-len(shares[0]) // batch_size)
        assert f" batches of {batch_size}: {steps} step" in picture.words
        counts = Counter(chain(*shares))
        assert_said_and_marked(picture, counts, [sample for sample in numbers if sample not in counts])


def assert_said_and_marked(picture, counts: Counter, missed: list[int]) -> None:
    """Assert that repeats are counted and have thick frames, and what nobody reads is counted and dashed."""
    repeated = sorted(sample for sample in counts if counts[sample] > 1)
    for name, samples in {"Read more than once": repeated, "Read by nobody": missed}.items():
        said = re.search(rf"{name}: (none|(\d+) samples? \(([\d, …]+)\))\.", picture.words)
        assert (
            (int(said[2]), re.findall(r"\d+", said[3])) == (len(samples), list(map(str, samples[:8])))
            if samples
            else said[1] == "none"
        )
    thick = [int(sample) for color in COLORS for sample in boxes_of(picture, color, **{"stroke-width": "3"})]
    assert Counter(thick) == Counter({sample: counts[sample] for sample in repeated})
    assert boxes_of(picture, PAPER, **{"stroke-dasharray": "3 2"}) == list(map(str, missed))


def test_sampler_says_what_the_epoch_has_to_do_with_the_order():
    assert SamplerExplorer(epoch=3).words.endswith("Without shuffle, epoch 3 has the same order as every other.")
    assert SamplerExplorer(shuffle=True, epoch=3).words.endswith(
        "set_epoch(3) was called: this is the order of epoch 3."
    )
    forgotten = SamplerExplorer(shuffle=True, epoch=3, set_epoch=False)
    assert forgotten.words.endswith("set_epoch was not called: every epoch has the order of epoch 0.")
    assert forgotten.svg.partition(">")[2] == SamplerExplorer(shuffle=True, epoch=0).svg.partition(">")[2]


def test_sampler_says_why_nobody_reads_anything():
    picture = SamplerExplorer(samples=3, ranks=8, drop_last=True)
    assert "0 steps, since drop_last leaves out all if there are fewer samples than ranks." in picture.words
    assert picture.svg.count("reads nothing") == 8
