"""What the lessons share, each against an oracle: torchvision, a closed form, a step by hand."""

from pathlib import Path

import pytest
import torch
from torch import nn, optim
from torch.utils.data import DataLoader, Subset, TensorDataset
from torchvision import datasets
from torchvision.transforms import ToTensor

from ddp_lessons.blocks.checkpoint import save_model
from ddp_lessons.blocks.data import InMemory, load_mnist
from ddp_lessons.blocks.evaluate import evaluate
from ddp_lessons.blocks.model import build_model
from ddp_lessons.blocks.schedule import scale_lr
from ddp_lessons.blocks.train import train_epoch

DATA = str(Path(__file__).parents[1] / "data")
CPU = torch.device("cpu")


@pytest.fixture
def model():
    torch.manual_seed(1)
    return build_model("linear").double()


@pytest.fixture
def samples():
    """25 images and labels: with batches of 10, the last one is smaller."""
    random = torch.Generator().manual_seed(2)
    images = torch.rand(25, 1, 28, 28, generator=random, dtype=torch.float64)
    return images, torch.randint(10, (25,), generator=random)


@pytest.mark.parametrize(("train", "size"), [(True, 60000), (False, 10000)])
def test_load_mnist_gives_what_torchvision_gives(train, size):
    mine, theirs = load_mnist(DATA, train), datasets.MNIST(DATA, train, transform=ToTensor())
    assert len(mine) == len(theirs) == size
    assert mine.tensors[1].dtype == torch.int64 and torch.equal(mine.tensors[1], theirs.targets)
    some = range(0, size, 150)
    images, _ = next(iter(DataLoader(Subset(theirs, some), len(some))))
    assert mine.tensors[0].dtype == torch.float32 and torch.equal(mine.tensors[0][some], images)


def test_load_mnist_gives_the_first_samples():
    few, all_of_them = load_mnist(DATA, False, samples=100), load_mnist(DATA, False)
    assert all(torch.equal(mine, theirs[:100]) for mine, theirs in zip(few.tensors, all_of_them.tensors, strict=True))


def test_a_batch_of_in_memory_is_a_batch_of_a_tensor_dataset(samples):
    def batches(loader):
        torch.manual_seed(3)
        return list(loader)

    mine = batches(DataLoader(InMemory(*samples), 10, shuffle=True, collate_fn=tuple))
    theirs = batches(DataLoader(TensorDataset(*samples), 10, shuffle=True))
    assert [len(labels) for _, labels in mine] == [10, 10, 5]
    for batch, wanted in zip(mine, theirs, strict=True):
        assert all(map(torch.equal, batch, wanted))


def test_evaluate_weighs_every_sample_alike(model, samples):
    images, labels = samples
    logits = images.flatten(1) @ model.fc.weight.T + model.fc.bias
    losses = logits.exp().sum(dim=1).log() - logits[range(25), labels]
    right = (logits.argmax(dim=1) == labels).sum().item()
    loss, accuracy = evaluate(model, DataLoader(InMemory(*samples), 10, collate_fn=tuple), CPU)
    assert loss == pytest.approx(losses.mean().item(), abs=1e-12)
    assert accuracy == right / 25


def test_evaluate_leaves_no_gradients_and_the_model_in_eval_mode(model, samples):
    evaluate(model, DataLoader(InMemory(*samples), 10, collate_fn=tuple), CPU)
    assert not model.training and all(p.grad is None for p in model.parameters())


def test_train_epoch_takes_the_step_worked_out_by_hand(model, samples):
    weight, bias = model.fc.weight.detach().clone(), model.fc.bias.detach().clone()
    for images, labels in zip(*(tensor.split(10) for tensor in samples), strict=True):
        rows = images.flatten(1)
        errors = (rows @ weight.T + bias).softmax(dim=1) - nn.functional.one_hot(labels, 10)
        weight, bias = weight - 0.1 * errors.T @ rows / len(rows), bias - 0.1 * errors.mean(dim=0)
    model.eval()
    loader = DataLoader(InMemory(*samples), 10, collate_fn=tuple)
    seconds = train_epoch(model, loader, optim.SGD(model.parameters(), lr=0.1), CPU)
    assert seconds > 0 and model.training
    torch.testing.assert_close(model.fc.weight.detach(), weight, rtol=0, atol=1e-12)
    torch.testing.assert_close(model.fc.bias.detach(), bias, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("name", "weights"), [("linear", 7850), ("cnn", 421642)])
def test_models_have_the_size_they_say(name, weights):
    model = build_model(name)
    assert sum(p.numel() for p in model.parameters()) == weights
    assert model(torch.zeros(3, 1, 28, 28)).shape == (3, 10)


def test_save_model_writes_what_a_bare_model_loads(model, tmp_path):
    save_model(model, str(tmp_path / "model.pth"))
    fresh = build_model("linear").double()
    fresh.load_state_dict(torch.load(tmp_path / "model.pth", weights_only=True))
    assert torch.equal(fresh.fc.weight, model.fc.weight) and torch.equal(fresh.fc.bias, model.fc.bias)
    assert [path.name for path in tmp_path.iterdir()] == ["model.pth"]


def test_save_model_leaves_the_old_file_whole_when_writing_fails(model, tmp_path, monkeypatch):
    path = tmp_path / "model.pth"
    save_model(model, str(path))
    old = path.read_bytes()
    monkeypatch.setattr(nn.Linear, "get_extra_state", lambda layer: lambda: "no pickle takes a function")
    with pytest.raises(Exception, match="pickle"):
        save_model(model, str(path))
    assert path.read_bytes() == old


# schedule


def rates(scale, rule, warmup_steps, steps=8):
    """Return the rate of each step of an SGD that began with a rate of 0.5."""
    weight = nn.Parameter(torch.zeros(1))
    optimizer, taken = optim.SGD([weight], lr=0.5), []
    scale_lr(optimizer, scale, rule, warmup_steps)
    for _ in range(steps):
        before, weight.grad = weight.item(), torch.ones(1)
        optimizer.step()
        taken.append(before - weight.item())  # what the step did, not what it says
    return taken


@pytest.mark.parametrize(("rule", "top"), [("none", 0.5), ("linear", 4.5), ("sqrt", 1.5)])
def test_a_rate_is_scaled_by_its_rule(rule, top):
    assert rates(9, rule, 0) == pytest.approx([top] * 8)


@pytest.mark.parametrize(("rule", "top"), [("none", 0.5), ("linear", 4.5), ("sqrt", 1.5)])
def test_a_rate_warms_up_by_equal_amounts_and_stays(rule, top):
    climb = [0.5 + (top - 0.5) * step / 4 for step in range(4)]
    assert rates(9, rule, 4) == pytest.approx(climb + [top] * 4, rel=1e-5)


def test_a_smaller_batch_takes_a_smaller_rate_at_once():
    assert rates(0.25, "linear", 4) == pytest.approx([0.125] * 8)
