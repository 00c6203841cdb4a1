"""The curated stage of one dataset: six tables from records to documents, and two more for what a dataset asks for."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import dagster as dg

from assets.asset import lake_asset
from assets.partitions import snapshots
from corpusmill.curate.contamination_rules import ContaminationPolicy, ContaminationRules
from corpusmill.curate.quality_rules import classifier_names

ITEMS = ("curated", "benchmarks", "items")
URL_ENTRIES = ("curated", "url_lists", "entries")

DESCRIPTIONS = {
    "extracted": "The text of every record, once. A record that gave no text stays, with its failure.",
    "verdicts": "One row a document: every measured statistic, the edits to apply, and the first reason to drop it.",
    "signatures": "MinHash signatures of the documents that no rule dropped.",
    "resolution": "Sees all snapshots. One row a removed document: the kept document of better rank that it duplicates, "
    "with their exact Jaccard. Oldest first, so earlier decisions do not change.",
    "duplicates": "The removals of one snapshot, behind a guard: the partition fails when a source loses too much.",
    "contamination": "One row an item of a benchmark in a document: the span of characters where it stands, and how it was "
    "found.",
    "urls": "One row a document: its canonical URL, and the list or the earlier page that takes it away.",
    "documents": "What nothing dropped, edits applied: the dataset that everything later reads.",
}


@dataclass(frozen=True, kw_only=True)
class _Removal:
    """A table that takes documents away because their dataset asks for it."""

    lists: tuple[str, str, str]
    """What documents are held against."""
    parameters: Mapping[str, Any]
    policy: Mapping[str, Any]
    """What the documents task does with it."""


def curated_assets(
    dataset: str,
    *,
    extract: Mapping[str, Any],
    judge: Mapping[str, Any],
    dedup: Mapping[str, Any],
    max_removed_share: float,
    contamination: Mapping[str, Any] | None = None,
    urls: Mapping[str, Any] | None = None,
) -> list[dg.AssetsDefinition]:
    """Return curated/<dataset>/extracted, verdicts, signatures, resolution, duplicates and documents.

    `extract`, `judge` and `dedup` are the parameters of corpusmill.curate and corpusmill.dedup: policy stands here.
    `contamination` (fields of ContaminationPolicy, and those of ContaminationRules under `rules`) and `urls` (parameters
    of corpusmill.tasks.urls) add the table of that name, of which documents then lose what it found; an empty one takes
    all defaults. These two read the tables of `assets.curation_lists`.
    """
    records = ("sources", dataset, "records")
    key = {table: ("curated", dataset, table) for table in DESCRIPTIONS}
    classifiers = [("curated", name, "classifier") for name in classifier_names(judge)]
    removals = _removals(contamination, urls)
    steps: list[tuple[str, str, list[tuple[str, str, str]], Mapping[str, Any]]] = [
        ("extracted", "extract", [records], extract),
        ("verdicts", "judge", [key["extracted"], *classifiers], judge),
        ("signatures", "sign", [key["extracted"], key["verdicts"]], dedup),
        ("resolution", "resolve", [key["signatures"], key["extracted"]], dedup),
        ("duplicates", "duplicates", [key["signatures"], key["resolution"]], {"max_removed_share": max_removed_share}),
        *((table, table, [key["extracted"], it.lists], it.parameters) for table, it in removals.items()),
        (
            "documents",
            "documents",
            [key[table] for table in ("extracted", "verdicts", "duplicates", *removals)],
            {table: it.policy for table, it in removals.items()},
        ),
    ]
    return [
        lake_asset(
            key[table],
            task=task,
            description=DESCRIPTIONS[table],
            deps=deps,
            partitions_def=None if table == "resolution" else snapshots(dataset),
            parameters=parameters,
        )
        for table, task, deps, parameters in steps
    ]


def _removals(contamination: Mapping[str, Any] | None, urls: Mapping[str, Any] | None) -> dict[str, _Removal]:
    """Return what is asked for by table. Raises ValueError for a policy or rules that cannot be."""
    found = {}
    if contamination is not None:
        rules = contamination.get("rules", {})
        policy = {name: value for name, value in contamination.items() if name != "rules"}
        ContaminationRules.from_json(rules)
        ContaminationPolicy.from_json(policy)
        found["contamination"] = _Removal(lists=ITEMS, parameters={"rules": dict(rules)}, policy=policy)
    if urls is not None:
        found["urls"] = _Removal(lists=URL_ENTRIES, parameters=urls, policy={})
    return found
