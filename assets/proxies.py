"""Proxy runs of a mixture: which small models to train, and the weights that their scores speak for.

No part of the whole way: a design is made once, somebody trains the proxies, and what came of them is a source.
"""

from collections.abc import Mapping
from typing import Any

import dagster as dg

from assets.asset import lake_asset
from corpusmill.mix.mixture import Mixture
from corpusmill.mix.optimise import Wish
from corpusmill.mix.proxies import ProxyColumns
from corpusmill.mix.proxy_design import ProxyDesign


def proxy_assets(
    name: str,
    *,
    design: ProxyDesign,
    wish: Wish,
    mixture: Mixture | None = None,
    budget_tokens: int | None = None,
    columns: ProxyColumns | None = None,
    files: tuple[str, str] = ("weights.csv", "scores.csv"),
) -> list[dg.AssetsDefinition]:
    """Return trained/<name>/design and proposal; `files` are those of weights and of scores below [sources.<name>].

    With a budget, what components of `mixture` hold and their epoch caps bound the weights.
    """
    if budget_tokens is not None and mixture is None:
        raise ValueError(f"{name}: budget_tokens needs the mixture whose components hold the tokens")
    tables = {} if mixture is None or budget_tokens is None else {it.name: it.table for it in mixture.components}
    return [
        lake_asset(
            ("trained", name, "design"),
            task="proxy_design",
            description="Which mixtures to train proxy models on: Dirichlet draws in an L1 ball around today's weights.",
            deps=[],
            partitions_def=None,
            parameters={"design": design.to_json()},
        ),
        lake_asset(
            ("trained", name, "proposal"),
            task="proposal",
            description="Weights that the proxies' scores speak for, with what every capability gains and loses by them.",
            deps=[table.split("/") for table in sorted(set(tables.values()))],
            partitions_def=None,
            parameters=_parameters(wish, tables, budget_tokens, columns or ProxyColumns(), files),
        ),
    ]


def component_weights(mixture: Mixture) -> dict[str, float]:
    """Return the weights of a mixture's components, as a prior; ValueError where groups or fixed tokens part them."""
    weights = {component.name: component.weight for component in mixture.components}
    odd = [name for name, weight in weights.items() if weight is None]
    if odd or mixture.groups:
        raise ValueError(f"mixture {mixture.name!r}: {', '.join(odd) or 'groups'} have no plain weights; name a prior")
    return {name: weight for name, weight in weights.items() if weight is not None}


def _parameters(
    wish: Wish,
    tables: Mapping[str, str],
    budget_tokens: int | None,
    columns: ProxyColumns,
    files: tuple[str, str],
) -> dict[str, Any]:
    weights_file, scores_file = files
    return {
        "weights_file": weights_file,
        "scores_file": scores_file,
        "columns": columns.to_json(),
        "wish": wish.to_json(),
        "budget_tokens": budget_tokens,
        "tables": dict(tables),
    }
