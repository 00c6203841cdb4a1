"""What proxy runs gave: weights of the components that each was trained on, and its score a capability.

Two tables joined by a column that names the run, as RegMix publishes them (`train_mixture_1m.csv` beside
`train_pile_loss_1m.csv`); weights rounded to three digits are scaled to sum to 1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.mix.simplex import FloatArray

MAX_ROUNDING = 0.02
"""How far from 1 the weights of a run may sum: 40 components rounded to three digits."""
_SHOWN = 3


@dataclass(frozen=True, kw_only=True)
class ProxyColumns:
    """How the columns of two tables name runs, components and capabilities."""

    run: str = "index"
    weight_prefix: str = ""
    """Before a component's name: RegMix has `train_the_pile_`."""
    score_prefix: str = ""
    score_suffix: str = ""
    """Around a capability's name: RegMix has `metric/the_pile_` and `_val_loss`. Other columns are not read."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class Proxies:
    """N runs over C components with scores in K capabilities."""

    components: tuple[str, ...]
    capabilities: tuple[str, ...]
    weights_NC: FloatArray
    scores_NK: FloatArray

    def __len__(self) -> int:
        return len(self.weights_NC)


def proxies_from_tables(
    weights: pa.Table, scores: pa.Table, *, components: Sequence[str] | None = None, columns: ProxyColumns
) -> Proxies:
    """Return the runs that both tables have, in the order of `weights`; `components` are all that must be there, and no more.

    Raises ValueError that names a missing column, a run in one table only or twice, and weights or scores that are no numbers.
    """
    found = _named(weights, columns.run, columns.weight_prefix, "")
    if components is not None and set(found) != set(components):
        raise ValueError(
            f"wanted weights of {', '.join(components)}, got columns of {', '.join(found) or 'none'}; "
            f"they are named {columns.weight_prefix!r} + component"
        )
    names = tuple(found if components is None else components)
    capabilities = _named(scores, columns.run, columns.score_prefix, columns.score_suffix)
    if not capabilities or not names:
        raise ValueError(
            f"wanted columns {columns.weight_prefix}<component> of weights and "
            f"{columns.score_prefix}<capability>{columns.score_suffix} of scores, got {', '.join(weights.column_names[:8])} "
            f"and {', '.join(scores.column_names[:8])}"
        )
    runs = _runs(weights, columns.run, "weights")
    place = {run: number for number, run in enumerate(_runs(scores, columns.run, "scores"))}
    apart = sorted(set(runs) ^ set(place))
    if apart:
        raise ValueError(f"{len(apart)} runs are in one table only, such as {', '.join(apart[:_SHOWN])}")
    return Proxies(
        components=names,
        capabilities=tuple(capabilities),
        weights_NC=_shares(_numbers(weights, [found[name] for name in names]), runs),
        scores_NK=_numbers(scores, list(capabilities.values()))[[place[run] for run in runs]],
    )


def _named(table: pa.Table, run: str, prefix: str, suffix: str) -> Mapping[str, str]:
    """Return the columns that are named prefix + name + suffix, by name."""
    if run not in table.column_names:
        raise ValueError(f"no column {run!r} names the runs; there are {', '.join(table.column_names[:8])}")
    fitting = [name for name in table.column_names if name != run and name.startswith(prefix) and name.endswith(suffix)]
    return {name.removeprefix(prefix).removesuffix(suffix): name for name in fitting}


def _runs(table: pa.Table, run: str, what: str) -> list[str]:
    runs = [str(name) for name in table[run].to_pylist()]
    twice = sorted({name for name in runs if runs.count(name) > 1}) if len(set(runs)) < len(runs) else []
    if twice:
        raise ValueError(f"{what} has runs more than once: {', '.join(twice[:_SHOWN])}")
    return runs


def _numbers(table: pa.Table, names: Sequence[str]) -> FloatArray:
    numbers = []
    for name in names:
        try:
            column = pc.cast(table[name], pa.float64()).to_numpy()
        except pa.ArrowInvalid as error:
            raise ValueError(f"column {name!r} holds no numbers: {error}") from error
        bad = np.flatnonzero(~np.isfinite(column))
        if len(bad):
            raise ValueError(
                f"column {name!r} is empty or not finite in {len(bad)} rows, the first is row {bad[0] + 1}"
            )
        numbers.append(column)
    return np.stack(numbers, axis=1)


def _shares(weights_NC: FloatArray, runs: Sequence[str]) -> FloatArray:
    totals = weights_NC.sum(axis=1)
    bad = np.flatnonzero((np.abs(totals - 1) > MAX_ROUNDING) | (weights_NC.min(axis=1) < 0))
    if len(bad):
        raise ValueError(
            f"the weights of a run must not be negative and sum to 1, give or take {MAX_ROUNDING}; run {runs[bad[0]]} has "
            f"{weights_NC[bad[0]].min():.4g} at least and sums to {totals[bad[0]]:.4g} ({len(bad)} runs are wrong)"
        )
    return np.asarray(weights_NC / totals[:, None])
