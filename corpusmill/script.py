"""From tables of documents to a mixture in a Python script: the tasks that assets run, in this process, without Dagster.

    settings = script_settings("lake")
    write_documents(settings, "web", pq.read_table("web.parquet"))      curated/web/documents
    pack_documents(settings, "web", tokenizer="tokenizer.json", ...)    tokenized/web/sequences
    plan_mixture(settings, Mixture(...))                                mixed/mixtures/plan

What is current is not made again, so a script may be run as often as one likes. Documents come as they are: rules,
deduplication and synthesis are what the assets do (docs/curation.md). Memory: the table that is handed over.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.document import DOCUMENTS, document_id, text_hash
from corpusmill.lake.files import ShardWriter
from corpusmill.lake.tables import Lake
from corpusmill.meant import check_known
from corpusmill.mix.mixture import Mixture
from corpusmill.mix.plan import Plan
from corpusmill.settings import Settings, settings_from_table
from corpusmill.stream.inventory import PLAN_TABLE, read_plan
from corpusmill.tasks.task import execute

SNAPSHOT = "s1"
_GIVEN = [name for name in DOCUMENTS.names if name not in ("source", "snapshot", "text_hash")]
"""Columns that documents may bring along."""


def script_settings(lake: str) -> Settings:
    """Return settings for a lake in a folder or at an s3:// URL, with nothing but this process to work in."""
    return settings_from_table({"lake": {"root": lake}, "spark": {"engine": "plain"}}, base=Path.cwd())


def write_documents(
    settings: Settings, dataset: str, documents: pa.Table | Iterable[str], *, snapshot: str = SNAPSHOT
) -> str:
    """Write texts, or a table with a column `text`, as a snapshot of curated/<dataset>/documents; return the table's name.

    A table may have any other column of DOCUMENTS, such as url, license or language. Without `doc_id` a document is named by
    dataset, snapshot and row. Raises ValueError for a row without a text, and for a snapshot that a task has made.
    """
    table = f"curated/{dataset}/documents"
    rows = _documents(documents, dataset=dataset, snapshot=snapshot)
    lake = Lake(settings.lake)
    committed = lake.partition(table, snapshot)
    if committed and "work" in committed.state:
        raise ValueError(
            f"snapshot {snapshot!r} of {table} was made by its asset, which these documents would replace; give them another "
            "snapshot or dataset"
        )
    attempt = lake.begin(table, snapshot, DOCUMENTS)
    with ShardWriter(
        lake.store, directory=attempt.directory, name=attempt.attempt, schema=DOCUMENTS, partition=snapshot
    ) as writer:
        writer.write(rows)
    lake.commit(attempt, writer.files)
    return table


def pack_documents(
    settings: Settings,
    dataset: str,
    *,
    tokenizer: str,
    sequence_length: int,
    eos_token: str | None = None,
    seed: int = 0,
) -> str:
    """Tokenize and pack all snapshots of curated/<dataset>/documents; return the name of the table of sequences."""
    documents = f"curated/{dataset}/documents"
    snapshots = Lake(settings.lake).partitions(documents)
    if not snapshots:
        raise ValueError(f"{documents} has no snapshot; write_documents makes one")
    packing = {
        "documents": documents,
        "tokenizer": tokenizer,
        "sequence_length": sequence_length,
        "seed": seed,
        "eos_token": eos_token,
    }
    for snapshot in sorted(snapshots):
        _run(settings, "sequences", dataset, snapshot, packing)
    return f"tokenized/{dataset}/sequences"


def plan_mixture(settings: Settings, mixture: Mixture) -> Plan:
    """Plan a mixture over what is packed and keep the plan; return it. Raises ValueError as `corpusmill.mix.solve.plan`."""
    _run(settings, "plan", PLAN_TABLE.split("/")[1], mixture.name, {"mixture": mixture.to_json()})
    return read_plan(Lake(settings.lake), mixture.name)


def _run(settings: Settings, task: str, dataset: str, partition: str, parameters: Mapping[str, Any]) -> None:
    arguments = {"settings": settings.to_json(), "dataset": dataset, "partition": partition, "parameters": parameters}
    execute(task, arguments, lambda message, numbers: None)


def _documents(given: pa.Table | Iterable[str], *, dataset: str, snapshot: str) -> pa.Table:
    """Return DOCUMENTS rows."""
    table = given if isinstance(given, pa.Table) else _table_of_texts(given)
    _check(table)
    made = {
        "doc_id": [document_id(dataset, snapshot, str(number)) for number in range(len(table))],
        "source": [dataset] * len(table),
        "snapshot": [snapshot] * len(table),
        "text_hash": [text_hash(text) for text in table["text"].to_pylist()],
    } | {name: table[name] for name in table.column_names}
    columns = [made[item.name] if item.name in made else pa.nulls(len(table), item.type) for item in DOCUMENTS]
    return pa.table(columns, names=DOCUMENTS.names).cast(DOCUMENTS)


def _table_of_texts(given: Iterable[str]) -> pa.Table:
    texts = [given] if isinstance(given, str) else list(given)
    strangers = [text for text in texts if not isinstance(text, str)]
    if isinstance(given, str) or strangers:
        raise ValueError(f"wanted a table with a column text, or several texts, got {(strangers or texts)[0]!r:.60}")
    return pa.table({"text": pa.array(texts, pa.large_string())})


def _check(table: pa.Table) -> None:
    """Raise ValueError for columns that documents do not have, and for a row without a text or with the id of another."""
    check_known(table.column_names, _GIVEN, what="columns of documents")
    kind = table.schema.field("text").type if "text" in table.column_names else None
    if kind not in (pa.string(), pa.large_string()):
        raise ValueError(
            f"wanted a table with a column text of strings, got columns {table.column_names}, text of {kind}"
        )
    for name in {"text", "doc_id"} & {*table.column_names}:
        missing = pc.index(pc.is_null(table[name]), True).as_py()
        if missing >= 0:
            raise ValueError(f"wanted a {name} in every row, got none in row {missing}; leave such rows out")
    if "doc_id" in table.column_names and pc.count_distinct(table["doc_id"]).as_py() < len(table):
        twice = next(row["values"] for row in pc.value_counts(table["doc_id"]).to_pylist() if row["counts"] > 1)
        raise ValueError(f"wanted another doc_id in every row, got {twice!r} more than once")
