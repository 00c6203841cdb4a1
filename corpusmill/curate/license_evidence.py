"""One licence per source file from three witnesses: the package's metadata, the licence file nearest above, the file itself.

The strictest witness decides; equally strict ones must all be met. Silence of all three is no permission.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from corpusmill.curate.license_notices import find_notice
from corpusmill.curate.licenses import Strictness, normal_form, strictness, without_vague

LICENSE_FILE = "license_file"
"""Key of a row's `meta` with the expression of the nearest licence file."""
STATISTICS = ("license_strictness", "license_package", "license_file", "license_header", "license_conflict")
"""Columns of `resolve_licenses`: the strictness (`Strictness`) of the answer and of each witness, NaN for one that is silent,
and 1 where witnesses differ in it."""


@dataclass(frozen=True, kw_only=True)
class Licenses:
    """The answer for n source files."""

    expressions: list[str | None]
    """SPDX expressions; None where nothing is known."""
    statistics: dict[str, np.ndarray]
    """n float64 values under each name of STATISTICS."""


def resolve_licenses(texts: pa.Table) -> Licenses:
    """Return the licence of each EXTRACTED row: `license` is what its package declares, `meta` has the licence file's."""
    declared = texts["license"].to_pylist()
    in_file = [dict(meta or []).get(LICENSE_FILE) for meta in texts["meta"].to_pylist()]
    notices = [find_notice(text.as_py() or "") for text in texts["text"]]
    witnesses = list(zip(declared, in_file, notices, strict=True))
    known = {row: _resolved(row) for row in set(witnesses)}
    values = np.array([known[row][1] for row in witnesses], np.float64).reshape(len(witnesses), len(STATISTICS))
    return Licenses(
        expressions=[known[row][0] for row in witnesses],
        statistics={name: values[:, index].copy() for index, name in enumerate(STATISTICS)},
    )


def resolve_license(witnesses: tuple[str | None, ...]) -> str | None:
    """Return the strictest of the expressions, joined by AND where several are equally strict; None when all are None.

    A family without version (`LicenseRef-BSD`) gives way to its member (`BSD-3-Clause`).
    """
    names = [normal_form(name) for name in witnesses if name]
    if not names:
        return None
    worst = max(map(strictness, names))
    strictest = without_vague(name for name in names if strictness(name) == worst)
    return " AND ".join(f"({name})" if " OR " in name and len(strictest) > 1 else name for name in strictest)


def _resolved(witnesses: tuple[str | None, ...]) -> tuple[str | None, tuple[float, ...]]:
    answer = resolve_license(witnesses)
    levels = [_level(name) for name in witnesses]
    heard = [level for level in levels if not np.isnan(level)]
    return answer, (_level(answer), *levels, float(len(set(heard)) > 1))


def _level(expression: str | None) -> float:
    return float(Strictness(strictness(expression))) if expression else np.nan
