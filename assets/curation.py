"""The curated stage of one dataset: six tables from records to documents."""

from collections.abc import Mapping
from typing import Any

import dagster as dg

from assets.asset import lake_asset
from assets.partitions import snapshots

DESCRIPTIONS = {
    "extracted": "The text of every record, once. A record that gave no text stays, with its failure.",
    "verdicts": "One row a document: every measured statistic, the edits to apply, and the first reason to drop it.",
    "signatures": "MinHash signatures of the documents that no rule dropped.",
    "resolution": "Sees all snapshots. One row a removed document: the kept document of better rank that it duplicates, "
    "with their exact Jaccard. Oldest first, so earlier decisions do not change.",
    "duplicates": "The removals of one snapshot, behind a guard: the partition fails when a source loses too much.",
    "documents": "What nothing dropped, edits applied: the dataset that everything later reads.",
}


def curated_assets(
    dataset: str,
    *,
    extract: Mapping[str, Any],
    judge: Mapping[str, Any],
    dedup: Mapping[str, Any],
    max_removed_share: float,
) -> list[dg.AssetsDefinition]:
    """Return curated/<dataset>/extracted, verdicts, signatures, resolution, duplicates and documents.

    `extract`, `judge` and `dedup` are the parameters of corpusmill.curate and corpusmill.dedup: policy stands here.
    """
    records = ("sources", dataset, "records")
    key = {table: ("curated", dataset, table) for table in DESCRIPTIONS}
    steps = [
        ("extracted", "extract", [records], extract),
        ("verdicts", "judge", [key["extracted"]], judge),
        ("signatures", "sign", [key["extracted"], key["verdicts"]], dedup),
        ("resolution", "resolve", [key["signatures"], key["extracted"]], dedup),
        ("duplicates", "duplicates", [key["signatures"], key["resolution"]], {"max_removed_share": max_removed_share}),
        ("documents", "documents", [key["extracted"], key["verdicts"], key["duplicates"]], {}),
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
