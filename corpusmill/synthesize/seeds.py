"""Which documents a recipe starts from: those that its rule accepts, and of them the ones with the smallest hash.

The choice depends on the ids alone, never on order or batches, so a new document changes at most one place in it.
"""

import hashlib
import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from corpusmill.counts import Counts
from corpusmill.curate.quality import TIER
from corpusmill.synthesize.prompt import CONTROL_TOKENS, column_value
from corpusmill.synthesize.recipe import Recipe, SeedRule
from corpusmill.synthesize.shares import is_in_share

OVER_BUDGET = "over_budget"
NO_TIER = "no_quality_tier"
_NEEDED = ("doc_id", "snapshot", "language", "text")


@dataclass(frozen=True, kw_only=True)
class SeedChoice:
    """The chosen documents, in the order of their ids, and why the others are none."""

    doc_ids: tuple[str, ...]
    counts: Counts


def check_columns(recipe: Recipe, columns: Sequence[str]) -> None:
    """Raise ValueError when the recipe needs a column that the documents do not have."""
    wanted = {*_NEEDED, *(column.partition(".")[0] for column in recipe.metadata)}
    wanted |= {"meta"} if recipe.seeds.quality_tiers else set()
    if missing := sorted(wanted - set(columns)):
        raise ValueError(
            f"recipe {recipe.name!r} needs the columns {', '.join(missing)}, which its seed documents do not have; "
            f"there are: {', '.join(columns)}"
        )


def choose_seeds(batches: Iterable[pa.Table], recipe: Recipe) -> SeedChoice:
    """Choose the seeds of one partition; memory holds `max_documents` ids (all accepted ids where that is None).

    Raises ValueError when the recipe asks for tiers of quality and no document has one.
    """
    refused: Counter[str] = Counter()
    accepted: list[tuple[str, str]] = []
    num_accepted = 0
    keys: set[str] = set()
    for batch in batches:
        check_columns(recipe, batch.schema.names)
        reasons = refusals(batch, recipe)
        keys |= _meta_keys(batch) if recipe.seeds.quality_tiers else set()
        refused.update(reason for reason in reasons if reason)
        ids = [doc_id for doc_id, reason in zip(batch["doc_id"].to_pylist(), reasons, strict=True) if not reason]
        num_accepted += len(ids)
        accepted = _smallest([*accepted, *((_rank(recipe.name, doc_id), doc_id) for doc_id in ids)], recipe)
    if recipe.seeds.quality_tiers and refused.total() and TIER not in keys:
        raise ValueError(_no_tiers(recipe, keys))
    over_budget = num_accepted - len(accepted)
    dropped = {**refused, OVER_BUDGET: over_budget} if over_budget else dict(refused)
    counts = Counts(rows_in=num_accepted + refused.total(), kept=len(accepted), dropped=dropped)
    return SeedChoice(doc_ids=tuple(sorted(doc_id for _, doc_id in accepted)), counts=counts)


def refusals(documents: pa.Table, recipe: Recipe) -> list[str | None]:
    """Return for each document why the recipe cannot start from it, or None."""
    rule = recipe.seeds
    languages = {language.casefold() for language in rule.languages}
    shown = [column for column in recipe.metadata if column != "text"]
    dataset = recipe.name.partition("/")[0]
    needed = {"doc_id", "text", "language", *(column.partition(".")[0] for column in shown)}
    rows = documents.select(sorted(needed | ({"meta"} if rule.quality_tiers else set())))
    reasons: list[str | None] = []
    for row in _rows(rows):
        length = len(row["text"].strip())
        if languages and (row["language"] or "").casefold() not in languages:
            reasons.append("other_language")
        elif (other := _other_tier(row, rule)) is not None:
            reasons.append(other)
        elif not rule.min_characters <= length <= rule.max_characters:
            reasons.append("too_short" if length < rule.min_characters else "too_long")
        elif any(CONTROL_TOKENS.search(str(value)) for value in (row["text"], *(column_value(row, c) for c in shown))):
            reasons.append("control_tokens")
        elif not is_in_share(dataset, row["doc_id"], rule.share):
            reasons.append("other_share")
        else:
            reasons.append(None)
    return reasons


def _other_tier(row: Mapping[str, Any], rule: SeedRule) -> str | None:
    if rule.quality_tiers is None:
        return None
    tier = column_value(row, f"meta.{TIER}")
    if tier is None or not tier.isdecimal():
        return NO_TIER
    first, last = rule.quality_tiers
    return None if first <= int(tier) <= last else "other_quality_tier"


def _meta_keys(documents: pa.Table) -> set[str]:
    return {key for meta in documents["meta"].to_pylist() for key, _ in meta or ()}


def _no_tiers(recipe: Recipe, keys: set[str]) -> str:
    return (
        f"recipe {recipe.name!r} starts from documents of the quality tiers {recipe.seeds.quality_tiers}, and none of its "
        f"seed documents has a tier; name trained `classifiers` in the judge's parameters and make verdicts and documents "
        f"again, or take away quality_tiers. Their meta has: {', '.join(sorted(keys)) or 'nothing'}"
    )


def _rows(table: pa.Table) -> Iterator[dict[str, Any]]:
    for batch in table.to_batches(max_chunksize=256):
        yield from batch.to_pylist()


def _smallest(ranked: list[tuple[str, str]], recipe: Recipe) -> list[tuple[str, str]]:
    limit = recipe.seeds.max_documents
    return ranked if limit is None or len(ranked) <= limit else heapq.nsmallest(limit, ranked)


def _rank(name: str, doc_id: str) -> str:
    return hashlib.sha256(f"{name}\x00{doc_id}".encode()).hexdigest()
