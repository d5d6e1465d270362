"""Cases of a test that only `--all` runs."""

import pytest


def slow(*values: object, **more: object):
    """Return the values as a case that is a longer form of what a quicker one covers."""
    return pytest.param(*values, marks=pytest.mark.slow, **more)


def slow_but(quick: list, cases: list) -> list:
    """Return the cases, tuples or single values, as slow ones, but for those in `quick`."""
    assert all(case in cases for case in quick), "a case that is to be quick is not there"

    def values(case: object) -> tuple:
        return case if isinstance(case, tuple) else (case,)

    return [pytest.param(*values(case)) if case in quick else slow(*values(case)) for case in cases]
