"""Why a document was removed as a duplicate, printed: the kept one, their exact Jaccard, the edges, what they share."""

from collections.abc import Iterator

import pyarrow.compute as pc

from corpusmill.lake.tables import Lake
from corpusmill.settings import Settings
from corpusmill.tasks.explanation import Explanation, explain, signed_datasets
from jobs.asset_graph import near, shown

MOST_SPANS = 5
EXCERPT_CHARACTERS = 160
MOST_DUPLICATES = 20


def print_explanation(settings: Settings, *, doc_id: str, dataset: str | None) -> None:
    """Print what the resolution of a dataset, or of any, knows of a document; ValueError where none does."""
    lake = Lake(settings.lake)
    known = signed_datasets(lake)
    if dataset is not None and dataset not in known:
        raise ValueError(f"{dataset!r} has no resolution; {near(dataset, known)}")
    for name in known if dataset is None else [dataset]:
        found = explain(lake, name, doc_id)
        if found:
            print("\n".join(lines(found, doc_id)))
            return
    raise ValueError(_unknown(lake, doc_id, known if dataset is None else [dataset]))


def lines(found: Explanation, doc_id: str) -> Iterator[str]:
    """Yield what to tell a person."""
    where = f"curated/{found.dataset}, snapshot {found.snapshot}"
    if found.is_withdrawn:
        yield f"{doc_id} ({where}) is named by a removal: it neither stays nor stands for others."
    elif found.decision is None:
        yield f"{doc_id} ({where}) stays: it duplicates no document of better rank."
        yield from _duplicates(found)
    else:
        yield from _removed(found, doc_id, where)


def _removed(found: Explanation, doc_id: str, where: str) -> Iterator[str]:
    decision = found.decision
    assert decision is not None and found.measured is not None
    yield f"{doc_id} ({where}) is removed: {decision['kind']} duplicate."
    yield f"Kept: {decision['duplicate_of']} (snapshot {decision['duplicate_of_snapshot']})"
    yield f"Exact Jaccard: {found.measured:.6f} of the texts now, {decision['jaccard']:.6f} when it was decided"
    yield "Path:"
    for edge in found.path:
        how = "the same text" if edge.jaccard is None else f"Jaccard {edge.jaccard:.6f}"
        yield f"  {edge.worse} -> {edge.better}: {how}"
    yield f"Cluster: {decision['cluster']} (all that edges connect; no reason for a removal)"
    total = sum(span.num_words for span in found.spans)
    yield f"Shared: {total:,} words in {len(found.spans)} spans; the longest:"
    for span in found.spans[:MOST_SPANS]:
        excerpt = _excerpt(found.text, span.start, span.end)
        yield f"  characters {span.start:,} to {span.end:,} ({span.num_words:,} words): {excerpt}"


def _duplicates(found: Explanation) -> Iterator[str]:
    yield f"Removed in its favour: {len(found.duplicates)}"
    for row in found.duplicates[:MOST_DUPLICATES]:
        yield f"  {row['doc_id']} (snapshot {row['snapshot']}): {row['kind']}, Jaccard {row['jaccard']:.6f}"
    if len(found.duplicates) > MOST_DUPLICATES:
        yield f"  and {len(found.duplicates) - MOST_DUPLICATES} more: select from curated.{found.dataset}.resolution"


def _excerpt(text: str, start: int, end: int) -> str:
    shared = " ".join(text[start:end].split())
    half = EXCERPT_CHARACTERS // 2
    return shared if len(shared) <= 2 * half else f"{shared[:half]} … {shared[-half:]}"


def _unknown(lake: Lake, doc_id: str, datasets: list[str]) -> str:
    """Say why no resolution knows a document: what dropped it before, or that nothing has this id."""
    for dataset in datasets:
        for reason in _drop_reasons(lake, dataset, doc_id):
            why = f"the rule {reason} drops it" if reason else "it is not in the signatures that were resolved"
            return f"{doc_id} of curated/{dataset} was not deduplicated: {why}"
    if not datasets:
        return "no dataset was deduplicated yet: corpusmill materialize --assets curated/web --partition K"
    return (
        f"no document {doc_id!r} was signed in {shown(datasets)}; a doc_id is 32 hex digits, as in "
        f'corpusmill sql "select doc_id, duplicate_of from curated.{datasets[0]}.resolution"'
    )


def _drop_reasons(lake: Lake, dataset: str, doc_id: str) -> list[str | None]:
    table = f"curated/{dataset}/verdicts"
    if not lake.partitions(table):
        return []
    batches = lake.scan(table, columns=("doc_id", "drop_reason"), allow_failed_gate=True)
    return [
        reason
        for batch in batches
        for reason in batch.filter(pc.equal(batch["doc_id"], doc_id))["drop_reason"].to_pylist()
    ]
