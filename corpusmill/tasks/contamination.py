"""curated/<dataset>/contamination: which benchmark items stand in which documents, and where. One shard a text file.

Searched is the extracted text of every document, whatever the rules say about it. Parameters name the partition of
curated/benchmarks/items implicitly (it has one) and may change `rules`, fields of ContaminationRules.
"""

import functools
import json
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.counts import Counts
from corpusmill.curate.contamination import CONTAMINATION, find_contamination
from corpusmill.curate.contamination_build import build_index
from corpusmill.curate.contamination_index import ContaminationIndex
from corpusmill.curate.contamination_policy import REASON
from corpusmill.curate.contamination_rules import ContaminationRules
from corpusmill.engines.shard import ShardContext
from corpusmill.lake.reading import read_batches, read_rows
from corpusmill.lake.store import Store, StoreSettings
from corpusmill.lake.tables import Attempt
from corpusmill.tasks import benchmark_items, extract
from corpusmill.tasks.engine import outcome_of, run_on_shards
from corpusmill.tasks.task import UNPARTITIONED, Job, Outcome

_TEXT_COLUMNS = ("doc_id", "locator", "text", "failure")


def table(dataset: str) -> str:
    return f"curated/{dataset}/contamination"


def schema(parameters: Mapping[str, Any]) -> pa.Schema:
    return CONTAMINATION


def inputs(job: Job) -> dict[str, Any]:
    return {
        "extracted": job.upstream(extract.table(job.dataset)),
        "items": job.upstream(benchmark_items.table(benchmark_items.SOURCE), UNPARTITIONED),
    }


def run(job: Job, attempt: Attempt) -> Outcome:
    items = job.lake.files(benchmark_items.table(benchmark_items.SOURCE), [UNPARTITIONED])
    rules = ContaminationRules.from_json(job.parameters.get("rules", {}))
    shards = run_on_shards(
        "corpusmill.tasks.contamination:contamination_shard",
        job=job,
        attempt=attempt,
        inputs=[
            {"text_file": job.lake.store.key(file.path)}
            for file in job.lake.files(extract.table(job.dataset), [job.partition])
        ],
        parameters={"item_files": [job.lake.store.key(file.path) for file in items], "rules": rules.to_json()},
    )
    found = {name.partition("/")[2]: int(number) for name, number in _found(outcome_of(shards).metrics)}
    rows = [{"benchmark": name, "matches": number} for name, number in sorted(found.items(), key=lambda it: -it[1])]
    return outcome_of(shards, tables={"found": rows})


def contamination_shard(
    inputs: Mapping[str, Any], parameters: Mapping[str, Any], context: ShardContext
) -> Iterator[pa.Table]:
    """Yield the CONTAMINATION of one text file."""
    index = stored_index(context.store, parameters["item_files"], parameters["rules"])
    for batch in read_batches(context.store, inputs["text_file"], columns=_TEXT_COLUMNS):
        texts = batch.filter(pc.is_null(batch["failure"]))
        found = find_contamination(texts, index)
        num_hit = pc.count_distinct(found["doc_id"]).as_py()
        dropped = {REASON: num_hit} if num_hit else {}
        context.add_counts(Counts(rows_in=len(texts), kept=len(texts) - num_hit, dropped=dropped))
        for row in pc.value_counts(found["benchmark"]).to_pylist():
            context.note(f"found/{row['values']}", row["counts"])
        for row in _samples(texts, found):
            context.sample(row)
        yield found


def stored_index(store: Store, item_files: list[str], rules: Mapping[str, Any]) -> ContaminationIndex:
    """Return the index of committed item files, built once in a process."""
    return _build(json.dumps(store.settings.to_json()), tuple(item_files), json.dumps(dict(rules), sort_keys=True))


@functools.lru_cache(maxsize=2)
def _build(store: str, item_files: tuple[str, ...], rules: str) -> ContaminationIndex:
    opened = Store(StoreSettings.from_json(json.loads(store)))
    parts = [read_rows(opened, file) for file in item_files]
    return build_index(pa.concat_tables(parts), ContaminationRules.from_json(json.loads(rules)))


def _found(metrics: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return [(name, number) for name, number in metrics.items() if name.startswith("found/")]


def _samples(texts: pa.Table, found: pa.Table) -> list[dict[str, Any]]:
    """Return the first matches of a batch with the words that matched."""
    rows = found.slice(0, 3).to_pylist()
    places = pc.index_in(found["doc_id"].slice(0, 3), value_set=texts["doc_id"].combine_chunks()).to_pylist()
    return [
        {
            "benchmark": row["benchmark"],
            "item": row["item"],
            "kind": row["kind"],
            "share": round(row["share"], 3),
            "locator": texts["locator"][place].as_py(),
            "text": texts["text"][place].as_py()[row["start"] : row["end"]][:200],
        }
        for row, place in zip(rows, places, strict=True)
    ]
