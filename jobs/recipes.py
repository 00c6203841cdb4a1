"""Recipes side by side: what each accepted, and what an accepted token of it cost, best first."""

from collections.abc import Mapping
from typing import Any

from corpusmill.lake.tables import Lake
from corpusmill.settings import PriceSettings, Settings
from jobs.inspection import print_rows
from jobs.summary import kept_results

SUMS = ("accepted_tokens", "completion_tokens", "device_hours")


def print_recipes(settings: Settings) -> None:
    """Print a row for every recipe that made documents, ranked by accepted tokens a device hour."""
    lake = Lake(settings.lake)
    rows = recipe_rows(kept_results(lake), settings.prices)
    print_rows(rows, nothing="No recipe has made documents yet: `corpusmill demo` runs some.")


def recipe_rows(results: Mapping[str, Mapping[str, Mapping[str, Any]]], prices: PriceSettings) -> list[dict[str, Any]]:
    """Return a row for every variant of every synthesized dataset, over all its snapshots; what has no time comes last."""
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for table, partitions in results.items():
        stage, dataset, *rest = table.split("/")
        if (stage, rest) == ("synthesized", ["documents"]):
            for result in partitions.values():
                groups.setdefault((dataset, str(result["metrics"].get("recipe", "")) or dataset), []).append(result)
    rows = [_row(recipe, found, prices) for (_, recipe), found in groups.items()]
    return sorted(rows, key=lambda row: (-row["accepted tokens/device hour"], row["recipe"]))


def _row(recipe: str, results: list[Mapping[str, Any]], prices: PriceSettings) -> dict[str, Any]:
    asked = sum(result["counts"]["rows_in"] for result in results)
    accepted = sum(result["counts"]["kept"] for result in results)
    tokens, written, hours = (sum(result["metrics"].get(name, 0) for result in results) for name in SUMS)
    row = {
        "recipe": recipe,
        "partitions": len(results),
        "seeds": asked,
        "accepted": accepted,
        "accept rate": f"{accepted / asked:.1%}" if asked else "",
        "accepted tokens": tokens,
        "of tokens written": f"{tokens / written:.1%}" if written else "",
        "device hours": round(hours, 4),
        "accepted tokens/device hour": round(tokens / hours) if hours else 0,
    }
    if prices.device_hour and tokens:
        row[f"{prices.currency}/million accepted"] = round(hours * prices.device_hour / tokens * 1e6, 2)
    return row
