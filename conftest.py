"""Which tests run, and what they see: no GPU, so that they print the same on every machine; those marked `gpu` get one.

Tests marked `slow` run only with `--all`: longer forms of what the short run covers in small.
"""

import os

import pytest

from ddp_lessons.workbench.mnist import mend_mnist
from ddp_lessons.workbench.scripts import ROOT

NAME = "CUDA_VISIBLE_DEVICES"
first_gpu = os.environ.get(NAME, "0").split(",")[0]
os.environ[NAME] = ""  # before anything imports torch; the kernels that nbval starts inherit it


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--all`."""
    parser.addoption("--all", action="store_true", help="run the tests marked slow as well")


def pytest_sessionstart(session: pytest.Session) -> None:
    """Have MNIST whole and unpacked before several processes read it at once: in a fresh clone it is not."""
    mend_mnist(ROOT / "data")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the slow tests out, unless they are asked for; several processes begin with what takes longest."""
    if not config.option.all:
        slow = [item for item in items if item.get_closest_marker("slow")]
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if not item.get_closest_marker("slow")]
    if hasattr(config, "workerinput"):  # one of several; it must not be left with a long file when the others are done
        notebooks = [item for item in items if item.path.suffix == ".ipynb"]
        notebooks.sort(key=lambda item: item.path, reverse=True)  # the last lessons are the longest
        items[:] = notebooks + [item for item in items if item.path.suffix != ".ipynb"]


def pytest_configure(config: pytest.Config) -> None:
    """Let nbval find its sanitize file from any folder: it takes the path as relative to where pytest was started."""
    path = config.option.nbval_sanitize_with
    if path and not os.path.exists(path):
        config.option.nbval_sanitize_with = str(config.rootpath / path)


@pytest.fixture
def environment_with_gpu() -> dict[str, str]:
    """The environment with the first of the GPUs that were hidden; there may be none."""
    return os.environ | {NAME: first_gpu}
