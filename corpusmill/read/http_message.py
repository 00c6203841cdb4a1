"""HTTP responses as crawlers store them: status, headers, and the body without its transfer and content encodings."""

import re
import zlib
from dataclasses import dataclass

from corpusmill.read.warc_records import parse_headers

_STATUS = re.compile(rb"HTTP/\d(?:\.\d)?\s+(\d{3})")
_BLANK_LINE = re.compile(rb"\r?\n\r?\n")
_LINK = re.compile(rb"^link:([^\r\n]*)", re.IGNORECASE | re.MULTILINE)
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,8})[^\r\n]{0,200}\r\n")
_PLAIN_ENCODINGS = ("", "identity")


class BodyError(Exception):
    """A body that cannot be decoded; the message is the failure's name."""


@dataclass(frozen=True, kw_only=True)
class ResponseHead:
    """Status and headers of a response, and where its body begins."""

    status: int | None
    headers: dict[str, str]
    body_start: int
    links: str = ""
    """The values of all `Link` headers, joined by commas: a response may have several."""


def parse_head(data: bytes) -> ResponseHead | None:
    """Return the head of the response that `data` begins with, or None when it is none."""
    status = _STATUS.match(data)
    end = _BLANK_LINE.search(data)
    if status is None or end is None:
        return None
    head = data[: end.start()]
    links = ", ".join(link.decode("utf-8", "replace").strip() for link in _LINK.findall(head))
    return ResponseHead(status=int(status[1]), headers=parse_headers(head), body_start=end.end(), links=links)


def decode_body(body: bytes, headers: dict[str, str], *, max_bytes: int) -> bytes:
    """Return the body as the page was before the server packed it; raises BodyError, also above `max_bytes`.

    Crawls that store bodies unpacked under the original headers are common, so a body that does not look packed is
    returned as it is.
    """
    if "chunked" in headers.get("transfer-encoding", "").lower():
        body = _join_chunks(body)
    encoding = headers.get("content-encoding", "").lower().strip()
    if encoding in _PLAIN_ENCODINGS:
        return body
    if encoding in ("gzip", "x-gzip"):
        return _inflate(body, 31, max_bytes) if body.startswith(b"\x1f\x8b") else body
    if encoding == "deflate":
        return _inflate(body, 15 if body[:1] == b"\x78" else -15, max_bytes)
    raise BodyError("unsupported_content_encoding")


def _join_chunks(body: bytes) -> bytes:
    parts: list[bytes] = []
    position = 0
    while match := _CHUNK.match(body, position):
        size = int(match[1], 16)
        if size == 0:
            return b"".join(parts)
        parts.append(body[match.end() : match.end() + size])
        position = match.end() + size + 2
    if not parts:
        return body
    if position >= len(body):
        raise BodyError("truncated_body")
    raise BodyError("garbled_chunks")


def _inflate(body: bytes, window_bits: int, max_bytes: int) -> bytes:
    decompressor = zlib.decompressobj(window_bits)
    try:
        data = decompressor.decompress(body, max_bytes + 1)
    except zlib.error as error:
        raise BodyError("garbled_content_encoding") from error
    if len(data) > max_bytes:
        raise BodyError("payload_too_large")
    if not decompressor.eof:
        raise BodyError("truncated_body")
    return data
