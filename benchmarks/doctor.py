"""What the doctor takes: scripts that run alone and under it, in turns, all in one run of this program."""

import argparse
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[1]
SCRIPTS = {  # what is trained, and how it is called
    "linear": ["lesson4_ddp.py", "--samples", "40000", "--epochs", "2"],
    "cnn": ["lesson4_ddp.py", "--model", "cnn", "--samples", "3000", "--epochs", "2"],
    "resumed": ["lesson6_score_and_resume.py", "--samples", "40000", "--epochs", "2"],
}
TRAINED = re.compile(r"trained in ([\d.]+) s")
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node"]
DOCTOR = [sys.executable, "-m", "ddp_lessons.doctor", "--show-output", "--ranks"]


def main() -> None:
    """Measure each script; print a line for each."""
    options = argparse.ArgumentParser(usage=argparse.SUPPRESS, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    options.add_argument("--times", type=int, default=3, help="how often each is run, alone and under the doctor")
    args = options.parse_args()
    if args.times < 1:
        options.error("--times is a number from 1")
    for name, command in SCRIPTS.items():
        pairs = [(seconds(TORCHRUN, command), seconds(DOCTOR, command)) for _ in range(args.times)]
        epoch, whole = (median(under[i] / alone[i] for alone, under in pairs) for i in range(2))
        most = max(under[0] / alone[0] for alone, under in pairs)
        print(f"{name}: an epoch takes {epoch:.2f} times its own time (at most {most:.2f}), the run {whole:.2f}")


def seconds(starter: list[str], command: list[str]) -> tuple[float, float]:
    """Return the seconds of the last epoch's training, and those of the whole run."""
    script, *options = command
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        whole = [*starter, "2", ROOT / "scripts" / script, "--data", ROOT / "data", *options]
        ended = subprocess.run(whole, cwd=folder, check=True, capture_output=True, text=True, timeout=600)
    return float(TRAINED.findall(ended.stdout)[-1]), time.perf_counter() - start


if __name__ == "__main__":
    main()
