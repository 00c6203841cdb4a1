"""What synthesized documents cost: tokens, device time and price, of all that was asked and of each accepted token.

Accepted tokens are the completion tokens of the answers behind accepted documents, so that a recipe with many steps, or one
whose answers are mostly rejected, pays for all it asked. Device time is that of all answers of the partition, whichever run
asked them.
"""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.settings import PriceSettings

HOUR_SECONDS = 3600
PRICED_TOKENS = 1_000_000


def device_metrics(completions: pa.Table) -> dict[str, float]:
    """Return device hours and output tokens a device second of COMPLETIONS, where they were measured."""
    timed = completions.filter(pc.is_valid(completions["device_seconds"]))
    seconds = _sum(timed, "device_seconds")
    if not seconds:
        return {}
    return {
        "device_hours": round(seconds / HOUR_SECONDS, 6),
        "tokens_per_device_second": round(_sum(timed, "completion_tokens") / seconds, 2),
    }


def acceptance_costs(completions: pa.Table, *, accepted_tokens: int, prices: PriceSettings) -> dict[str, float]:
    """Return the cost of a partition's documents; per accepted token where there are any, a price where one is set."""
    seconds = _sum(completions, "device_seconds")
    spent = {
        "prompt_tokens": int(_sum(completions, "prompt_tokens")),
        "completion_tokens": int(_sum(completions, "completion_tokens")),
        "accepted_tokens": accepted_tokens,
        **device_metrics(completions),
    }
    if not seconds or not accepted_tokens:
        return spent
    spent["accepted_tokens_per_device_hour"] = round(accepted_tokens / seconds * HOUR_SECONDS, 1)
    spent["device_seconds_per_accepted_token"] = round(seconds / accepted_tokens, 6)
    if prices.device_hour:
        cost = seconds / HOUR_SECONDS * prices.device_hour
        spent["cost_per_million_accepted_tokens"] = round(cost / accepted_tokens * PRICED_TOKENS, 4)
    return spent


def cost_rows(costs: Mapping[str, float], prices: PriceSettings) -> list[dict[str, Any]]:
    """Return the costs of one partition as a small table."""
    units = {"cost_per_million_accepted_tokens": f" ({prices.currency})"}
    return [{"cost of accepted": f"{name}{units.get(name, '')}", "value": value} for name, value in costs.items()]


def _sum(table: pa.Table, column: str) -> float:
    return float(pc.sum(table[column]).as_py() or 0)
