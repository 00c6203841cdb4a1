"""The records of a snapshot, and their payloads: the one way in for every format.

A snapshot is a folder (or one file) at an absolute URI. Listing opens every file once and keeps no payload; fetching
opens only the files of the records asked for. Memory is bounded in both, whatever a file holds.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

import pyarrow as pa

from corpusmill.document import RECORDS
from corpusmill.lake.store import Store
from corpusmill.read.arc_records import ARC
from corpusmill.read.checkout import checkout_license
from corpusmill.read.file_names import is_plain, spelled
from corpusmill.read.file_types import SUFFIXES as SOURCE_SUFFIXES
from corpusmill.read.file_types import file_type
from corpusmill.read.jsonl import SUFFIXES as JSONL_SUFFIXES
from corpusmill.read.jsonl import JsonlCursor, list_jsonl
from corpusmill.read.options import ReadOptions
from corpusmill.read.package import SUFFIXES as PACKAGE_SUFFIXES
from corpusmill.read.package import PackageCursor, list_package
from corpusmill.read.parquet import SUFFIXES as PARQUET_SUFFIXES
from corpusmill.read.parquet import ParquetCursor, list_parquet
from corpusmill.read.rows import PAYLOADS, FoundRecord, Payload, SnapshotFile, to_payload_tables, to_records
from corpusmill.read.source_file import InputFile, SourceFile, open_source
from corpusmill.read.warc import ARC_SUFFIXES, WarcCursor, list_warc
from corpusmill.read.warc import SUFFIXES as WARC_SUFFIXES
from corpusmill.read.warc_records import WARC

FORMATS = {
    "warc": WARC_SUFFIXES,
    "wet": WARC_SUFFIXES,
    "arc": ARC_SUFFIXES,
    "html": (".html", ".htm", ".xhtml"),
    "text": (".txt", ".rst", ".md", ".tex"),
    "parquet": PARQUET_SUFFIXES,
    "jsonl": JSONL_SUFFIXES,
    "package": PACKAGE_SUFFIXES,
    "checkout": SOURCE_SUFFIXES,
}
"""Each format with the endings of its files, in lower case."""

DEFAULT_MAX_PAYLOAD_BYTES = ReadOptions().max_payload_bytes


class Cursor(Protocol):
    """Payloads of one open file."""

    def payload(self, row: dict[str, Any], *, max_bytes: int) -> Payload: ...


def list_records(
    *, dataset: str, snapshot: str, format: str, uri: str, store: Store, options: dict[str, Any]
) -> Iterator[pa.Table]:
    """Yield RECORDS tables of at most 4,096 rows, files sorted by path, records in file order.

    `uri` is the snapshot's folder or one file in it. Raises ValueError for an unknown format or option, and for a
    folder without a file of the format.
    """
    if format not in FORMATS:
        raise ValueError(f"unknown format {format!r} of source {dataset}; the formats are {', '.join(FORMATS)}")
    read_options = ReadOptions.from_mapping(options)
    files = _snapshot_files(snapshot=snapshot, format=format, uri=uri, store=store, options=read_options)
    found = _list_files(files, format=format, store=store, options=read_options)
    yield from to_records(found, dataset=dataset, snapshot=snapshot, container=format)


def fetch_payloads(
    records: pa.Table, store: Store, *, max_payload_bytes: int = DEFAULT_MAX_PAYLOAD_BYTES
) -> Iterator[pa.Table]:
    """Yield the records in their order with a column `payload`, in tables of at most 4,096 rows and about 64 MiB.

    A record that cannot be fetched has no payload and its `failure` says why; one that was listed as failed keeps its
    own. A file that vanished since, or became a folder, is such a failure too; a storage that does not answer is none: it
    raises StorageError.
    """
    start = 0
    for payloads in to_payload_tables(_payloads(records, store, max_payload_bytes)):
        batch = records.slice(start, payloads.num_rows).combine_chunks()
        start += payloads.num_rows
        failure = batch.schema.get_field_index("failure")
        batch = batch.set_column(failure, RECORDS.field("failure"), payloads["failure"])
        yield batch.append_column(PAYLOADS.field("payload"), payloads["payload"])


def is_bookkeeping(path: str) -> bool:
    """Return whether a path inside a snapshot is no data: names that begin with a dot, folders with an underscore too, and
    the markers that some S3 clients leave for folders (`a/`)."""
    *folders, name = path.split("/")
    return name.startswith(".") or not name or any(folder.startswith((".", "_")) for folder in folders)


def _snapshot_files(
    *, snapshot: str, format: str, uri: str, store: Store, options: ReadOptions
) -> Iterator[SnapshotFile]:
    """Yield the files of a format below `uri`, or the file at `uri`; a single file of another kind gives none."""
    root = store.uri(uri)
    if store.exists(root):
        path = _path_in_snapshot(root, f"{store.root}/{snapshot}/")
        yield from (
            [SnapshotFile(uri=root, path=path, size=store.size(root))] if is_taken(path, format, options) else []
        )
        return
    num_files = num_others = 0
    for found in store.list(f"{root}/"):
        path = found.uri.removeprefix(f"{root}/")
        if is_taken(path, format, options):
            num_files += 1
            yield SnapshotFile(uri=found.uri, path=path, size=found.size)
        else:
            num_others += 1
    if not num_files:
        raise ValueError(_nothing_found(root, format, num_others))


def _path_in_snapshot(uri: str, folder: str) -> str:
    """Return what follows the snapshot's folder, the path that a listing of it gives; the name of a file outside of it."""
    return uri.removeprefix(folder) if uri.startswith(folder) else uri.rsplit("/", 1)[-1]


