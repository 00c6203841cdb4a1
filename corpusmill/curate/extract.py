"""Payloads to text: one row in, one row out, with the text or the reason why there is none.

Which way a payload goes is decided by its content type and the dataset's method. Time and memory of a page are bounded:
too large or too deeply nested pages fail at once (the same everywhere), large or deep ones are read in a child process.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import pyarrow as pa

from corpusmill.curate.decoding import clean_text, decode
from corpusmill.curate.html import METHODS as HTML_METHODS
from corpusmill.curate.html import HtmlPage, read_html
from corpusmill.curate.isolation import ExtractionFailedError, read_html_in_child
from corpusmill.curate.markup_depth import measure_markup
from corpusmill.curate.rst import rst_to_text
from corpusmill.document import EXTRACTED, text_hash

METHODS = (*HTML_METHODS, "plain", "rst")

_HTML_TYPES = ("text/html", "application/xhtml+xml", "application/xhtml", "application/html")
_TEXT_TYPES = ("application/json", "application/javascript", "application/x-javascript", "application/xml")
_SNIFFED_BYTES = 1024


@dataclass(frozen=True, kw_only=True)
class ExtractLimits:
    """What one page may cost. Pages above the first two fail at once; above the last two they get a child process."""

    max_html_bytes: int = 16 << 20
    """Ten times Common Crawl's own cut at 1 MiB (5 MiB since 2025), so that only crawls without a cut meet it."""
    max_depth: int = 5000
    """Ten times the depth at which Chromium flattens a page (blink, `kMaximumHTMLParserDOMTreeDepth` = 512)."""
    child_html_bytes: int = 2 << 20
    child_depth: int = 512
    child_tags: int = 100_000
    timeout_seconds: float = 30.0
    memory_bytes: int = 2 << 30

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


def extract(payloads: pa.Table, parameters: Mapping[str, Any]) -> pa.Table:
    """Return EXTRACTED rows for RECORDS rows with a `payload`, in their order.

    Parameters: `method` (`resiliparse` or `trafilatura` for HTML, `rst`: as `resiliparse`, `plain`: markup is text too)
    and `limits` (fields of ExtractLimits). Other parameters are not looked at.
    """
    method = parameters.get("method", "resiliparse")
    if method not in METHODS:
        raise ValueError(f"unknown extraction method {method!r}; the methods are {', '.join(METHODS)}")
    limits = ExtractLimits.from_mapping(parameters.get("limits", {}))
    batches = payloads.to_batches(max_chunksize=256)
    tables = [pa.Table.from_pylist(_rows(batch, method, limits), schema=EXTRACTED) for batch in batches]
    return pa.concat_tables([EXTRACTED.empty_table(), *tables]).combine_chunks()


def _rows(batch: pa.RecordBatch, method: str, limits: ExtractLimits) -> list[dict[str, Any]]:
    described = batch.drop_columns(["payload"]).to_pylist()
    payloads = batch.column("payload")
    return [_row(row, payload.as_py(), method, limits) for row, payload in zip(described, payloads, strict=True)]


def _row(row: dict[str, Any], payload: bytes | None, method: str, limits: ExtractLimits) -> dict[str, Any]:
    found = _extract_payload(row, payload, method, limits)
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


def _extract_payload(row: dict[str, Any], payload: bytes | None, method: str, limits: ExtractLimits) -> _Extracted:
    if row["failure"] is not None:
        return _Extracted(failure=row["failure"])
    if payload is None:
        return _Extracted(failure="no_payload")
    status = dict(row["meta"] or []).get("http_status", "200")
    if not status.startswith("2"):
        return _Extracted(failure="http_error")
    kind = _kind(_media_type(row["content_type"]), payload, method)
    if kind is None:
        return _Extracted(failure="unsupported_content_type")
    found = _READERS[kind](payload, row["content_type"], method, limits)
    if found.failure is None and not (found.text or "").strip():
        return _Extracted(failure="empty_text")
    return found


def _media_type(content_type: str | None) -> str | None:
    return content_type.split(";", 1)[0].strip().lower() or None if content_type else None


def _kind(media_type: str | None, payload: bytes, method: str) -> str | None:
    """Return which reader takes the payload, or None for one that is no text."""
    if media_type is None or media_type == "application/octet-stream":
        media_type = "text/html" if b"<html" in payload[:_SNIFFED_BYTES].lower() else "text/plain"
        if b"\x00" in payload[:_SNIFFED_BYTES]:
            return None
    if method == "plain":
        return "plain" if media_type.startswith("text/") or media_type in (*_TEXT_TYPES, *_HTML_TYPES) else None
    if media_type in _HTML_TYPES:
        return "html"
    if media_type == "text/x-rst":
        return "rst"
    return "plain" if media_type.startswith("text/") or media_type in _TEXT_TYPES else None


def _read_plain(payload: bytes, content_type: str | None, method: str, limits: ExtractLimits) -> _Extracted:
    return _Extracted(text=clean_text(decode(payload, content_type, is_html=False)))


def _read_rst(payload: bytes, content_type: str | None, method: str, limits: ExtractLimits) -> _Extracted:
    text, title = rst_to_text(clean_text(decode(payload, content_type, is_html=False)))
    return _Extracted(text=clean_text(text), title=title)


def _read_html(payload: bytes, content_type: str | None, method: str, limits: ExtractLimits) -> _Extracted:
    if len(payload) > limits.max_html_bytes:
        return _Extracted(failure="page_too_large")
    depth, num_tags = measure_markup(payload)
    if depth > limits.max_depth:
        return _Extracted(failure="nested_too_deep")
    is_suspicious = len(payload) > limits.child_html_bytes or depth > limits.child_depth or num_tags > limits.child_tags
    html = decode(payload, content_type, is_html=True).replace("\x00", "")
    html_method = method if method in HTML_METHODS else "resiliparse"
    try:
        page = _read_suspicious(html, html_method, limits) if is_suspicious else read_html(html, html_method)
    except ExtractionFailedError as error:
        return _Extracted(failure=str(error))
    return _Extracted(text=clean_text(page.text), title=page.title, language=page.language, license=page.license)


def _read_suspicious(html: str, method: str, limits: ExtractLimits) -> HtmlPage:
    return read_html_in_child(html, method, timeout_seconds=limits.timeout_seconds, memory_bytes=limits.memory_bytes)


_READERS = {"html": _read_html, "rst": _read_rst, "plain": _read_plain}
