"""Signatures put into a lake without what comes before them: histories of many snapshots stay cheap."""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from corpusmill.dedup.duplicates import Resolution, find_duplicates
from corpusmill.dedup.parameters import DedupParameters
from corpusmill.dedup.signatures import SCHEMA_WITH_SOURCE, sign
from corpusmill.dedup.texts import stored_texts
from corpusmill.document import text_hash
from corpusmill.lake.files import ShardWriter
from corpusmill.tasks.removals import read_withdrawn
from tests.tasks.dedup_lake import DATASET, DedupLake

SIGNATURES = f"curated/{DATASET}/signatures"


def put_signatures(lake: DedupLake, snapshot: str, texts: Sequence[str], parameters: DedupParameters) -> None:
    """Commit the signatures of texts as the task does that makes them; the texts lie in a file of their own."""
    attempt = lake.lake.begin(SIGNATURES, snapshot, SCHEMA_WITH_SOURCE)
    text_file = f"texts/{attempt.attempt}.parquet"
    columns = {
        "doc_id": [doc_id(snapshot, number) for number in range(len(texts))],
        "source": [("pages", "books")[number % 2] for number in range(len(texts))],
        "snapshot": [snapshot] * len(texts),
        "text_file": [text_file] * len(texts),
        "text_hash": [text_hash(text) for text in texts],
        "quality": [float(len(text) % 7) if number % 5 else None for number, text in enumerate(texts)],
    }
    types = {"quality": pa.float64()}
    arrays = {name: pa.array(values, types.get(name, pa.string())) for name, values in columns.items()}
    table = pa.table(arrays | {"text": pa.array(texts, pa.large_string())})
    with lake.lake.store.open_output(text_file) as out:
        pq.write_table(table, out, write_page_checksum=True)
    directory = attempt.directory
    with ShardWriter(
        lake.lake.store, directory=directory, name=attempt.attempt, schema=SCHEMA_WITH_SOURCE, partition=snapshot
    ) as writer:
        writer.write(sign(table, parameters.to_json()))
    lake.lake.commit(attempt, writer.files, {"signed_with": parameters.signature_fingerprint})


def doc_id(snapshot: str, number: int) -> str:
    """Return an id whose order is not that of the snapshots."""
    return f"{text_hash(f'{snapshot} {number}')[:8]}-{snapshot}-{number}"


def resolve_at_once(lake: DedupLake, parameters: DedupParameters) -> Resolution:
    """Resolve what the lake holds now, knowing nothing."""
    withdrawn = read_withdrawn(lake.lake, DATASET)
    tables = [
        withdrawn.left(lake.lake.read(SIGNATURES, partitions=[name]).drop_columns("partition_key"))
        for name in lake.lake.partitions(SIGNATURES)
    ]
    return find_duplicates(tables, parameters=parameters, read_texts=stored_texts(lake.lake.store))
