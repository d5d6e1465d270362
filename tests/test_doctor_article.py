"""The article's second program, launched as the article launches it: the doctor finds what is so, and nothing else."""

import json
import sys

from commands import run

from ddp_lessons.workbench.scripts import ROOT

SCRIPT = ROOT / "benchmarks" / "article_ddp.py"
LINES = {  # what is to be found, and where
    "DDP202": "train(model, train_loader, criterion, optimizer",
    "DDP503": "torch.save(model.state_dict(), args.save)",
    "DDP601": 'dist.init_process_group("gloo")',
    "DDP605": 'options.add_argument("--local_rank"',
}


def line(words: str) -> int:
    """Return the line of the script that has some words in it."""
    (found,) = [number for number, text in enumerate(SCRIPT.read_text().splitlines(), 1) if words in text]
    return found


def test_it_hears_what_is_so(tmp_path):
    launcher = f"-m torch.distributed.launch --nproc_per_node=2 {SCRIPT}".split()
    options = ["--data", ROOT / "data", "--samples", 320, "--epochs", 2]
    ended = run([sys.executable, "-m", "ddp_lessons.doctor", "--json", *launcher], *options, folder=tmp_path)
    report = json.loads(ended.stdout)
    found = [(one["code"], one["line"]) for one in report["findings"] if one["grade"] != "note"]
    assert sorted(found) == sorted((code, line(words)) for code, words in LINES.items())
    assert (report["ranks"], report["steps"], report["failed"], ended.returncode) == (2, 10, None, 1)
    texts = {one["code"]: one["text"] for one in report["findings"]}
    assert "160 samples in the same order" in texts["DDP202"]
    assert "module.fc.weight" in texts["DDP503"]
    assert "every rank ended with the process group open" in texts["DDP601"]
    assert "--local_rank" in texts["DDP605"]
    assert (tmp_path / "ddp_model.pth").exists()
