"""WARC, WET and ARC files: where each page lies, and its bytes.

Rows are responses, resources and conversions (the text of a WET file), plus one failed row for every record that is
cut, garbled or lies about its length. Requests, metadata and revisits hold no page and give no row.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from corpusmill.read.compressed import CHUNK_BYTES, DamagedMemberError, MemberStream, codec_of
from corpusmill.read.http_message import BodyError, ResponseHead, decode_body, parse_head
from corpusmill.read.license_link import linked_license
from corpusmill.read.rows import FoundRecord, Payload
from corpusmill.read.source_file import InputFile
from corpusmill.read.warc_records import RecordSyntax, WarcRecord, read_header, scan_records
from corpusmill.read.window import OVERLAP_BYTES, ByteWindow

SUFFIXES = (".warc", ".warc.gz", ".warc.lz4", ".warc.zst", ".wet", ".wet.gz", ".wet.lz4", ".wet.zst")
ARC_SUFFIXES = (".arc", ".arc.gz", ".arc.lz4", ".arc.zst")

_PAGES = ("response", "resource", "conversion")
_MAGIC = {"gzip": b"\x1f\x8b\x08", "lz4": b"\x04\x22\x4d\x18", "zstd": b"\x28\xb5\x2f\xfd"}


def list_warc(file: InputFile, syntax: RecordSyntax) -> Iterator[FoundRecord]:
    """Yield the pages of a file in order, and its broken records."""
    codec = codec_of(file)
    size = file.size()
    if size == 0:
        yield FoundRecord(position="0", offset=0, length=0, failure="empty_file")
    start: int | None = 0
    while start is not None and start < size:
        window = ByteWindow(_member_opener(file, start, codec))
        yield from _list_member(window, start, codec, syntax)
        start = _next_member(file, start, window, codec, syntax)


class WarcCursor:
    """Payloads of one file; records in file order cost one pass."""

    def __init__(self, file: InputFile, syntax: RecordSyntax) -> None:
        self._file = file
        self._syntax = syntax
        self._codec = codec_of(file)
        self._window: ByteWindow | None = None
        self._member = -1

    def payload(self, row: dict[str, Any], *, max_bytes: int) -> Payload:
        """Return the page of the listed `row`, at `offset` or, in a member of many records, at `offset+inside`."""
        position = row["locator"].rpartition("#")[2]
        offset, _, inside = position.partition("+")
        window = self._window_at(int(offset), int(inside or 0))
        record = read_header(window, self._syntax)
        if record is None or record.declared_bytes is None:
            return Payload(failure="garbled_record")
        if record.declared_bytes > max_bytes:
            return Payload(failure="payload_too_large")
        block = window.take(record.declared_bytes)
        if len(block) < record.declared_bytes:
            return Payload(failure="truncated_record")
        return _page(record, block, max_bytes)

    def _window_at(self, member: int, inside: int) -> ByteWindow:
        if self._codec is None:
            return ByteWindow(_member_opener(self._file, member, None))
        if self._window is None or member != self._member:
            self._window = ByteWindow(_member_opener(self._file, member, self._codec))
            self._member = member
        self._window.move_to(inside)
        return self._window


def _page(record: WarcRecord, block: bytes, max_bytes: int) -> Payload:
    head = parse_head(block) if record.kind == "response" else None
    if head is None:
        return Payload(data=block)
    try:
        return Payload(data=decode_body(block[head.body_start :], head.headers, max_bytes=max_bytes))
    except BodyError as error:
        return Payload(failure=str(error))


def _member_opener(file: InputFile, start: int, codec: str | None) -> Callable[[int], MemberStream]:
    def open_at(position: int) -> MemberStream:
        if codec is None:
            return MemberStream(file, start + position, None)
        stream = MemberStream(file, start, codec)
        stream.skip(position)
        return stream

    return open_at


def _list_member(window: ByteWindow, start: int, codec: str | None, syntax: RecordSyntax) -> Iterator[FoundRecord]:
    """Yield a member's rows. The only record of a compressed member learns the member's length; of many, none does."""
    if codec is None:
        for record in scan_records(window, syntax):
            yield from _rows_of(record, start=start, codec=None)
        return
    held: list[FoundRecord] = []
    num_records = 0
    for record in scan_records(window, syntax):
        num_records += 1
        yield from held
        held = _rows_of(record, start=start, codec=codec)
    if num_records == 1 and window.is_complete:
        held = [replace(row, length=window.end - start) for row in held]
    yield from held


def _rows_of(record: WarcRecord, *, start: int, codec: str | None) -> list[FoundRecord]:
    if record.failure is None and record.kind not in _PAGES:
        return []
    offset, position, length = start, str(start), None
    if codec is None:
        offset = start + record.start
        position = str(offset)
        length = record.header_bytes + (record.actual_bytes or 0)
    elif record.start:
        position = f"{start}+{record.start}"
    row = _describe(record)
    return [replace(row, position=position, offset=offset, length=length)]


def _describe(record: WarcRecord) -> FoundRecord:
    headers = record.headers
    head = parse_head(record.head) if record.kind == "response" else None
    meta = {
        "warc_type": record.kind,
        "warc_date": headers.get("warc-date"),
        "warc_record_id": headers.get("warc-record-id"),
        "warc_truncated": headers.get("warc-truncated"),
        "http_status": str(head.status) if head else None,
        "http_missing_bytes": _missing_bytes(record, head) if head else None,
        "declared_bytes": str(record.declared_bytes) if record.failure else None,
        "actual_bytes": str(record.actual_bytes) if record.failure else None,
    }
    content_type = head.headers.get("content-type") if head else headers.get("content-type")
    language = headers.get("warc-identified-content-language") or (head and head.headers.get("content-language")) or ""
    return FoundRecord(
        position="",
        url=headers.get("warc-target-uri", "").strip("<>") or None,
        content_type=content_type,
        declared_language=language.split(",")[0].strip() or None,
        declared_license=linked_license(head.links) if head else None,
        meta={key: value for key, value in meta.items() if value},
        failure=record.failure,
    )


def _missing_bytes(record: WarcRecord, head: ResponseHead) -> str | None:
    """Return how many bytes of the body the crawler did not get, by the server's own Content-Length, or None.

    A body that was packed on its way says nothing: crawlers store it unpacked under the old length.
    """
    declared = head.headers.get("content-length", "")
    is_packed = {"content-encoding", "transfer-encoding"} & set(head.headers)
    if is_packed or not (declared.isascii() and declared.isdigit() and len(declared) < 19):
        return None
    missing = int(declared) - ((record.declared_bytes or 0) - head.body_start)
    return str(missing) if missing > 0 else None


def _next_member(
    file: InputFile, start: int, window: ByteWindow, codec: str | None, syntax: RecordSyntax
) -> int | None:
    if codec is None:
        return None
    if window.is_complete:
        return window.end
    return _find_member(file, start + 1, codec, syntax)


def _find_member(file: InputFile, start: int, codec: str, syntax: RecordSyntax) -> int | None:
    """Return where the next member with a record begins, from `start` on, or None."""
    magic = _MAGIC[codec]
    size = file.size()
    while start < size:
        file.seek(start)
        data = bytes(file.read(CHUNK_BYTES))
        found = data.find(magic)
        while found >= 0:
            if _begins_record(file, start + found, codec, syntax):
                return start + found
            found = data.find(magic, found + 1)
        if start + len(data) >= size:
            return None
        start += len(data) - len(magic) + 1
    return None


def _begins_record(file: InputFile, start: int, codec: str, syntax: RecordSyntax) -> bool:
    try:
        data = MemberStream(file, start, codec).read(OVERLAP_BYTES).lstrip(b"\r\n")
    except DamagedMemberError:
        return False
    return syntax.next_record.match(data) is not None
