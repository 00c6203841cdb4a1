"""The real prompts of recipes, for measuring engines: a sample of what they ask, from the newest snapshot backwards."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.fingerprint import fingerprint
from corpusmill.lake.errors import PartitionMissingError
from corpusmill.synthesize.recipe import Recipe
from corpusmill.synthesize.requests import render
from corpusmill.tasks import requests as requests_task
from corpusmill.tasks.seeds import SeedReader
from corpusmill.tasks.task import Job


@dataclass(frozen=True, kw_only=True)
class RecipePrompts:
    """One recipe of a synthesized dataset."""

    dataset: str
    seeds: str
    variant: str
    """Style or language."""
    recipe: Mapping[str, Any]

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        return cls(**value)

    @property
    def table(self) -> str:
        return requests_task.table(self.dataset)

    @property
    def name(self) -> str:
        return f"{self.table} of {self.variant}"

    def partitions(self, job: Job) -> list[str]:
        """Return the partitions of the variant, the newest snapshot first; raises PartitionMissingError without any."""
        names = [name for name in job.lake.partitions(self.table) if self.variant in name.split("|")]
        if not names:
            raise PartitionMissingError(
                f"engines are tuned on real prompts, and {self.table} has none for {self.variant} yet: run "
                f"`corpusmill materialize --assets {self.table} --partition '<snapshot>|{self.variant}'` first"
            )
        return sorted(names, key=lambda name: [part for part in name.split("|") if part != self.variant], reverse=True)

    def version(self, job: Job) -> str:
        """Return what names the prompts' content."""
        hashes = [job.upstream(self.table, partition) for partition in self.partitions(job)]
        return fingerprint([*hashes, Recipe.from_json(self.recipe).version])

    def rendered(self, job: Job, num_requests: int) -> list[dict[str, Any]]:
        """Return up to so many different requests (see `render`): of a snapshot an even sample."""
        found: dict[str, dict[str, Any]] = {}
        for partition in self.partitions(job):
            if len(found) < num_requests:
                requests = job.lake.read(self.table, partitions=[partition])
                found |= {one["request_id"]: one for one in self._render(job, requests, num_requests)}
        return list(found.values())[:num_requests]

    def _render(self, job: Job, requests: pa.Table, num_requests: int) -> list[dict[str, Any]]:
        """Return the requests with the lowest ids, which say nothing about what is asked."""
        ids = sorted(set(requests["request_id"].to_pylist()))[:num_requests]
        ours = requests.filter(pc.is_in(requests["request_id"], value_set=pa.array(ids, pa.string())))
        if not len(ours):
            return []
        return render(ours, SeedReader(job.lake.store, ours).seeds(ours), Recipe.from_json(self.recipe))


def sampled_groups(job: Job, prompts: Sequence[RecipePrompts], *, num_requests: int) -> list[dict[str, Any]]:
    """Return `num_requests` requests in turn over all recipes, grouped by sampling: `{"sampling", "requests"}`.

    Raises ValueError where the recipes have no request at all; a smaller partition gives what it has.
    """
    found = [one.rendered(job, num_requests) for one in prompts]
    in_turn = [
        (number, request)
        for row in itertools.zip_longest(*found)
        for number, request in enumerate(row)
        if request is not None
    ][:num_requests]
    if not in_turn:
        raise ValueError(f"there is nothing to ask: {', '.join(one.name for one in prompts)} have no request")
    groups: dict[tuple[int, str], dict[str, Any]] = {}
    for number, request in sorted(in_turn, key=lambda pair: pair[0]):
        asked = dict(request)
        sampling = asked.pop("sampling")
        group = groups.setdefault((number, fingerprint(sampling)), {"sampling": sampling, "requests": []})
        group["requests"].append(asked)
    return list(groups.values())
