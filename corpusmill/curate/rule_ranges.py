"""Whether thresholds lie where their statistic can be, and leave anything to keep."""

import re
from collections.abc import Mapping
from typing import Any

_SHARE = re.compile(r"_(?:share|shares|score)$")


def check_ranges(rules: Mapping[str, Any], *, of: str = "") -> None:
    """Raise ValueError for a threshold beyond its statistic's range, and for a least above a most: both judge all texts alike.

    `of` says in messages whose rules they are. An infinite most sets no threshold.
    """
    for name, value in rules.items():
        for number in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(number, (int, float)) and not isinstance(number, bool):
                _check_range(name, number, of)
    for name, least in rules.items():
        most = rules.get(f"max_{name.removeprefix('min_')}") if name.startswith("min_") else None
        if most is not None and least is not None and least > most:
            raise ValueError(
                f"the rule {name}{of} is {least} and max_{name.removeprefix('min_')} {most}: no text has both"
            )


def _check_range(name: str, number: float, of: str) -> None:
    if number < 0:
        raise ValueError(f"the rule {name}{of} must be 0 or more, got {number}")
    if _SHARE.search(name) and number > 1 and number != float("inf"):
        percent = f"; {number:g} % is {number / 100:g}" if number <= 100 else ""
        raise ValueError(f"the rule {name}{of} must be from 0 to 1, got {number}{percent}")
