"""BatchNorm, dropout and augmentation on ranks: what is lost, and what the repairs give."""

import pytest
import torch
from one_process import DATA, TOLERANCE, apart, one_gradient, sixty_four
from ranks import run_ranks
from slow import slow
from torch.nn.parallel import DistributedDataParallel as DDP

from ddp_lessons.workbench.broken import layers, parts


def ways(rank, world_size):
    """Gradients with each norm, running means, noise and the table."""
    share = parts.my_share(DATA)
    models = {norm: parts.network(norm) for norm in ("GroupNorm", "BatchNorm", "Identity")}
    models["shared"] = layers.share_statistics(parts.network("BatchNorm"))
    left = {norm: parts.gradient_of(parts.mean_loss, model, share)[0] for norm, model in models.items()}
    return left, layers.running_means(DATA), layers.noise_left(DATA), layers.measure(DATA)


def with_other_seeds(rank, world_size):
    """The weights under DDP of a rank whose seed has the rank in it, before wrapping and after."""
    torch.manual_seed(rank)
    model = layers.nn.Linear(3, 3)
    before = model.weight.tolist()
    return before, DDP(model).module.weight.tolist()


@pytest.fixture(scope="module", params=[2, slow(4)], ids="{} ranks".format)
def ranks(request):
    return run_ranks(request.param, ways)


def test_norms_that_treat_each_sample_by_itself_are_exact(ranks):
    for left, *_ in ranks:
        for norm in ("GroupNorm", "Identity"):
            assert apart(left[norm], one_gradient(norm=norm)) < TOLERANCE


def test_batch_norm_averages_gradients_of_local_statistics(ranks):
    local = sum(one_gradient(rank, 64, len(ranks), "BatchNorm") for rank in range(len(ranks))) / len(ranks)
    for left, *_ in ranks:
        assert apart(left["BatchNorm"], local) < TOLERANCE
    assert apart(local, one_gradient(norm="BatchNorm")) > 0.05


def test_batch_norm_with_all_ranks_statistics_is_exact(ranks):
    for left, *_ in ranks:
        assert apart(left["shared"], one_gradient(norm="BatchNorm")) < TOLERANCE


def test_running_means_are_local_until_rank_0_sends_its_own(ranks):
    images, _ = sixty_four()
    torch.manual_seed(0)
    convolution = layers.network("BatchNorm")[0]
    for rank, (_, means, *_) in enumerate(ranks):
        seen = convolution(images[rank :: len(ranks)]).mean((0, 2, 3)) * 0.1  # of BatchNorm's momentum
        assert means["after a step"][rank] == pytest.approx(seen.tolist(), rel=TOLERANCE)
        assert means["after the next broadcast"][rank] == means["after a step"][0]
    assert means["after a step"][1] != means["after a step"][0]


def test_sync_batch_norm_says_that_it_needs_a_gpu(ranks):
    assert all(table["SyncBatchNorm"] == "SyncBatchNorm layers only work with GPU modules" for *_, table in ranks)


def test_angles_are_drawn_once_with_one_seed_and_by_each_rank_with_its_own(ranks):
    for *_, table in ranks:
        assert table["different angles drawn, same seed"] == 8
        assert table["different angles drawn, seed + rank"] == 8 * len(ranks)


def test_what_averaging_leaves_of_dropout_s_noise(ranks):
    """The variance of an average of N independent draws is 1/N, of N equal ones it is 1; 100 masks are within 10 %."""
    for *_, noise, _ in ranks:
        for case in ("other samples, seed + rank", "the same samples, seed + rank"):
            assert noise[case] == pytest.approx(1 / len(ranks), rel=0.1)
        assert noise["the same samples, same seed"] == pytest.approx(1, rel=TOLERANCE)
        assert noise["other samples, same seed"] < 1.1 / len(ranks)  # equal masks do no harm on other samples


def test_the_table_says_so(ranks):
    for *_, table in ranks:
        assert max(table["GroupNorm"], table["SharedBatchNorm"]) < TOLERANCE
        assert table["BatchNorm"] > 0.05
        assert table["running means apart, after a step"] > 1e-3
        assert table["running means apart, after the next broadcast"] == 0


def test_weights_need_no_equal_seeds():
    before, after = zip(*run_ranks(2, with_other_seeds), strict=True)
    assert before[0] != before[1]
    assert after[0] == after[1] == before[0]
