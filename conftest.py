"""Tests and notebooks see no GPU, so that they print the same on every machine; tests marked `gpu` get one back."""

import os

import pytest

NAME = "CUDA_VISIBLE_DEVICES"
first_gpu = os.environ.get(NAME, "0").split(",")[0]
os.environ[NAME] = ""  # before anything imports torch; the kernels that nbval starts inherit it


def pytest_configure(config: pytest.Config) -> None:
    """Let nbval find its sanitize file from any folder: it takes the path as relative to where pytest was started."""
    path = config.option.nbval_sanitize_with
    if path and not os.path.exists(path):
        config.option.nbval_sanitize_with = str(config.rootpath / path)


@pytest.fixture
def environment_with_gpu() -> dict[str, str]:
    """The environment with the first of the GPUs that were hidden; there may be none."""
    return os.environ | {NAME: first_gpu}
