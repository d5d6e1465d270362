"""What else can stand in the library's checkpoint: code, which is run, and random states, which need names."""

import pickle
from pathlib import Path

import pytest
import torch
import torch.distributed.checkpoint as dcp
from ranks import run_all, run_ranks


class Code:
    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return Path.touch, (Path(self.path),)


def save_code(folder, traces):
    dcp.save({"harmless": torch.zeros(1), "entry": Code(traces)}, checkpoint_id=folder)


def load_state(folder):
    dcp.load({"harmless": torch.zeros(1), "entry": 0}, checkpoint_id=folder)


def test_loading_runs_code_of_the_metadata(tmp_path):
    folder, traces = tmp_path / "folder", tmp_path / "traces"
    folder.mkdir()
    (folder / ".metadata").write_bytes(pickle.dumps(Code(traces)))
    with pytest.raises(AssertionError, match="metadata is None"):
        run_all([(load_state, str(folder))])
    assert traces.exists()


def test_loading_runs_code_of_an_entry_that_is_no_tensor(tmp_path):
    run_all([(save_code, str(tmp_path / "code"), str(tmp_path / "traces"))])
    assert not (tmp_path / "traces").exists()
    run_all([(load_state, str(tmp_path / "code"))])
    assert (tmp_path / "traces").exists()


class Randomness:
    """This rank's random numbers, as a Stateful: dcp asks it for its state, and hands that back."""

    def __init__(self, name):
        self.name = name

    def state_dict(self):
        return {self.name: torch.get_rng_state()}

    def load_state_dict(self, state):
        torch.set_rng_state(state[self.name])


def drawn_again(rank, world_size, folder, name):
    """Tell whether this rank draws the same numbers after a load, its state being saved under `name`."""
    state = {"random": Randomness(name.format(rank=rank))}
    torch.manual_seed(rank)
    dcp.save(state, checkpoint_id=folder)
    wanted = torch.rand(3)
    torch.manual_seed(99)
    dcp.load(state, checkpoint_id=folder)
    return torch.equal(torch.rand(3), wanted)


@pytest.mark.parametrize(("name", "right"), [("rank {rank}", 3), ("one for all", 1)])
def test_random_states_need_a_name_for_each_rank(name, right, tmp_path):
    assert run_ranks(3, drawn_again, str(tmp_path / "random"), name).count(True) == right
