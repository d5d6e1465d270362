"""Cases of a test that only `--all` runs."""

import pytest


def slow(*values: object, **more: object):
    """Return the values as a case that is a longer form of what a quicker one covers."""
    return pytest.param(*values, marks=pytest.mark.slow, **more)
