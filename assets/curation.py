"""The curated stage of one dataset: six tables from records to documents, and two more for what a dataset asks for."""

from collections.abc import Mapping
from typing import Any

import dagster as dg

from assets.asset import lake_asset
from assets.partitions import snapshots
from assets.repeated_spans import DESCRIPTIONS as SPAN_DESCRIPTIONS
from assets.repeated_spans import span_steps
from corpusmill.curate.contamination_rules import ContaminationPolicy, ContaminationRules
from corpusmill.curate.quality_rules import classifier_names
from corpusmill.curate.redecide import judge_of
from corpusmill.curate.urls_policy import UrlPolicy
from corpusmill.dedup.statistics import RetentionGuard

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
    "url_versions": "Sees all snapshots. One row a document whose URL another snapshot has a better version of: the newest "
    "or the oldest, as the dataset asks.",
    "urls": "One row a document: its canonical URL, and the list, the earlier page or the better version that takes it away.",
    **SPAN_DESCRIPTIONS,
    "documents": "What nothing dropped, edits applied: the dataset that everything later reads.",
    "validation": "The share of the documents, by hash of their text, that no model trains on; made as documents are.",
}


WHOLE = ("resolution", "url_versions", "span_index")
"""Tables without partitions: they see all snapshots."""

Key = tuple[str, str, str]
Step = tuple[str, str, list[Key], Mapping[str, Any]]
"""Table, task, what it reads, and its parameters."""


def curated_assets(
    dataset: str,
    *,
    extract: Mapping[str, Any],
    judge: Mapping[str, Any],
    dedup: Mapping[str, Any],
    max_removed_share: float,
    drops: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[dg.AssetsDefinition]:
    """Return curated/<dataset>/extracted, verdicts, signatures, resolution, duplicates and documents, and validation where
    `dedup` takes a share for it.

    `extract`, `judge` and `dedup` are the parameters of corpusmill.curate and corpusmill.dedup: policy stands here. With
    `may_fail_whole` among those of `extract` a snapshot passes its gate although none of its records gave a text.
    `drops` adds the tables that it names; an empty one takes all defaults. What `contamination` (fields of
    ContaminationPolicy, and those of ContaminationRules under `rules`) and `urls` (those of UrlPolicy) find is neither
    deduplicated nor a document; they read the tables of `assets.curation_lists`. What `repeated_spans` (fields of
    SpanParameters and SpanPolicy, see `assets.repeated_spans`) finds is cut out of what deduplication leaves. Raises
    ValueError for rules that cannot be.
    """
    asked_spans = (drops or {}).get("repeated_spans")
    early = {name: asked for name, asked in (drops or {}).items() if name != "repeated_spans"}
    judge_of(judge).rules(judge)
    RetentionGuard(max_removed_share=max_removed_share)
    records = ("sources", dataset, "records")
    key = {table: ("curated", dataset, table) for table in DESCRIPTIONS}
    classifiers = [("curated", name, "classifier") for name in classifier_names(judge)]
    dropping = _dropping_steps(key, early)
    found_in = [key[table] for table in early]
    asked = {"drops": _policies(early)} if early else {}
    share = dedup.get("validation_share", 0.0)
    spans = span_steps(dataset, asked_spans)
    final = {**asked, **spans.policy, **({"validation_share": share} if share else {})}
    read = [*(key[it] for it in ("extracted", "verdicts", "duplicates")), *found_in, *spans.read_by_documents]
    finals = ("documents", "validation") if share else ("documents",)
    steps: list[Step] = [
        ("extracted", "extract", [records], extract),
        ("verdicts", "judge", [key["extracted"], *classifiers], judge),
        *dropping,
        ("signatures", "sign", [key["extracted"], key["verdicts"], *found_in], {**dedup, **asked}),
        ("resolution", "resolve", [key["signatures"], key["extracted"]], dedup),
        ("duplicates", "duplicates", [key["signatures"], key["resolution"]], {"max_removed_share": max_removed_share}),
        *spans.steps,
        *((table, table, read, final) for table in finals),
    ]
    return [
        lake_asset(
            key[table],
            task=task,
            description=DESCRIPTIONS[table],
            deps=deps,
            partitions_def=None if table in WHOLE else snapshots(dataset),
            parameters=parameters,
        )
        for table, task, deps, parameters in steps
    ]


def _dropping_steps(key: Mapping[str, Key], drops: Mapping[str, Mapping[str, Any]]) -> list[Step]:
    """Return the steps of the tables that are asked for. Raises ValueError for what cannot be asked."""
    if unknown := sorted(set(drops) - {"contamination", "urls"}):
        raise ValueError(f"drops are contamination, urls and repeated_spans, got {', '.join(unknown)}")
    _policies(drops)
    steps: list[Step] = []
    if "contamination" in drops:
        rules = dict(drops["contamination"].get("rules", {}))
        ContaminationRules.from_json(rules)
        steps.append(("contamination", "contamination", [key["extracted"], ITEMS], {"rules": rules}))
    if "urls" in drops:
        asked = drops["urls"]
        judged = [key["extracted"], key["verdicts"]]
        reads = [*judged, URL_ENTRIES]
        if UrlPolicy.from_json(asked).sees_all_snapshots:
            steps.append(("url_versions", "url_versions", judged, {"versions": asked["versions"]}))
            reads.append(key["url_versions"])
        steps.append(("urls", "urls", reads, asked))
    return steps


def _policies(drops: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return what becomes of what each table found. Raises ValueError for a policy that cannot be."""
    policies = {table: {} if table == "urls" else dict(asked) for table, asked in drops.items()}
    for policy in policies.values():
        policy.pop("rules", None)
        ContaminationPolicy.from_json(policy)
    return policies
