"""Records of one WARC or ARC member, read forgivingly: a broken record is reported and the next one is found.

Read here is WARC, versions 0.17 to 1.1, with either kind of line end; ARC has a `RecordSyntax` of its own. Declared and
actual length are compared, which common readers do not do: a cut record otherwise passes for a short page. Costs one
pass; a record that declares too many bytes makes the member be read again up to it.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from corpusmill.read.window import OVERLAP_BYTES, ByteWindow

HEAD_BYTES = 1 << 16
"""How much of a block is looked at when listing: more than any server's response header."""

_BLANK_LINE = re.compile(rb"\r?\n\r?\n")
_VERSION = re.compile(rb"WARC/\d+\.\d+ ?\r?\n")


@dataclass(frozen=True, kw_only=True)
class WarcRecord:
    """A record's place inside its member's decompressed bytes, and what its header says."""

    start: int
    header_bytes: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    """Header fields with lower-case names; the last of equal names holds."""
    head: bytes = b""
    """The first 64 KiB of the block."""
    actual_bytes: int | None = None
    """Bytes of the block that are there, where that could be told."""
    failure: str | None = None

    @property
    def declared_bytes(self) -> int | None:
        value = self.headers.get("content-length", "")
        return int(value) if value.isascii() and value.isdigit() and len(value) < 19 else None

    @property
    def kind(self) -> str:
        return self.headers.get("warc-type", "").lower()


@dataclass(frozen=True, kw_only=True)
class RecordSyntax:
    """How the records of a kind of file begin."""

    next_record: re.Pattern[bytes]
    """Matches at the beginning of a record, behind a line end or at the beginning of the bytes."""
    literal: bytes
    """In every match of `next_record`."""
    may_begin: Callable[[bytes], bool]
    """Whether bytes may be the beginning of a record, were they cut somewhere behind."""
    parse_header: Callable[[bytes], tuple[int, dict[str, str]] | None]
    """Return the header's length and its fields, or None where there is no header."""


def scan_records(window: ByteWindow, syntax: RecordSyntax) -> Iterator[WarcRecord]:
    """Yield the records of a member in order; broken ones have a `failure`."""
    while True:
        window.skip_newlines()
        if not window.peek(1):
            if window.damage:
                yield WarcRecord(start=window.position, failure="damaged_compression")
            return
        record = read_header(window, syntax)
        if record is None:
            yield _garbled(window, syntax)
        elif record.declared_bytes is None:
            yield _without_length(window, record, syntax)
        else:
            yield _walk_block(window, record, record.declared_bytes, syntax)


def read_header(window: ByteWindow, syntax: RecordSyntax) -> WarcRecord | None:
    """Read the record header at the window and stop at its block; None, and stay, where there is none."""
    found = syntax.parse_header(window.peek(HEAD_BYTES))
    if found is None:
        return None
    start = window.position
    header_bytes, headers = found
    window.take(header_bytes)
    return WarcRecord(start=start, header_bytes=header_bytes, headers=headers, head=window.peek(HEAD_BYTES))


def parse_headers(data: bytes) -> dict[str, str]:
    """Return the `name: value` lines behind the first line, names in lower case, folded lines joined."""
    headers: dict[str, str] = {}
    name = ""
    for line in data.decode("utf-8", "replace").splitlines()[1:]:
        if line[:1] in (" ", "\t") and name:
            headers[name] += " " + line.strip()
        elif ":" in line:
            name, _, value = line.partition(":")
            name = name.strip().lower()
            headers[name] = value.strip()
    return headers


def _parse_warc_header(data: bytes) -> tuple[int, dict[str, str]] | None:
    end = _BLANK_LINE.search(data)
    if not _VERSION.match(data) or end is None:
        return None
    return end.end(), parse_headers(data[: end.start()])


WARC = RecordSyntax(
    next_record=re.compile(rb"(?<=\n)WARC/\d+\.\d+ ?\r?\n[A-Za-z-]+:|^WARC/\d+\.\d+ ?\r?\n[A-Za-z-]+:"),
    literal=b"WARC/",
    may_begin=lambda data: b"WARC/".startswith(data[:5]),
    parse_header=_parse_warc_header,
)


def _walk_block(window: ByteWindow, record: WarcRecord, declared_bytes: int, syntax: RecordSyntax) -> WarcRecord:
    block_start = window.position
    candidate = window.pass_over(declared_bytes, syntax.next_record, syntax.literal)
    actual_bytes = window.position - block_start
    head = record.head[:declared_bytes]
    if actual_bytes == declared_bytes and _is_at_boundary(window, syntax):
        return replace(record, head=head, actual_bytes=actual_bytes)
    if actual_bytes < declared_bytes and candidate is None:
        return replace(record, head=head, actual_bytes=actual_bytes, failure=_why_short(window))
    if candidate is None:
        window.move_to_next(syntax.next_record)
    else:
        window.move_to(candidate)
    actual_bytes = window.position - block_start
    return replace(record, head=head, actual_bytes=actual_bytes, failure="wrong_content_length")


def _is_at_boundary(window: ByteWindow, syntax: RecordSyntax) -> bool:
    """Say whether a record, its first bytes where the file is cut, or nothing follows."""
    window.skip_newlines()
    return syntax.may_begin(window.peek(OVERLAP_BYTES))


def _why_short(window: ByteWindow) -> str:
    if window.damage:
        return "damaged_compression"
    return "wrong_content_length" if window.is_complete and window.is_compressed else "truncated_record"


def _garbled(window: ByteWindow, syntax: RecordSyntax) -> WarcRecord:
    start = window.position
    window.take(1)
    window.move_to_next(syntax.next_record)
    return WarcRecord(start=start, failure="damaged_compression" if window.damage else "garbled_record")


def _without_length(window: ByteWindow, record: WarcRecord, syntax: RecordSyntax) -> WarcRecord:
    window.move_to_next(syntax.next_record)
    return replace(record, head=b"", failure="no_content_length")
