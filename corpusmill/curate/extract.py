"""Payloads to text: one row in, one row out, with the text or the reason why there is none.

Which way a payload goes is decided by its content type and the dataset's method. Time and memory of a page are bounded:
too large or too deeply nested pages fail at once (the same everywhere), the others are read in a child process.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import pyarrow as pa

from corpusmill.curate.decoding import clean_text, decode, wide_charset
from corpusmill.curate.html import METHODS as HTML_METHODS
from corpusmill.curate.isolation import ExtractionFailedError, PageReader, borrowed_reader
from corpusmill.curate.main_text import Confidence
from corpusmill.curate.markup_depth import measure_markup
from corpusmill.curate.page_tree import MAX_DEPTH
from corpusmill.document import EXTRACTED, text_hash
from corpusmill.meant import check_known, did_you_mean

METHODS = (*HTML_METHODS, "plain", "rst")

_HTML_TYPES = ("text/html", "application/xhtml+xml", "application/xhtml", "application/html")
_TEXT_TYPES = ("application/json", "application/javascript", "application/x-javascript", "application/xml")
_SNIFFED_BYTES = 1024
_BINARY_MAGIC = (
    b"%PDF-",
    b"PK\x03\x04",
    b"\x89PNG\r\n",
    b"GIF8",
    b"\xff\xd8\xff",
    b"\x1f\x8b\x08",
    b"RIFF",
    b"\x7fELF",
)
"""PDF, zip and office files, PNG, GIF, JPEG, gzip, WAV and WebP, programs: served as pages by servers that do not look."""
_LEAST_MEMORY = 256 << 20
"""What the child's libraries take, with room for a page."""
_DEFAULT = "fast"


@dataclass(frozen=True, kw_only=True)
class ExtractLimits:
    """What one page may cost. Pages above the first two fail at once, the others when they meet the last two."""

    max_html_bytes: int = 16 << 20
    """Ten times Common Crawl's own cut at 1 MiB (5 MiB since 2025), so that only crawls without a cut meet it."""
    max_depth: int = MAX_DEPTH
    """What the parser bears, counted without elements that HTML closes by itself; the parser counts all."""
    timeout_seconds: float = 8.0
    memory_bytes: int = 700 << 20
    """Address space of the child that reads the page, its libraries included: with its parent it stays below 1 GB."""

    def __post_init__(self) -> None:
        if self.timeout_seconds <= 0 or self.memory_bytes < _LEAST_MEMORY:
            raise ValueError(
                f"a page needs time and at least {_LEAST_MEMORY} bytes, got timeout_seconds={self.timeout_seconds} "
                f"and memory_bytes={self.memory_bytes}"
            )

    @classmethod
    def from_mapping(cls, value: Mapping[str, Any]) -> "ExtractLimits":
        unknown = sorted(set(value) - {field.name for field in fields(cls)})
        if unknown:
            known = ", ".join(field.name for field in fields(cls))
            raise ValueError(f"unknown extraction limit {', '.join(unknown)}; the limits are {known}")
        return cls(**value)


@dataclass(frozen=True, kw_only=True)
class _Extracted:
    text: str | None = None
    title: str | None = None
    language: str | None = None
    license: str | None = None
    failure: str | None = None


@dataclass(frozen=True, kw_only=True)
class _Way:
    """How payloads are read: the dataset's choices, and the process that reads them."""

    method: str
    limits: ExtractLimits
    confidence: Confidence
    reader: PageReader


def extract(payloads: pa.Table, parameters: Mapping[str, Any]) -> pa.Table:
    """Return EXTRACTED rows for RECORDS rows with a `payload`, in their order.

    Parameters, which `check_parameters` judges: `method` (for HTML one of `corpusmill.curate.html.METHODS`; `rst`: as
    `fast`; `plain`: markup is text too), `limits` (fields of ExtractLimits) and `confidence` (fields of
    `corpusmill.curate.main_text.Confidence`, for the method `fast`). Other parameters are not looked at.
    """
    method, limits, confidence = _choices(parameters)
    batches = payloads.to_batches(max_chunksize=256)
    with borrowed_reader(timeout_seconds=limits.timeout_seconds, memory_bytes=limits.memory_bytes) as reader:
        way = _Way(method=method, limits=limits, confidence=confidence, reader=reader)
        tables = [pa.Table.from_pylist(_rows(batch, way), schema=EXTRACTED) for batch in batches]
    return pa.concat_tables([EXTRACTED.empty_table(), *tables]).combine_chunks()


def check_parameters(parameters: Mapping[str, Any]) -> None:
    """Raise ValueError for parameters of an extraction that do not exist or cannot be."""
    check_known(parameters, ("method", "limits", "confidence", "records_per_shard"), what="parameters of an extraction")
    _choices(parameters)


