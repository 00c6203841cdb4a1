"""The mill: one socket that turns Corpusmill's settings into what a task gets.

The settings are shown in Dagster's resource page, section by section. Credentials are not among them: they come from the
environment of whoever runs the task.
"""

from collections.abc import Mapping
from typing import Any

import dagster as dg

from corpusmill.lake.store import Store
from corpusmill.settings import Settings


class MillResource(dg.ConfigurableResource):
    """Lake, sources, engines and prices, as `corpusmill.settings.Settings` spells them in JSON."""

    lake: dict[str, Any]
    sources: dict[str, Any]
    spark: dict[str, Any]
    inference: dict[str, Any]
    prices: dict[str, Any]
    state_folder: str
    launcher: str
    dagster_profile: str

    @classmethod
    def of(cls, settings: Settings) -> "MillResource":
        return cls(**_without_nulls(settings.to_json()))

    def settings(self) -> Settings:
        return Settings.from_json(self.settings_json())

    def source_store(self, dataset: str) -> Store:
        return self.settings().source_store(dataset)

    def settings_json(self) -> dict[str, Any]:
        names = ("lake", "sources", "spark", "inference", "prices", "state_folder", "launcher", "dagster_profile")
        return {name: getattr(self, name) for name in names}

    def arguments(
        self, *, dataset: str, partition: str, parameters: Mapping[str, Any], again: bool = False
    ) -> dict[str, Any]:
        """Return the JSON arguments of a task on one partition; `again` makes anew what is current."""
        return {
            "settings": self.settings_json(),
            "dataset": dataset,
            "partition": partition,
            "parameters": dict(parameters),
            "again": again,
        }


def _without_nulls(value: Any) -> Any:
    """Return JSON without null members, which Dagster's configuration cannot hold; a missing setting is its default."""
    if isinstance(value, dict):
        return {name: _without_nulls(item) for name, item in value.items() if item is not None}
    return value
