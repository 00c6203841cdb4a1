"""Rows of a listing on their way to RECORDS tables, and payloads on their way to bounded batches."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import pyarrow as pa

from corpusmill.document import RECORDS, document_id

PAYLOADS = pa.schema(
    [
        pa.field("doc_id", pa.string(), nullable=False),
        pa.field("payload", pa.large_binary()),
        pa.field("failure", pa.string()),
    ]
)
"""What a record's bytes are, or why there are none."""

MAX_BATCH_ROWS = 4096
MAX_BATCH_BYTES = 64 << 20


@dataclass(frozen=True, kw_only=True)
class FoundRecord:
    """One record of a file, before it knows its dataset and snapshot."""

    position: str
    """Where the record lies inside its file; empty when the file is the record."""
    offset: int | None = None
    length: int | None = None
    url: str | None = None
    content_type: str | None = None
    declared_language: str | None = None
    declared_license: str | None = None
    meta: dict[str, str] = field(default_factory=dict)
    failure: str | None = None


@dataclass(frozen=True, kw_only=True)
class Payload:
    """A record's bytes, or the reason why there are none."""

    data: bytes | None = None
    failure: str | None = None


@dataclass(frozen=True, kw_only=True)
class SnapshotFile:
    """A file of a snapshot: its URI, its path inside the snapshot, its size."""

    uri: str
    path: str
    size: int


def to_records(
    found: Iterable[tuple[SnapshotFile, FoundRecord]], *, dataset: str, snapshot: str, container: str
) -> Iterator[pa.Table]:
    """Yield RECORDS tables of at most 4,096 rows.

    The locator is the file's path inside the snapshot plus the position: moving a snapshot changes no id.
    """
    rows: list[dict[str, object]] = []
    for file, record in found:
        locator = f"{file.path}#{record.position}" if record.position else file.path
        rows.append(
            {
                "doc_id": document_id(dataset, snapshot, locator),
                "source": dataset,
                "snapshot": snapshot,
                "locator": locator,
                "file": file.uri,
                "offset": record.offset,
                "length": record.length,
                "url": record.url,
                "content_type": record.content_type,
                "declared_language": record.declared_language,
                "declared_license": record.declared_license,
                "meta": [("container", container), *record.meta.items()],
                "failure": record.failure,
            }
        )
        if len(rows) == MAX_BATCH_ROWS:
            yield pa.Table.from_pylist(rows, schema=RECORDS)
            rows = []
    if rows:
        yield pa.Table.from_pylist(rows, schema=RECORDS)


def to_payload_tables(payloads: Iterable[tuple[str, Payload]]) -> Iterator[pa.Table]:
    """Yield PAYLOADS tables of at most 4,096 rows and about 64 MiB, in the order given."""
    ids: list[str] = []
    batch: list[Payload] = []
    num_bytes = 0
    for doc_id, payload in payloads:
        size = len(payload.data or b"")
        if ids and (len(ids) == MAX_BATCH_ROWS or num_bytes + size > MAX_BATCH_BYTES):
            yield _payload_table(ids, batch)
            ids, batch, num_bytes = [], [], 0
        ids.append(doc_id)
        batch.append(payload)
        num_bytes += size
    if ids:
        yield _payload_table(ids, batch)


def clean_unicode(text: str) -> str:
    """Return the text with each lone surrogate replaced by U+FFFD; surrogate pairs become the character they spell."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _payload_table(ids: list[str], batch: list[Payload]) -> pa.Table:
    columns = [
        pa.array(ids, pa.string()),
        pa.array([payload.data for payload in batch], pa.large_binary()),
        pa.array([payload.failure for payload in batch], pa.string()),
    ]
    return pa.Table.from_arrays(columns, schema=PAYLOADS)