def _choices(parameters: Mapping[str, Any]) -> tuple[str, ExtractLimits, Confidence]:
    method = parameters.get("method", _DEFAULT)
    if method not in METHODS:
        known = f"the methods are {', '.join(METHODS)}{did_you_mean(method, METHODS)}"
        raise ValueError(f"unknown extraction method {method!r}; {known}")
    limits = ExtractLimits.from_mapping(parameters.get("limits", {}))
    return method, limits, Confidence.from_mapping(parameters.get("confidence", {}))


def _rows(batch: pa.RecordBatch, way: _Way) -> list[dict[str, Any]]:
    described = batch.drop_columns(["payload"]).to_pylist()
    payloads = batch.column("payload")
    return [_row(row, payload.as_py(), way) for row, payload in zip(described, payloads, strict=True)]


def _row(row: dict[str, Any], payload: bytes | None, way: _Way) -> dict[str, Any]:
    found = _extract_payload(row, payload, way)
    meta = dict(row["meta"] or [])
    return {
        "doc_id": row["doc_id"],
        "source": row["source"],
        "snapshot": row["snapshot"],
        "locator": row["locator"],
        "url": row["url"],
        "title": found.title or meta.get("title"),
        "content_type": _media_type(row["content_type"]),
        "declared_language": row["declared_language"] or found.language,
        "license": row["declared_license"] or found.license,
        "text": found.text,
        "text_hash": text_hash(found.text) if found.text is not None else None,
        "meta": list(meta.items()),
        "failure": found.failure,
    }


def _extract_payload(row: dict[str, Any], payload: bytes | None, way: _Way) -> _Extracted:
    if row["failure"] is not None:
        return _Extracted(failure=row["failure"])
    if payload is None:
        return _Extracted(failure="no_payload")
    status = dict(row["meta"] or []).get("http_status", "200")
    if not status.startswith("2"):
        return _Extracted(failure="http_error")
    kind = _kind(_media_type(row["content_type"]), payload, way.method)
    if kind is None:
        return _Extracted(failure="unsupported_content_type")
    found = _READERS[kind](payload, row["content_type"], way)
    if found.failure is None and not (found.text or "").strip():
        return _Extracted(failure="empty_text")
    return found


def _media_type(content_type: str | None) -> str | None:
    return content_type.split(";", 1)[0].strip().lower() or None if content_type else None


def _kind(media_type: str | None, payload: bytes, method: str) -> str | None:
    """Return which reader takes the payload, or None for one that is no text, whatever its type says."""
    if payload.startswith(_BINARY_MAGIC):
        return None
    if media_type is None or media_type == "application/octet-stream":
        media_type = "text/html" if b"<html" in payload[:_SNIFFED_BYTES].lower() else "text/plain"
        if b"\x00" in payload[:_SNIFFED_BYTES] and wide_charset(payload) is None:
            return None
    if method == "plain":
        return "plain" if media_type.startswith("text/") or media_type in (*_TEXT_TYPES, *_HTML_TYPES) else None
    if media_type in _HTML_TYPES:
        return "html"
    if media_type == "text/x-rst":
        return "rst"
    return "plain" if media_type.startswith("text/") or media_type in _TEXT_TYPES else None


def _read_plain(payload: bytes, content_type: str | None, way: _Way) -> _Extracted:
    return _Extracted(text=clean_text(decode(payload, content_type, is_html=False)))


def _read_rst(payload: bytes, content_type: str | None, way: _Way) -> _Extracted:
    if len(payload) > way.limits.max_html_bytes:
        return _Extracted(failure="page_too_large")
    return _read_in_child(clean_text(decode(payload, content_type, is_html=False)), "rst", way)


def _read_html(payload: bytes, content_type: str | None, way: _Way) -> _Extracted:
    if len(payload) > way.limits.max_html_bytes:
        return _Extracted(failure="page_too_large")
    depth, _ = measure_markup(payload)
    if depth > way.limits.max_depth:
        return _Extracted(failure="nested_too_deep")
    html = decode(payload, content_type, is_html=True).replace("\x00", "")
    return _read_in_child(html, way.method if way.method in HTML_METHODS else _DEFAULT, way)


def _read_in_child(text: str, method: str, way: _Way) -> _Extracted:
    try:
        page = way.reader.read(text, method, way.confidence)
    except ExtractionFailedError as error:
        return _Extracted(failure=str(error))
    found = None if page.failure else clean_text(page.text)
    return _Extracted(text=found, title=page.title, language=page.language, license=page.license, failure=page.failure)


_READERS = {"html": _read_html, "rst": _read_rst, "plain": _read_plain}
