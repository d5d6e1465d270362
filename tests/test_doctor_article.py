"""The article's second program, launched as the article launches it: the doctor finds what is so, and nothing else."""

import json
import sys
from pathlib import Path

import pytest
from commands import run

from ddp_lessons.workbench.scripts import ROOT

SCRIPT, LOOP = (ROOT / "benchmarks" / f"article_{name}.py" for name in ("ddp", "single"))  # one imports the other
PLACES = {  # what is to be found, and where
    "DDP202": (LOOP, "    for images, labels in loader:\n        optimizer"),
    "DDP503": (SCRIPT, "        torch.save(model.state_dict(), args.save)"),
    "DDP601": (SCRIPT, '        dist.init_process_group("gloo")'),
    "DDP605": (SCRIPT, '    options.add_argument("--local_rank"'),
}


def line(path: Path, words: str) -> int:
    """Return the line of a file that begins with some words."""
    before, found, _ = path.read_text().partition(f"\n{words}")
    assert found
    return before.count("\n") + 2


@pytest.mark.slow
def test_it_hears_what_is_so(tmp_path):
    launcher = f"-m torch.distributed.launch --nproc_per_node=2 {SCRIPT}".split()
    options = ["--data", ROOT / "data", "--samples", 320, "--epochs", 2]
    ended = run([sys.executable, "-m", "ddp_lessons.doctor", "--json", *launcher], *options, folder=tmp_path)
    report = json.loads(ended.stdout)
    found = [(one["code"], one["file"], one["line"]) for one in report["findings"] if one["grade"] != "note"]
    assert sorted(found) == sorted((code, str(path), line(path, words)) for code, (path, words) in PLACES.items())
    assert (report["ranks"], report["steps"], report["failed"], ended.returncode) == (2, 10, None, 1)
    texts = {one["code"]: one["text"] for one in report["findings"]}
    assert "160 samples in the same order" in texts["DDP202"]
    assert "module.fc.weight" in texts["DDP503"]
    assert "every rank ended without leaving the process group" in texts["DDP601"]
    assert "--local_rank" in texts["DDP605"]
    assert (tmp_path / "ddp_model.pth").exists()
