"""Records of ARC files, the Internet Archive's format before WARC: one line of fields, then that many bytes.

Versions 1 and 2 (archive.org, "ARC File Format", 1996): `URL IP date type [code checksum location offset file] length`. A
URL may hold spaces, so the line is read from its end.
"""

import re

from corpusmill.read.warc_records import RecordSyntax

_LINE = (
    rb"(?P<url>[a-z][a-z0-9+.-]{1,20}:[^\r\n]{0,3000}?) (?P<ip>[0-9A-Fa-f.:]{1,45}) (?P<date>\d{8,14})"
    rb" (?P<type>\S{1,200})(?: [^\r\n]{0,600}?)? (?P<length>\d{1,18})\r?\n"
)
_HEADER = re.compile(_LINE)
_NEXT_RECORD = re.compile(rb"(?:(?<=\n)|^)(?=[a-z])" + _LINE)
_PAGE_SCHEMES = ("http:", "https:", "ftp:")


def _parse_header(data: bytes) -> tuple[int, dict[str, str]] | None:
    line = _HEADER.match(data)
    if line is None:
        return None
    url = line["url"].decode("utf-8", "replace")
    return line.end(), {
        "warc-target-uri": url,
        "warc-type": "response" if url.lower().startswith(_PAGE_SCHEMES) else "metadata",
        "warc-date": line["date"].decode(),
        "content-type": line["type"].decode("utf-8", "replace"),
        "content-length": line["length"].decode(),
    }


def _may_begin(data: bytes) -> bool:
    return b"\n" not in data or _HEADER.match(data) is not None


ARC = RecordSyntax(next_record=_NEXT_RECORD, literal=b":", may_begin=_may_begin, parse_header=_parse_header)
