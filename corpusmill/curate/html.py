"""The main text of an HTML page, by resiliparse (fast) or trafilatura (careful), and what its head says.

Neither bounds its own time: callers look at `measure_markup` first and run large or deep pages in a process of
their own (`corpusmill.curate.isolation`).
"""

import re
from dataclasses import dataclass

from corpusmill.curate.formulas import formulas_to_tex

METHODS = ("resiliparse", "trafilatura")

_TITLE = re.compile(r"<title[^<>]{0,200}>([^<]{1,2000})", re.IGNORECASE)
_LANGUAGE = re.compile(r"""<html[^<>]{0,1000}?\slang\s*=\s*["']?\s*([A-Za-z][A-Za-z0-9-]{0,34})""", re.IGNORECASE)
_LICENSE = re.compile(
    r"""(?:<(?:a|link)\b[^<>]{0,400}?\brel\s*=\s*["'][^"'>]{0,60}?\blicense\b[^<>]{0,400}?>)""", re.IGNORECASE
)
_CREATIVE_COMMONS = re.compile(
    r"creativecommons\.org/(?:licenses/(by(?:-nc)?(?:-nd|-sa)?)/(\d\.\d)|(publicdomain/zero)/1\.0)", re.IGNORECASE
)
_BLANK_LINES = re.compile(r"\n(?:[^\S\n]*\n){2,}")
_HEAD_CHARACTERS = 1 << 16


@dataclass(frozen=True, kw_only=True)
class HtmlPage:
    """What a page gives: its main text, and title, language and licence where it declares them."""

    text: str
    title: str | None = None
    language: str | None = None
    license: str | None = None
    """SPDX identifier of a Creative Commons licence that the page links with rel="license"."""


def read_html(html: str, method: str) -> HtmlPage:
    """Return the page; `text` is empty where the method finds no main text."""
    text = _BLANK_LINES.sub("\n\n", _TEXTS[method](formulas_to_tex(html)))
    head = html[:_HEAD_CHARACTERS]
    return HtmlPage(text=text, title=_title(head), language=_language(head), license=_license(html))


def _resiliparse_text(html: str) -> str:
    from resiliparse.extract.html2text import extract_plain_text

    return extract_plain_text(html, main_content=True, alt_texts=False, preserve_formatting=True) or ""


def _trafilatura_text(html: str) -> str:
    import trafilatura

    return trafilatura.extract(html, include_comments=False, include_tables=True, deduplicate=False) or ""


_TEXTS = {"resiliparse": _resiliparse_text, "trafilatura": _trafilatura_text}


def _title(head: str) -> str | None:
    import html as entities

    found = _TITLE.search(head)
    return " ".join(entities.unescape(found[1]).split()) or None if found else None


def _language(head: str) -> str | None:
    found = _LANGUAGE.search(head)
    return found[1].lower() if found else None


def _license(html: str) -> str | None:
    for link in _LICENSE.finditer(html):
        if named := _CREATIVE_COMMONS.search(link[0]):
            return "CC0-1.0" if named[3] else f"CC-{named[1].upper()}-{named[2]}"
    return None
