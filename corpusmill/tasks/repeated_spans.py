"""curated/<dataset>/repeated_spans: of one snapshot, what its documents repeat of each other or of older snapshots.

In four steps, of which each holds a bounded part in memory. One pass over the anchors of all snapshots up to this one finds
those that may occur twice. Shards by anchor file take the bytes around these out of the texts: of older snapshots only
documents that have such an anchor are read. Shards by range of hashes compare them. Shards by range of documents
join what was found. Files in between are deleted at the end.

Older snapshots are those whose names sort before; one that arrives late changes the later ones.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.counts import Counts
from corpusmill.dedup.contexts import CONTEXTS, find_contexts, sorted_chunks
from corpusmill.dedup.shared_anchors import Words, find_shared, is_shared
from corpusmill.dedup.span_matches import best_contexts, match_contexts
from corpusmill.dedup.spans import FRAGMENTS, REPEATED_SPANS, SpanParameters, merge_fragments
from corpusmill.dedup.texts import select_texts
from corpusmill.engines.engine import Engine
from corpusmill.engines.shard import ShardContext
from corpusmill.engines.shards import ShardOutcome, ShardPlan, run_shards, total
from corpusmill.lake.reading import read_batches, read_between
from corpusmill.lake.tables import Attempt
from corpusmill.tasks import span_anchors, span_index
from corpusmill.tasks.engine import curation_engine
from corpusmill.tasks.stored_filter import read_filter, write_filter
from corpusmill.tasks.task import Job, Outcome

CONTEXTS_PER_SHARD = 400_000
"""About 300 MB of contexts; they are held twice."""
FRAGMENTS_PER_SHARD = 2_000_000
_CHUNK_BYTES = 256 << 20
_ROW_GROUP_BYTES = 4 << 20
_HASHES = 1 << 64
_SCHEMAS = {"contexts": CONTEXTS, "fragments": FRAGMENTS, "spans": REPEATED_SPANS}


def table(dataset: str) -> str:
    return f"curated/{dataset}/repeated_spans"


def schema(parameters: Mapping[str, Any]) -> pa.Schema:
    return REPEATED_SPANS


def inputs(job: Job) -> dict[str, Any]:
    return {"anchors": span_index.versions_up_to(job)}


def run(job: Job, attempt: Attempt) -> Outcome:
    files = _anchor_files(job)
    shared = write_filter(job.lake.store, attempt.staging, _shared(job, files))
    sources = [{"anchor_file": key, "snapshot": name} for name, keys in files.items() for key in keys]
    with curation_engine(job) as engine:
        steps = _Steps(job=job, attempt=attempt, engine=engine)
        contexts = steps.make("contexts", sources, shared=shared)
        own = [shard for shard, source in zip(contexts, sources, strict=True) if source["snapshot"] == job.partition]
        hashes = _hash_ranges(_num_rows(contexts), CONTEXTS_PER_SHARD)
        fragments = steps.make("fragments", hashes, own=_keys(job, own), all=_keys(job, contexts))
        documents = _document_ranges(_num_rows(fragments), FRAGMENTS_PER_SHARD)
        spans = steps.make("spans", documents, fragments=_keys(job, fragments))
    job.lake.store.delete([shared, *_keys(job, [*contexts, *fragments])])
    return _outcome(job, [*contexts, *fragments], spans)


@dataclass(frozen=True, kw_only=True)
class _Steps:
    """Where the shards of every step run."""

    job: Job
    attempt: Attempt
    engine: Engine

    def make(self, step: str, inputs: Sequence[Mapping[str, Any]], **parameters: Any) -> list[ShardOutcome]:
        """Return the outcomes of the shards of a step: function `<step>_shard` of this module."""
        plan = ShardPlan(
            function=f"corpusmill.tasks.repeated_spans:{step}_shard",
            inputs=inputs,
            parameters={"spans": SpanParameters.from_json(self.job.parameters).to_json(), **parameters},
            schema=_SCHEMAS[step],
            row_group_bytes=None if step == "spans" else _ROW_GROUP_BYTES,
        )

        def progress(outcome: ShardOutcome, num_done: int, num_shards: int) -> None:
            self.job.report(f"{step}: shard {num_done} of {num_shards}", {"seconds": outcome.seconds})

        return run_shards(plan, engine=self.engine, lake=self.job.lake, attempt=self.attempt, on_progress=progress)


def contexts_shard(
    inputs: Mapping[str, Any], parameters: Mapping[str, Any], context: ShardContext
) -> Iterator[pa.Table]:
    """Yield the CONTEXTS of the documents of one anchor file, sorted by hash in large pieces."""
    shared = read_filter(context.store, parameters["shared"])
    settings = SpanParameters.from_json(parameters["spans"])
    wanted: dict[str, list[str]] = {}
    for rows in read_batches(context.store, inputs["anchor_file"], columns=("doc_id", "text_file", "anchors")):
        hits = rows.filter(is_shared(rows["anchors"].combine_chunks(), shared))
        for doc_id, text_file in zip(hits["doc_id"].to_pylist(), hits["text_file"].to_pylist(), strict=True):
            wanted.setdefault(text_file, []).append(doc_id)

    def found() -> Iterator[pa.Table]:
        for text_file, doc_ids in sorted(wanted.items()):
            for texts in select_texts(context.store, text_file, doc_ids):
                named = texts.append_column("snapshot", pa.array([inputs["snapshot"]] * len(texts), pa.string()))
                yield find_contexts(named, shared, settings)

    for rows in sorted_chunks(found(), chunk_bytes=_CHUNK_BYTES):
        context.note("contexts", len(rows))
        yield rows


def fragments_shard(
    inputs: Mapping[str, Any], parameters: Mapping[str, Any], context: ShardContext
) -> Iterator[pa.Table]:
    """Yield the FRAGMENTS of the contexts whose hashes lie in a range, sorted by document."""
    settings = SpanParameters.from_json(parameters["spans"])

    def read(keys: Iterable[str]) -> Iterator[pa.Table]:
        for key in keys:
            yield from read_between(context.store, key, column="hash", first=inputs["first"], end=inputs["end"])

    best = best_contexts(read(parameters["all"]), settings)
    fragments = [FRAGMENTS.empty_table()]
    for rows in read(parameters["own"]):
        matches = match_contexts(rows, best, settings)
        context.note("contexts_skipped", matches.num_skipped)
        fragments.append(matches.fragments)
    ordered = pa.concat_tables(fragments).sort_by("doc_id")
    yield from (ordered.slice(start, 16_384) for start in range(0, len(ordered), 16_384))


def spans_shard(inputs: Mapping[str, Any], parameters: Mapping[str, Any], context: ShardContext) -> Iterator[pa.Table]:
    """Yield the REPEATED_SPANS of the documents whose ids lie in a range."""
    parts = [FRAGMENTS.empty_table()]
    for key in parameters["fragments"]:
        parts += read_between(context.store, key, column="doc_id", first=inputs["first"], end=inputs["end"])
    spans = merge_fragments(pa.concat_tables(parts))
    lengths = pc.subtract(spans["end"], spans["start"])
    context.note("spans", len(spans))
    context.note("repeated_characters", pc.sum(lengths).as_py() or 0)
    context.note("documents_with_repeats", pc.count_distinct(spans["doc_id"]).as_py())
    for row in pc.value_counts(spans["kept_snapshot"]).to_pylist():
        context.note(f"kept_in/{row['values']}", row["counts"])
    for row in spans.slice(0, 10).to_pylist():
        context.sample(row)
    yield spans


def _anchor_files(job: Job) -> dict[str, list[str]]:
    name = span_anchors.table(job.dataset)
    return {
        snapshot: [job.lake.store.key(file.path) for file in job.lake.files(name, [snapshot])]
        for snapshot in span_index.versions_up_to(job)
    }


def _shared(job: Job, files: Mapping[str, Sequence[str]]) -> Words:
    def hashes(snapshots: Iterable[str]) -> Iterator[pa.Array]:
        for snapshot in snapshots:
            for key in files[snapshot]:
                for rows in read_batches(job.lake.store, key, columns=("anchors",)):
                    yield rows["anchors"].combine_chunks().flatten()

    older = [name for name in files if name != job.partition]
    num_anchors = sum(len(part) for part in hashes([job.partition]))
    return find_shared(hashes([job.partition]), hashes(older), num_anchors=num_anchors)


def _hash_ranges(num_rows: int, rows_per_range: int) -> list[dict[str, int | None]]:
    """Return half-open ranges of int64 that together hold every hash."""
    count = max(1, -(-num_rows // rows_per_range))
    bounds = [None, *(_HASHES * number // count - _HASHES // 2 for number in range(1, count)), None]
    return [{"first": first, "end": end} for first, end in itertools.pairwise(bounds)]


def _document_ranges(num_rows: int, rows_per_range: int) -> list[dict[str, str | None]]:
    """Return half-open ranges of doc_ids, which are hex digits of hashes, that together hold every one."""
    count = max(1, -(-num_rows // rows_per_range))
    bounds = [None, *(f"{(1 << 32) * number // count:08x}" for number in range(1, count)), None]
    return [{"first": first, "end": end} for first, end in itertools.pairwise(bounds)]


def _num_rows(shards: Sequence[ShardOutcome]) -> int:
    return sum(file.num_rows for shard in shards for file in shard.files)


def _keys(job: Job, shards: Sequence[ShardOutcome]) -> list[str]:
    return [job.lake.store.key(file.path) for shard in shards for file in shard.files]


def _outcome(job: Job, steps: Sequence[ShardOutcome], spans: Sequence[ShardOutcome]) -> Outcome:
    sums = total([*steps, *spans])
    kept_in = [
        {"kept_in": name.partition("/")[2], "spans": int(number)}
        for name, number in sums.notes.items()
        if name.startswith("kept_in/")
    ]
    own = job.lake.files(span_anchors.table(job.dataset), [job.partition])
    num_documents = sum(file.num_rows for file in own)
    return Outcome(
        files=[file for shard in spans for file in shard.files],
        counts=Counts(rows_in=num_documents, kept=num_documents),
        metrics={
            **{name: value for name, value in sums.notes.items() if not name.startswith("kept_in/")},
            "shards": sums.num_shards,
            "shards_reused": sums.num_reused,
            "work_seconds": sums.seconds,
        },
        tables={"kept_in": kept_in},
        samples=sums.samples,
    )
