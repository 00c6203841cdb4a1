"""Which documents a recipe starts from: those that its rule accepts, and of them the ones with the smallest hash.

The choice depends on the ids alone, never on order or batches, so a new document changes at most one place in it.
"""

import hashlib
import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.counts import Counts
from corpusmill.curate.quality import TIER
from corpusmill.document import DOCUMENTS
from corpusmill.synthesize.prompt import CONTROL_TOKENS, column_value
from corpusmill.synthesize.recipe import Recipe, SeedRule
from corpusmill.synthesize.second import Pool
from corpusmill.synthesize.shares import is_in_share

OVER_BUDGET = "over_budget"
NO_TIER = "no_quality_tier"
NO_SECOND = "no_second_document"
_NEEDED = ("doc_id", "snapshot", "language", "text")


@dataclass(frozen=True, kw_only=True)
class SeedChoice:
    """The chosen documents, in the order of their ids, and why the others are none."""

    doc_ids: tuple[str, ...]
    counts: Counts


def check_columns(recipe: Recipe, columns: Sequence[str]) -> None:
    """Raise ValueError when the recipe needs a column that the documents do not have."""
    second = recipe.secondary.documents
    same = [second.same] if second is not None and second.same is not None else []
    wanted = {*_NEEDED, *(column.partition(".")[0] for column in (*recipe.metadata, *same))}
    wanted |= {"meta"} if recipe.seeds.quality_tiers else set()
    if missing := sorted(wanted - set(columns)):
        raise ValueError(
            f"recipe {recipe.name!r} needs the columns {', '.join(missing)}, which its seed documents do not have; "
            f"there are: {', '.join(columns)}"
        )


def choose_seeds(batches: Iterable[pa.Table], recipe: Recipe, *, pool: Pool | None = None) -> SeedChoice:
    """Choose the seeds of one partition; memory holds `max_documents` ids (all accepted ids where that is None).

    Second documents come from `pool`. Raises ValueError when the recipe asks for tiers of quality and no document has one.
    """
    return _chosen(batches, recipe, _Wanted(rule=recipe.seeds, name=recipe.name, shown=recipe.metadata, pool=pool))


def choose_pool(batches: Callable[[], Iterable[pa.Table]], recipe: Recipe) -> Pool | None:
    """Return the documents that the recipe's second ones are chosen from, None where it has no such; reads them twice."""
    second = recipe.secondary.documents
    if second is None:
        return None
    wanted = _Wanted(rule=second.rule, name=f"{recipe.name}/second", shown=(), pool=None)
    chosen = pa.array(_chosen(batches(), recipe, wanted).doc_ids, pa.string())
    rows = [batch.filter(pc.is_in(batch["doc_id"], value_set=chosen)) for batch in batches()]
    return Pool(pa.concat_tables(rows) if rows else DOCUMENTS.empty_table(), second, recipe=recipe.name)


@dataclass(frozen=True, kw_only=True)
class _Wanted:
    """What documents are chosen for."""

    rule: SeedRule
    name: str
    """What their hashes are taken with."""
    shown: tuple[str, ...]
    """Columns that the model sees besides the text."""
    pool: Pool | None


def _chosen(batches: Iterable[pa.Table], recipe: Recipe, wanted: _Wanted) -> SeedChoice:
    refused: Counter[str] = Counter()
    accepted: list[tuple[str, str]] = []
    num_accepted = 0
    keys: set[str] = set()
    rule = wanted.rule
    for batch in batches:
        check_columns(recipe, batch.schema.names)
        reasons = _refusals(batch, wanted)
        keys |= _meta_keys(batch) if rule.quality_tiers else set()
        refused.update(reason for reason in reasons if reason)
        ids = [doc_id for doc_id, reason in zip(batch["doc_id"].to_pylist(), reasons, strict=True) if not reason]
        num_accepted += len(ids)
        accepted = _smallest([*accepted, *((_rank(wanted.name, doc_id), doc_id) for doc_id in ids)], rule)
    if rule.quality_tiers and refused.total() and TIER not in keys:
        raise ValueError(_no_tiers(recipe, rule, keys))
    over_budget = num_accepted - len(accepted)
    dropped = {**refused, OVER_BUDGET: over_budget} if over_budget else dict(refused)
    counts = Counts(rows_in=num_accepted + refused.total(), kept=len(accepted), dropped=dropped)
    return SeedChoice(doc_ids=tuple(sorted(doc_id for _, doc_id in accepted)), counts=counts)


def _refusals(documents: pa.Table, wanted: _Wanted) -> list[str | None]:
    """Return for each document why the recipe cannot start from it, or None."""
    shown = [column for column in wanted.shown if column != "text"]
    needed = {"doc_id", "text", "language", *(column.partition(".")[0] for column in shown)}
    needed |= {"meta"} if wanted.rule.quality_tiers else set()
    needed |= set() if wanted.pool is None else wanted.pool.columns
    return [_refusal(row, wanted, shown) for row in _rows(documents.select(sorted(needed)))]


def _refusal(row: Mapping[str, Any], wanted: _Wanted, shown: Sequence[str]) -> str | None:
    rule = wanted.rule
    length = len(row["text"].strip())
    languages = {language.casefold() for language in rule.languages}
    if languages and (row["language"] or "").casefold() not in languages:
        return "other_language"
    if (other := _other_tier(row, rule)) is not None:
        return other
    if not rule.min_characters <= length <= rule.max_characters:
        return "too_short" if length < rule.min_characters else "too_long"
    if any(CONTROL_TOKENS.search(str(value)) for value in (row["text"], *(column_value(row, c) for c in shown))):
        return "control_tokens"
    if not is_in_share(wanted.name.partition("/")[0], row["doc_id"], rule.share):
        return "other_share"
    return NO_SECOND if wanted.pool is not None and not wanted.pool.beside(row) else None


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


def _no_tiers(recipe: Recipe, rule: SeedRule, keys: set[str]) -> str:
    return (
        f"recipe {recipe.name!r} starts from documents of the quality tiers {rule.quality_tiers}, and none of its "
        f"seed documents has a tier; name trained `classifiers` in the judge's parameters and make verdicts and documents "
        f"again, or take away quality_tiers. Their meta has: {', '.join(sorted(keys)) or 'nothing'}"
    )


def _rows(table: pa.Table) -> Iterator[dict[str, Any]]:
    for batch in table.to_batches(max_chunksize=256):
        yield from batch.to_pylist()


def _smallest(ranked: list[tuple[str, str]], rule: SeedRule) -> list[tuple[str, str]]:
    limit = rule.max_documents
    return ranked if limit is None or len(ranked) <= limit else heapq.nsmallest(limit, ranked)


def _rank(name: str, doc_id: str) -> str:
    return hashlib.sha256(f"{name}\x00{doc_id}".encode()).hexdigest()
