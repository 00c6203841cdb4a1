"""Rewritten programs are run: the original's doctests decide."""

import pytest

from corpusmill.tasks.behaviour import check_behaviour

DOUBLE = '''def double(x):
    """
    >>> double(2)
    4
    """
    return 2 * x
'''


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        (DOUBLE, DOUBLE.replace("2 * x", "x + x"), None),
        (DOUBLE, DOUBLE.replace("2 * x", "3 * x"), "behaves_differently"),
        (DOUBLE, DOUBLE.replace("2 * x", "undefined"), "behaves_differently"),
        (DOUBLE, "def other():\n    pass\n", "behaves_differently"),
        (DOUBLE, "def broken(:\n", "behaves_differently"),
        (DOUBLE.replace("    4\n", "    5\n"), DOUBLE, "baseline_fails"),
        ("import nowhere\n" + DOUBLE, DOUBLE, "baseline_fails"),
        ("x = 1\n", "x = 2\n", None),
    ],
)
def test_behaviour(before: str, after: str, reason: str | None) -> None:
    assert check_behaviour([before], [after]) == [reason]
