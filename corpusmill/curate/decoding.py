"""Bytes to characters: which charset a payload is in, and a text without what no text needs.

A declaration is believed only as far as the bytes bear it out. Detection is uchardet's, by resiliparse: on help pages in ten
languages and 16 legacy charsets it named the right one for all but one page, charset-normalizer for three in four.
"""

import re

import numpy as np
from resiliparse.parse.encoding import bytes_to_str, detect_encoding, map_encoding_to_html5

_BYTE_ORDER_MARKS = {
    b"\xef\xbb\xbf": "utf-8",
    b"\xff\xfe\x00\x00": "utf-32-le",
    b"\x00\x00\xfe\xff": "utf-32-be",
    b"\xff\xfe": "utf-16-le",
    b"\xfe\xff": "utf-16-be",
}
_CHARSET = re.compile(r"""charset\s*=\s*["']?\s*([A-Za-z0-9_:.-]{1,40})""", re.IGNORECASE)
_META_CHARSET = re.compile(rb"""<meta[^<>]{0,400}?charset\s*=\s*["']?\s*([A-Za-z0-9_:.-]{1,40})""", re.IGNORECASE)
_XML_ENCODING = re.compile(rb"""^\s*<\?xml[^<>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9_:.-]{1,40})""", re.IGNORECASE)
_META_BYTES = 4096
_DETECTION_BYTES = 1 << 16
_JAPANESE_ESCAPE = b"\x1b$"
_LEAST_ZEROS = 8
"""And an eighth of all bytes: a quarter of a UTF-16 text is ASCII letters, if only in its markup."""

_DEFAULT = "cp1252"
"""What servers declare without knowing: ISO 8859-1 and ASCII are cp1252 on the web."""
_WIDER = {
    "big5": "big5hkscs",
    "euc_kr": "cp949",
    "gbk": "gb18030",
    "iso8859-11": "cp874",
    "iso8859-9": "cp1254",
    "mac-roman": "mac_roman",
    "shift_jis": "cp932",
}
"""Browsers read these charsets with their vendors' additions."""
_LATIN = frozenset(("utf-8", "cp1252", "cp1250", "cp1254", "cp1257", "cp1258", "macintosh", "mac_roman"))
_LATIN_ISO = re.compile(r"iso-?8859-?(?:1|2|3|4|9|10|13|14|15|16)$")
_LEAST_FOREIGN_BYTES = 16
"""Fewer bytes above ASCII are too few to contradict a declaration: detection names one page in ten wrong by a sentence."""
_MOST_BROKEN_SHARE = 0.2
"""Of the characters above ASCII. Above it, text is not damaged UTF-8 but something else: of cp1252 umlauts all break."""
_MOST_BROKEN_DECLARED = 0.05
"""The same for a declared legacy charset, in which more byte pairs are valid by chance: a cut or garbled letter is borne."""


def decode(data: bytes, content_type: str | None, *, is_html: bool) -> str:
    """Return the characters of `data`: by its mark, as UTF-16 by its zeros, as valid UTF-8, as declared, as detected.

    Valid UTF-8 goes before the declarations: servers that declare Latin-1 for UTF-8 pages are common, and text of
    another charset that happens to be valid UTF-8 is not. What cannot be decoded becomes U+FFFD.
    """
    for mark, charset in _BYTE_ORDER_MARKS.items():
        if data.startswith(mark):
            return data[len(mark) :].decode(charset, "replace")
    if unlikely := wide_charset(data) or _escaped_charset(data):
        return data.decode(unlikely, "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        pass
    if _broken_share(data, "utf-8") <= _MOST_BROKEN_SHARE:
        return data.decode("utf-8", "replace")
    return bytes_to_str(data, _charset(data, content_type, is_html), "replace", (_DEFAULT,))


def wide_charset(data: bytes) -> str | None:
    """Return `utf-16-le` or `utf-16-be` for text without a mark, known by its zeros: every second byte of ASCII letters."""
    head = np.frombuffer(data[:_META_BYTES], np.uint8)
    head = head[: head.size // 2 * 2]
    zeros_even, zeros_odd = (int((head[start::2] == 0).sum()) for start in (0, 1))
    if max(zeros_even, zeros_odd) < max(_LEAST_ZEROS, head.size // 8) or min(zeros_even, zeros_odd) * 10 > max(
        zeros_even, zeros_odd
    ):
        return None
    charset = "utf-16-le" if zeros_odd > zeros_even else "utf-16-be"
    return charset if _broken_share(head[:-2].tobytes(), charset) == 0 else None


def clean_text(text: str) -> str:
    """Return the text with plain line ends and without NULs, byte order marks and outer blank lines."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "").replace("\ufeff", "")
    return re.sub(r"\A(?:[ \t]*\n)+", "", text).rstrip()


def _escaped_charset(data: bytes) -> str | None:
    """ISO 2022 looks like ASCII, which is valid UTF-8."""
    return "iso2022_jp" if _JAPANESE_ESCAPE in data and _broken_share(data, "iso2022_jp") == 0 else None


def _charset(data: bytes, content_type: str | None, is_html: bool) -> str:
    detected = _detected(data[:_DETECTION_BYTES])
    num_foreign = int((np.frombuffer(data, np.uint8) > 127).sum())
    contradicts = num_foreign >= _LEAST_FOREIGN_BYTES and _is_foreign(detected) and _bears_out(data, detected)
    for name in _declarations(data, content_type, is_html):
        if _bears_out(data, name) and not (name == _DEFAULT and contradicts):
            return name
    return detected


def _detected(data: bytes) -> str:
    """Return what detection says; where it says UTF-8, which this text is not, or nothing: the default."""
    name = detect_encoding(data, html5_compatible=False)
    charset = _python_name((map_encoding_to_html5(name, fallback_utf8=False) or name).lower()) if name else _DEFAULT
    return _DEFAULT if charset == "utf-8" or _broken_share(data, charset) == 1 else charset


def _declarations(data: bytes, content_type: str | None, is_html: bool) -> list[str]:
    """Return the declared charsets that browsers know, as Python spells them: the header's, then the page's own.

    Others would not only be wrong: Python's `punycode` and `idna` take quadratic time.
    """
    head = data[:_META_BYTES]
    own = (_META_CHARSET.search(head) or _XML_ENCODING.search(head)) if is_html else None
    header = _CHARSET.search(content_type or "")
    names = [*([header[1]] if header else []), *([own[1].decode("ascii")] if own else [])]
    known = (map_encoding_to_html5(name, fallback_utf8=False) for name in names)
    return [_python_name(name) for name in known if name and name != "utf-8" and not name.startswith("utf-16")]


def _python_name(charset: str) -> str:
    return _WIDER.get(charset, charset)


def _is_foreign(charset: str) -> bool:
    """Whether a charset is for another script than Latin: detection tells scripts apart better than Latin languages."""
    return charset not in _LATIN and not _LATIN_ISO.match(charset)


def _bears_out(data: bytes, charset: str) -> bool:
    return _broken_share(data, charset) <= _MOST_BROKEN_DECLARED


def _broken_share(data: bytes, charset: str) -> float:
    """Return the share of characters above ASCII that are none in `charset`; 1 for a charset that Python does not know."""
    try:
        text = data.decode(charset, "replace")
    except LookupError:
        return 1.0
    broken = text.count("\ufffd")
    return broken / (len(text) - len(text.encode("ascii", "ignore"))) if broken else 0.0