def is_taken(path: str, format: str, options: ReadOptions) -> bool:
    """Return whether a file at `path` inside a snapshot is read: data, of the format, and chosen by include and exclude."""
    if is_bookkeeping(path):
        return False
    # Patterns of a package source name its members, not the archive.
    return path.lower().endswith(FORMATS[format]) and (format == "package" or options.takes(path))


def _nothing_found(root: str, format: str, num_others: int) -> str:
    wanted = f"a {format} snapshot has files ending in {', '.join(FORMATS[format])}"
    if num_others:
        return (
            f"none of the {num_others} files below {root} is taken: {wanted}; look at the source's format and include"
        )
    return f"nothing lies at {root}: the snapshot is empty or has vanished; {wanted}"


def _list_files(
    files: Iterator[SnapshotFile], *, format: str, store: Store, options: ReadOptions
) -> Iterator[tuple[SnapshotFile, FoundRecord]]:
    for source in files:
        if not is_plain(source.path):
            named = replace(source, uri=spelled(source.uri), path=spelled(source.path))
            yield named, FoundRecord(position="", failure="unusable_file_name")
            continue
        for record in _list_file(source, format=format, store=store, options=options):
            yield source, _with_declarations(record, options)


def _list_file(source: SnapshotFile, *, format: str, store: Store, options: ReadOptions) -> Iterator[FoundRecord]:
    if format in ("html", "text"):
        yield _whole_file(source, options)
        return
    if format == "checkout":
        yield _source_file(source, store, options)
        return
    with open_source(store, source.uri) as file:
        if format in ("warc", "wet", "arc"):
            yield from list_warc(file, ARC if format == "arc" else WARC)
        else:
            listing = _LISTINGS[format]
            yield from listing(file, source, options)


def _whole_file(source: SnapshotFile, options: ReadOptions) -> FoundRecord:
    kind = file_type(source.path)
    failure = "payload_too_large" if source.size > options.max_payload_bytes else None
    return FoundRecord(
        position="",
        length=source.size,
        content_type=options.content_type or (kind[1] if kind else None),
        meta={"path": source.path},
        failure=failure if source.size else "empty_file",
    )


def _source_file(source: SnapshotFile, store: Store, options: ReadOptions) -> FoundRecord:
    """A file of a checkout; `package` is the folder of its repository."""
    found = _whole_file(source, options)
    kind = file_type(source.path)
    root = source.uri.removesuffix(f"/{source.path}")
    return replace(
        found,
        declared_license=checkout_license(store, root, source.path),
        meta={**found.meta, "language": kind[0] if kind else "", "package": source.path.partition("/")[0]},
    )


def _with_declarations(record: FoundRecord, options: ReadOptions) -> FoundRecord:
    """Fill in what the options declare for the whole source where the record itself says nothing."""
    if not options.declared_language and not options.declared_license and not options.content_type:
        return record
    return replace(
        record,
        content_type=options.content_type or record.content_type,
        declared_language=record.declared_language or options.declared_language,
        declared_license=record.declared_license or options.declared_license,
    )


def _payloads(records: pa.Table, store: Store, max_bytes: int) -> Iterator[tuple[str, Payload]]:
    open_uri: str | None = None
    file: SourceFile | None = None
    cursor: Cursor
    try:
        for row in _rows(records):
            if row["failure"] is not None:
                yield row["doc_id"], Payload(failure=row["failure"])
                continue
            if row["file"] != open_uri:
                if file is not None:
                    file.close()
                open_uri = row["file"]
                file, cursor = _open_cursor(row, store)
            yield row["doc_id"], cursor.payload(row, max_bytes=max_bytes)
    finally:
        if file is not None:
            file.close()


def _rows(records: pa.Table) -> Iterator[dict[str, Any]]:
    for batch in records.to_batches(max_chunksize=1024):
        yield from batch.to_pylist()


def _open_cursor(row: dict[str, Any], store: Store) -> tuple[SourceFile | None, Cursor]:
    try:
        file = open_source(store, row["file"])
    except FileNotFoundError:
        return None, _NoFile(failure="file_not_found")
    except IsADirectoryError:
        return None, _NoFile(failure="file_is_a_folder")
    return file, _CURSORS[dict(row["meta"])["container"]](file, row["file"])


@dataclass(frozen=True, kw_only=True)
class _NoFile:
    """What there is to read where no file lies any more."""

    failure: str

    def payload(self, row: dict[str, Any], *, max_bytes: int) -> Payload:
        return Payload(failure=self.failure)


class _WholeFileCursor:
    def __init__(self, file: InputFile) -> None:
        self._file = file

    def payload(self, row: dict[str, Any], *, max_bytes: int) -> Payload:
        size = self._file.size()
        if size > max_bytes:
            return Payload(failure="payload_too_large")
        if size != row["length"]:
            return Payload(failure="file_changed")
        self._file.seek(0)
        return Payload(data=bytes(self._file.read()))


_LISTINGS: dict[str, Callable[[InputFile, SnapshotFile, ReadOptions], Iterator[FoundRecord]]] = {
    "parquet": list_parquet,
    "jsonl": list_jsonl,
    "package": list_package,
}

_CURSORS: dict[str, Callable[[InputFile, str], Cursor]] = {
    "warc": lambda file, _: WarcCursor(file, WARC),
    "wet": lambda file, _: WarcCursor(file, WARC),
    "arc": lambda file, _: WarcCursor(file, ARC),
    "html": lambda file, _: _WholeFileCursor(file),
    "text": lambda file, _: _WholeFileCursor(file),
    "parquet": lambda file, _: ParquetCursor(file),
    "jsonl": lambda file, _: JsonlCursor(file),
    "package": PackageCursor,
    "checkout": lambda file, _: _WholeFileCursor(file),
}
