"""The main text of an HTML page, by the method a dataset chooses, and what its head says.

`fast` is ours, with trafilatura where it is not sure; `trafilatura`, `resiliparse` and `justext` are theirs. All keep code,
tables, lists and formulas. None bounds its own time: `corpusmill.curate.isolation` runs them where they can be ended.
"""

import re
from dataclasses import dataclass
from typing import Any

from corpusmill.curate.formulas import formulas_to_tex
from corpusmill.curate.justext_text import justext_text
from corpusmill.curate.license_urls import creative_commons_at
from corpusmill.curate.main_text import Confidence, main_text
from corpusmill.curate.page_tree import PageTooDeepError, parse_body, parse_page
from corpusmill.curate.preformatted import mark_code, unmark_code
from corpusmill.curate.resiliparse_text import resiliparse_text

METHODS = ("fast", "trafilatura", "resiliparse", "justext")

_TITLE = re.compile(r"<title[^<>]{0,200}>([^<]{1,2000})", re.IGNORECASE)
_LANGUAGE = re.compile(r"""<html[^<>]{0,1000}?\slang\s*=\s*["']?\s*([A-Za-z][A-Za-z0-9-]{0,34})""", re.IGNORECASE)
_REL_LICENSE = re.compile(r"""<(?:a|link)\b[^<>]*?\brel\s*=\s*["'][^"'>]{0,60}?\blicense\b""", re.IGNORECASE)
_MOST_TAG_CHARACTERS = 1000
_CREATIVE_COMMONS_HOST = "creativecommons.org/"
_BLANK_LINES = re.compile(r"\n(?:[^\S\n]*\n){2,}")
_DEFAULT_CONFIDENCE = Confidence()
_HEAD_CHARACTERS = 1 << 16
_MOST_FALLBACK_CHARACTERS = 1 << 20
"""trafilatura takes about 0.15 s for a page of a million characters, and more than linearly longer for larger ones."""


@dataclass(frozen=True, kw_only=True)
class HtmlPage:
    """What a page gives: its main text, and title, language and licence where it declares them."""

    text: str
    title: str | None = None
    language: str | None = None
    failure: str | None = None
    """Why there is no text: `nested_too_deep`."""
    license: str | None = None
    """SPDX identifier of a Creative Commons licence that the page links with rel="license"."""


def read_html(html: str, method: str, confidence: Confidence = _DEFAULT_CONFIDENCE) -> HtmlPage:
    """Return the page; `text` is empty where the method finds no main text. `confidence` is for the method `fast`."""
    assert method in METHODS, method
    head = html[:_HEAD_CHARACTERS]
    language = _language(head)
    try:
        text = _BLANK_LINES.sub("\n\n", _text(formulas_to_tex(html), method, language, confidence))
    except PageTooDeepError:
        return HtmlPage(text="", failure="nested_too_deep")
    return HtmlPage(text=text, title=_title(head), language=language, license=_license(html))


def _text(html: str, method: str, language: str | None, confidence: Confidence) -> str:
    if method == "trafilatura":
        return _trafilatura_text(html)
    body = parse_body(html)
    if body is None:
        return ""
    if method == "justext":
        return justext_text(body, language)
    if method == "resiliparse":
        return resiliparse_text(body)
    return _fast_text(html, body, confidence)


def _fast_text(html: str, body: Any, confidence: Confidence) -> str:
    text = main_text(body, confidence)
    if text is not None:
        return text
    if len(html) > _MOST_FALLBACK_CHARACTERS:
        return resiliparse_text(body)
    # Its second opinions changed no text of 31 pages, with and without their names, and take a third of its time.
    return _trafilatura_text(html, has_second_opinions=False)


def _trafilatura_text(html: str, *, has_second_opinions: bool = True) -> str:
    import trafilatura

    page = parse_page(mark_code(html))
    if page is None:
        return ""
    text = trafilatura.extract(page, include_comments=False, include_tables=True, fast=not has_second_opinions)
    return unmark_code(text or "")


def _title(head: str) -> str | None:
    import html as entities

    found = _TITLE.search(head)
    return " ".join(entities.unescape(found[1]).split()) or None if found else None


def _language(head: str) -> str | None:
    found = _LANGUAGE.search(head)
    return found[1].lower() if found else None


def _license(html: str) -> str | None:
    position = -1
    while (position := html.find(_CREATIVE_COMMONS_HOST, position + 1)) >= 0:
        named = creative_commons_at(html, position)
        start = html.rfind("<", max(0, position - _MOST_TAG_CHARACTERS), position)
        end = html.find(">", position, position + _MOST_TAG_CHARACTERS)
        if named and start >= 0 and _REL_LICENSE.match(html[start:end]):
            return named
    return None
