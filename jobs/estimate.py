"""What a backfill would cost, from what the same assets measured before: documents, tokens, hours, money.

A partition that was made before counts with its own numbers, another with the mean over its asset's partitions, and an
asset that never ran with nothing, which the estimate says.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from corpusmill.settings import PriceSettings
from jobs.asset_graph import UNPARTITIONED
from jobs.graphql import Instance

HISTORY = """
query History($key: AssetKeyInput!, $latest: Boolean!) { assetNodeOrError(assetKey: $key) { ... on AssetNode {
    latestMaterializationByPartition @skip(if: $latest) { ...Numbers }
    assetMaterializations(limit: 1) @include(if: $latest) { ...Numbers }
} } }
fragment Numbers on MaterializationEvent { partition metadataEntries {
    label ... on IntMetadataEntry { intValue } ... on FloatMetadataEntry { floatValue }
} }
"""
LABELS: Mapping[str, tuple[str, ...]] = {
    "documents": ("rows_in",),
    "tokens": ("tokens", "tokens_estimated"),
    "cpu_seconds": ("work_seconds", "seconds"),
    "device_seconds": ("device_seconds",),
}
"""The metadata that each figure is read from; the first that is there counts."""


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Sums over partitions."""

    documents: float = 0.0
    tokens: float = 0.0
    cpu_seconds: float = 0.0
    device_seconds: float = 0.0

    def __add__(self, other: "Figures") -> "Figures":
        return Figures(**{name: getattr(self, name) + getattr(other, name) for name in LABELS})

    def money(self, prices: PriceSettings) -> float:
        return (self.cpu_seconds * prices.cpu_hour + self.device_seconds * prices.device_hour) / 3600


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """What one asset's partitions would take; `figures` is None where the asset never ran."""

    figures: Figures | None
    num_known: int
    """How many of the partitions were made before."""


def read_history(instance: Instance, key: str, *, is_partitioned: bool) -> dict[str, Figures]:
    """Ask for the figures of every partition's last materialization."""
    answer = instance.ask(HISTORY, key={"path": key.split("/")}, latest=not is_partitioned)["assetNodeOrError"]
    events = answer.get("latestMaterializationByPartition") or answer.get("assetMaterializations") or []
    return {event["partition"] or UNPARTITIONED: _figures(event["metadataEntries"]) for event in events if event}


def estimate(history: Mapping[str, Figures], partitions: tuple[str, ...]) -> Estimate:
    """Return what making `partitions` of an asset with this history would take."""
    if not history or not partitions:
        return Estimate(figures=None if partitions else Figures(), num_known=0)
    mean = Figures(**{name: fmean(getattr(one, name) for one in history.values()) for name in LABELS})
    total = sum((history.get(name, mean) for name in partitions), Figures())
    return Estimate(figures=total, num_known=sum(name in history for name in partitions))


def _figures(entries: list[dict[str, Any]]) -> Figures:
    numbers = {entry["label"]: entry.get("intValue", entry.get("floatValue")) for entry in entries}
    known = {label: float(number) for label, number in numbers.items() if number is not None}
    first = {name: next((known[label] for label in labels if label in known), 0.0) for name, labels in LABELS.items()}
    return Figures(**first)
