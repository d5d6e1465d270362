"""Testing on rank 0 only: which ways wait for the others, and what each rank then sees."""

from datetime import timedelta

import pytest
import torch
import torch.distributed as dist
from ranks import LOOPBACK, meeting_point, run_all
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

SECONDS = 3
TIME_OUTS = [f"Timed out waiting {SECONDS}000ms", "Application timeout caused pair closure"]


def small(norm: bool) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8) if norm else nn.ReLU(), nn.Linear(8, 2))


def step(model) -> None:
    """Take a plain step of training, on samples of this rank's own."""
    model.zero_grad()
    model(torch.randn(6, 4)).square().mean().backward()
    with torch.no_grad():
        for weight in model.parameters():
            weight -= 0.1 * weight.grad


def rank_0_tests(rank, port, test, others, ranks=2, norm=True, no_grad=True, **options):
    """Train two steps; test 3 batches on rank 0 while the others wait or train; train on. Return the weights."""
    store = dist.TCPStore(LOOPBACK, port, is_master=False, timeout=timedelta(seconds=30))
    dist.init_process_group("gloo", store=store, rank=rank, world_size=ranks, timeout=timedelta(seconds=SECONDS))
    model = DDP(small(norm), **options)
    torch.manual_seed(rank)
    step(model), step(model)
    done = ["trained"]
    try:
        if rank == 0:
            tested = model.module if test == "bare" else model
            tested.eval()
            with torch.no_grad() if no_grad else torch.enable_grad():
                for _ in range(3):
                    tested(torch.randn(6, 4))
                    done.append("tested")
            tested.train()
        if others == "wait":
            dist.barrier()
        for _ in range(2):
            step(model)
            done.append("step")
    except RuntimeError as error:
        return done, str(error)
    return done, torch.nn.utils.parameters_to_vector(model.parameters()).tolist()


def of_two(*case, **options):
    with meeting_point() as port:
        return run_all([(call, rank, port, case, options) for rank in range(2)])


def call(rank, port, case, options):
    return rank_0_tests(rank, port, *case, **options)


@pytest.fixture(scope="module")
def right():
    """The weights after training in which nobody tests through DDP."""
    (_, mine), (_, theirs) = of_two("bare", "wait")
    assert mine == theirs
    return mine


TESTED = ["trained", "tested", "tested", "tested", "step", "step"]


# it hangs


def test_through_ddp_with_buffers_it_waits_for_ranks_that_wait_in_a_barrier():
    """Rank 0's forward sends BatchNorm's buffers, which the others do not take: all wait until the time-out."""
    (done, error), (others_done, others_error) = of_two("through DDP", "wait")
    assert done == others_done == ["trained"]
    assert_given_up(error, others_error)


def test_where_gradients_are_kept_it_waits_for_ranks_that_train_on():
    """Without torch.no_grad DDP sends the buffers before each batch, and the others take only the first."""
    (done, error), (others_done, others_error) = of_two("through DDP", "train", no_grad=False)
    assert done == ["trained", "tested"] and others_done == ["trained"]
    assert_given_up(error, others_error)


def assert_given_up(*errors) -> None:
    """The first rank to give up breaks the connection, so that the other need not run into its time-out."""
    timed_out = [any(word in error for word in TIME_OUTS) for error in errors]
    assert any(timed_out), errors
    assert all(late or "closed by peer" in error for late, error in zip(timed_out, errors, strict=True)), errors


# it does not


@pytest.mark.parametrize("others", ["wait", "train"])
def test_the_bare_model_waits_for_nobody(others, right):
    assert of_two("bare", others) == [(TESTED, right), (["trained", "step", "step"], right)]


def test_through_ddp_it_goes_well_by_chance_where_the_others_train_on(right):
    """Their next step takes the buffers; after a forward without gradients, DDP leaves them out once, on rank 0."""
    assert of_two("through DDP", "train") == [(TESTED, right), (["trained", "step", "step"], right)]


@pytest.mark.parametrize("others", ["wait", "train"])
def test_without_buffers_it_waits_for_nobody(others):
    (done, mine), (_, theirs) = of_two("through DDP", others, norm=False)
    assert done == TESTED and mine == theirs == of_two("bare", others, norm=False)[0][1]


@pytest.mark.parametrize("others", ["wait", "train"])
@pytest.mark.filterwarnings("ignore:`broadcast_buffers`")
def test_without_sending_buffers_it_waits_for_nobody(others, right):
    for option in ("broadcast_buffers", "forward_sync_buffers"):
        found = of_two("through DDP", others, **{option: False})
        assert found == [(TESTED, right), (["trained", "step", "step"], right)]
