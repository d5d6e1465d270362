"""The article's second program, launched as the article launches it: the doctor finds what is so, and nothing else."""

import json
import subprocess
import sys

from examined import PATIENTS, expected

from ddp_lessons.workbench.scripts import ROOT

SCRIPT = PATIENTS / "article.py"
ORDER = []  # switch on with kind 2: [("DDP202", line("# same order every epoch"))]


def line(comment: str) -> int:
    """Return the line of the script that ends with a comment."""
    return [text.endswith(comment) for text in SCRIPT.read_text().splitlines()].index(True) + 1


def test_it_hears_what_is_so(tmp_path):
    launcher = f"-m torch.distributed.launch --nproc_per_node=2 {SCRIPT}".split()
    options = f"--data {ROOT / 'data'} --samples 320 --epochs 2".split()
    command = [sys.executable, "-m", "ddp_lessons.doctor", "--json", *launcher, *options]
    ran = subprocess.run(command, check=False, cwd=tmp_path, capture_output=True, text=True, timeout=90)
    report = json.loads(ran.stdout)
    found = [(one["code"], one["line"]) for one in report["findings"] if one["grade"] != "note"]
    assert sorted(found) == sorted(expected(SCRIPT) + ORDER)
    assert (report["ranks"], report["steps"], report["failed"], ran.returncode) == (2, 10, None, 1)
    texts = {one["code"]: one["text"] for one in report["findings"]}
    assert "module.fc.weight" in texts["DDP503"]
    assert "every rank ended with the process group open" in texts["DDP601"]
    assert "--local_rank" in texts["DDP605"]
    assert (tmp_path / "ddp_model.pth").exists()
