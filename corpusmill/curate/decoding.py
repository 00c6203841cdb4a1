"""Bytes to characters: which charset a payload is in, and a text without what no text needs."""

import codecs
import re

from resiliparse.parse.encoding import bytes_to_str, detect_encoding

_BYTE_ORDER_MARKS = {b"\xef\xbb\xbf": "utf-8", b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
_CHARSET = re.compile(r"""charset\s*=\s*["']?\s*([A-Za-z0-9_:.-]+)""", re.IGNORECASE)
_META_CHARSET = re.compile(rb"""<meta[^<>]{0,400}?charset\s*=\s*["']?\s*([A-Za-z0-9_:.-]+)""", re.IGNORECASE)
_XML_ENCODING = re.compile(rb"""^\s*<\?xml[^<>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9_:.-]+)""", re.IGNORECASE)
_META_BYTES = 4096
_DETECTION_BYTES = 1 << 16


def decode(data: bytes, content_type: str | None, *, is_html: bool) -> str:
    """Return the characters of `data`. Order: byte order mark, UTF-8 if it is valid, header, meta element, detection.

    Valid UTF-8 goes before the declarations: servers that declare Latin-1 for UTF-8 pages are common, and text of
    another charset that happens to be valid UTF-8 is not. What cannot be decoded becomes U+FFFD.
    """
    for mark, charset in _BYTE_ORDER_MARKS.items():
        if data.startswith(mark):
            return data[len(mark) :].decode(charset, "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return bytes_to_str(data, _charset(data, content_type, is_html), "replace", ("cp1252",))


def clean_text(text: str) -> str:
    """Return the text with plain line ends and without NULs, byte order marks and outer blank lines."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "").replace("\ufeff", "")
    return re.sub(r"\A(?:[ \t]*\n)+", "", text).rstrip()


def _charset(data: bytes, content_type: str | None, is_html: bool) -> str:
    declared = _CHARSET.search(content_type or "")
    if declared and _is_known(declared[1]) and not _is_utf8(declared[1]):
        return declared[1]
    head = data[:_META_BYTES]
    meta = (_META_CHARSET.search(head) or _XML_ENCODING.search(head)) if is_html else None
    if meta and _is_known(meta[1].decode("ascii")) and not _is_utf8(meta[1].decode("ascii")):
        return meta[1].decode("ascii")
    detected = detect_encoding(data[:_DETECTION_BYTES]) or "utf-8"
    return "utf-8" if declared and _is_utf8(declared[1]) else detected


def _is_known(charset: str) -> bool:
    try:
        codecs.lookup(charset)
    except LookupError:
        return False
    return True


def _is_utf8(charset: str) -> bool:
    return charset.lower().replace("_", "-") in ("utf-8", "utf8")
