"""curated/benchmarks/items: every item of every benchmark that must not be in training data, from [sources.benchmarks].

The source is a folder of JSONL or Parquet files, at any depth; a file is a benchmark, named by its path without ending. A
row is an item. Options of the source name the columns; of several names the first that a row has counts:

    text_columns = ["text", "question", "prompt"]
    answer_columns = []                              answers are searched for only where they are named
    item_columns = ["item", "task_id", "id"]         else an item is named by its number in the file
    benchmark_column = "benchmark"                   where rows say themselves what they belong to

A row that cannot be read is counted as failed, as is a file without a row, and the gate `all_items_read` keeps readers
away: a benchmark with holes would let its items pass.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from corpusmill.counts import Counts
from corpusmill.curate.contamination_build import ITEMS, build_index
from corpusmill.lake.store import Store
from corpusmill.lake.tables import Attempt
from corpusmill.read.item_options import ItemOptions
from corpusmill.read.parquet import batch_rows
from corpusmill.read.rows import clean_unicode
from corpusmill.read.source_file import SourceFile, open_source
from corpusmill.tasks.list_files import JSONL, PARQUET, list_files, read_objects
from corpusmill.tasks.task import Gate, Job, Outcome, partition_writer, truncate_sample

_ENDINGS = (*JSONL, PARQUET)
_MAX_LINE_BYTES = 64 << 20
_SHOWN = 20


def table(dataset: str) -> str:
    return f"curated/{dataset}/items"


def schema(parameters: Mapping[str, Any]) -> pa.Schema:
    return ITEMS


def inputs(job: Job) -> dict[str, Any]:
    source = job.settings.source(job.dataset)
    return {"files": _files(job), "options": dict(source.options)}


def run(job: Job, attempt: Attempt) -> Outcome:
    options = ItemOptions.from_mapping(job.settings.source(job.dataset).options)
    store = job.settings.source_store(job.dataset)
    failed: dict[str, int] = {}
    rows: list[dict[str, Any]] = []
    for file in _files(job):
        for row, failure in _read_items(store, file["key"], options):
            if failure is None:
                rows.append(row)
            else:
                failed[failure] = failed.get(failure, 0) + 1
    items = pa.Table.from_pylist(rows, schema=ITEMS)
    with partition_writer(job, attempt, name="items") as writer:
        writer.write(items)
    counts = Counts(rows_in=len(items) + sum(failed.values()), kept=len(items), failed=failed)
    index = build_index(items)
    return Outcome(
        files=writer.files,
        counts=counts,
        metrics={
            "benchmarks": len(items["benchmark"].unique()),
            "references": index.num_references,
            "unsearchable": len(index.skipped),
            "index_bytes": index.num_bytes,
        },
        tables={"unsearchable": index.skipped.slice(0, _SHOWN).to_pylist()},
        samples=truncate_sample(items, columns=["benchmark", "item", "text"]),
        gates={
            "all_items_read": Gate(
                passed=not failed, message=f"{counts.num_failed} of {counts.rows_in} items cannot be read: {failed}"
            )
        },
    )


def _files(job: Job) -> list[dict[str, Any]]:
    found = [file for file in list_files(job) if file["key"].endswith(_ENDINGS)]
    if not found:
        raise ValueError(
            f"[sources.{job.dataset}] has no benchmark: wanted JSONL or Parquet files below "
            f"{job.settings.source(job.dataset).uri}, got none"
        )
    return found


def _read_items(store: Store, key: str, options: ItemOptions) -> Iterator[tuple[dict[str, Any], str | None]]:
    """Yield an item and no failure, or an empty one and why it cannot be read."""
    benchmark = key.removesuffix(next(suffix for suffix in _ENDINGS if key.endswith(suffix)))
    for number, (row, failure) in enumerate(_rows(store, key)):
        text = _first(row, options.text_columns)
        if failure is None and text is None:
            failure = "no_text"
        item = _first(row, options.item_columns)
        yield (
            {
                "benchmark": str(row.get(options.benchmark_column) or benchmark),
                "item": str(number if item is None else item),
                "text": text,
                "answer": _first(row, options.answer_columns),
            },
            failure,
        )


def _rows(store: Store, key: str) -> Iterator[tuple[dict[str, Any], str | None]]:
    has_rows = False
    with open_source(store, store.uri(key)) as opened:
        lines = ((row, failure) for _, row, failure in read_objects(opened, max_line_bytes=_MAX_LINE_BYTES))
        for row in _parquet_rows(opened) if key.endswith(PARQUET) else lines:
            has_rows = True
            yield row
    if not has_rows:
        yield {}, "empty_file"


def _parquet_rows(opened: SourceFile) -> Iterator[tuple[dict[str, Any], str | None]]:
    try:
        for batch in pq.ParquetFile(opened).iter_batches():
            yield from batch_rows(batch)
    except (OSError, pa.ArrowInvalid):
        yield {}, "garbled_parquet"


def _first(row: Mapping[str, Any], columns: tuple[str, ...]) -> str | None:
    found = next((row[name] for name in columns if row.get(name) is not None), None)
    return None if found is None else clean_unicode(str(found))
