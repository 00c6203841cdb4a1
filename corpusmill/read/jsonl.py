"""Rows of JSONL files, plain or compressed with gzip, zstd or lz4, one JSON object a line, in bounded memory.

A line that is not UTF-8, not JSON or too long is a failed row of its own; the rest of the file is read.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from corpusmill.read.compressed import DamagedMemberError, MemberStream, codec_of
from corpusmill.read.options import ReadOptions
from corpusmill.read.rows import FoundRecord, Payload, SnapshotFile, clean_unicode
from corpusmill.read.source_file import InputFile

SUFFIXES = (".jsonl", ".jsonl.gz", ".jsonl.zst", ".jsonl.lz4", ".ndjson", ".ndjson.gz", ".ndjson.zst", ".json.gz")


@dataclass(frozen=True, kw_only=True)
class Line:
    """One line: its place in the decompressed file, its bytes without line end (None above the limit)."""

    number: int
    offset: int
    length: int
    data: bytes | None
    failure: str | None = None


def list_jsonl(file: InputFile, source: SnapshotFile, options: ReadOptions) -> Iterator[FoundRecord]:
    """Yield a file's rows in order; raises ValueError at the end when no row had the text column."""
    if source.size == 0:
        yield FoundRecord(position="", failure="empty_file")
        return
    columns: dict[str, None] = {}
    num_texts = 0
    for line in read_lines(file, max_bytes=options.max_payload_bytes):
        value, failure = parse_line(line)
        columns.update(dict.fromkeys(list(value)[:100]))
        if failure is None and options.text_column not in value:
            failure = "no_text_column"
        num_texts += options.text_column in value
        yield _listed(line, value, failure, options)
    if columns and not num_texts:
        raise ValueError(
            f"no line of {source.uri} has the column {options.text_column}; its columns are {', '.join(columns)}. "
            "Name the right one in the source's options (text_column)"
        )


class JsonlCursor:
    """Texts of one JSONL file; lines in order cost one pass."""

    def __init__(self, file: InputFile) -> None:
        self._file = file
        self._codec = codec_of(file)
        self._lines: Iterator[Line] = iter(())
        self._next = -1

    def payload(self, row: dict[str, Any], *, max_bytes: int) -> Payload:
        """Return the text of the listed `row` as UTF-8."""
        number = int(row["locator"].rpartition("#line=")[2])
        column = dict(row["meta"])["text_column"]
        value, failure = parse_line(self._line(number, row, max_bytes))
        text = value.get(column)
        if failure is not None:
            return Payload(failure=failure)
        if not isinstance(text, str):
            return Payload(failure="null_text" if text is None else "text_not_a_string")
        return Payload(data=clean_unicode(text).encode())

    def _line(self, number: int, row: dict[str, Any], max_bytes: int) -> Line:
        if self._codec is None and row["length"] <= max_bytes:
            self._file.seek(row["offset"])
            data = bytes(self._file.read(row["length"]))
            if len(data) < row["length"]:
                return _changed(number)
            data = data.rstrip(b"\r\n")
            return Line(number=number, offset=row["offset"], length=row["length"], data=_without_bom(data, number))
        if self._next < 0 or number < self._next:
            self._lines = read_lines(self._file, max_bytes=max_bytes)
        self._next = number + 1
        return next((line for line in self._lines if line.number == number), _changed(number))


def read_lines(file: InputFile, *, max_bytes: int) -> Iterator[Line]:
    """Yield the lines that are not blank, numbered from 0 with blank ones counted. A damaged end is a failed line."""
    number = offset = 0
    damage: list[str] = []
    for data, length in _split_lines(_decompressed(file, damage), max_bytes):
        if damage:
            break
        if data is None:
            yield Line(number=number, offset=offset, length=length, data=None, failure="payload_too_large")
        elif data.strip():
            yield Line(number=number, offset=offset, length=length, data=_without_bom(data, number))
        number += 1
        offset += length
    if damage:
        yield Line(number=number, offset=offset, length=0, data=None, failure=damage[0])


def parse_line(line: Line) -> tuple[dict[str, Any], str | None]:
    """Return the line's object and no failure, or an empty object and why there is none."""
    if line.data is None:
        return {}, line.failure
    try:
        value = json.loads(line.data.decode())
    except UnicodeDecodeError:
        return {}, "invalid_utf8"
    except (ValueError, RecursionError):
        return {}, "invalid_json"
    return (value, None) if isinstance(value, dict) else ({}, "not_an_object")


def _changed(number: int) -> Line:
    """Return a line that was listed and is not there any more."""
    return Line(number=number, offset=0, length=0, data=None, failure="file_changed")


def _without_bom(data: bytes, number: int) -> bytes:
    return data if number else data.removeprefix(b"\xef\xbb\xbf")


def _decompressed(file: InputFile, damage: list[str]) -> Iterator[bytes]:
    codec = codec_of(file)
    size = file.size()
    start = 0
    while start < size:
        stream = MemberStream(file, start, codec)
        try:
            while data := stream.read():
                yield data
        except DamagedMemberError:
            damage.append("damaged_compression")
            return
        if not stream.is_complete:
            damage.append("truncated_file")
            return
        start = stream.end if codec else size


def _split_lines(chunks: Iterator[bytes], max_bytes: int) -> Iterator[tuple[bytes | None, int]]:
    """Yield (line, its length with line end); a line above `max_bytes` is passed over and yields None for its bytes."""
    parts: list[bytes] = []
    length = 0
    for chunk in chunks:
        *ended, rest = chunk.split(b"\n")
        for piece in ended:
            total = length + len(piece)
            yield (b"".join([*parts, piece]) if total <= max_bytes else None), total + 1
            parts, length = [], 0
        length += len(rest)
        parts = [*parts, rest] if length <= max_bytes else []
    if length:
        yield (b"".join(parts) if length <= max_bytes else None), length


def _listed(line: Line, value: dict[str, Any], failure: str | None, options: ReadOptions) -> FoundRecord:
    def text(column: str | None) -> str | None:
        found = value.get(column) if column else None
        if found is None or isinstance(found, str):
            return found and clean_unicode(found)
        return json.dumps(found, sort_keys=True)

    meta = {name: found for name in options.meta_columns if (found := text(name)) is not None}
    return FoundRecord(
        position=f"line={line.number}",
        offset=line.offset,
        length=line.length,
        url=text(options.url_column),
        content_type=options.content_type or "text/plain",
        declared_language=text(options.language_column),
        declared_license=text(options.license_column),
        meta={**meta, "text_column": options.text_column},
        failure=failure,
    )
