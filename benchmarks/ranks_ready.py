"""How long a reader waits for `%%ranks`: until the first cell is back, for fresh ranks, and for each small cell.

All is real: a notebook's kernel, the magic, and the ranks. The first wait holds the import of torch.
"""

import argparse
import subprocess
import time
from statistics import median

from jupyter_client.manager import run_kernel


def main() -> None:
    """Measure, and print one line."""
    options = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    options.add_argument("--ranks", type=int, default=2, help="how many")
    options.add_argument("--cells", type=int, default=50, help="small cells, of which the median counts")
    args = options.parse_args()
    with run_kernel(stderr=subprocess.DEVNULL) as notebook:
        seconds(notebook, "%load_ext ddp_lessons")
        ready = seconds(notebook, f"%%ranks {args.ranks}\npass")
        seconds(notebook, "%ranks stop")
        again = seconds(notebook, f"%%ranks {args.ranks}\npass")
        trips = [seconds(notebook, "%%ranks\npass") for _ in range(args.cells)]
    trip = f"a trivial cell comes back in {median(trips) * 1000:.0f} ms (median of {len(trips)})"
    print(f"{args.ranks} ranks ready in {ready:.1f} s, fresh ones after them in {again:.1f} s, {trip}")


def seconds(notebook, cell: str) -> float:
    """Return how long a cell takes, as its notebook sees it."""
    start = time.perf_counter()
    reply = notebook.execute_interactive(cell, timeout=300)["content"]
    assert reply["status"] == "ok", reply
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
