"""The main text of a page as jusText judges it (Pomikálek 2011), block by block: length, stop words, link density.

The blocks are ours, so that a list, a table or a piece of code is judged and kept as one. Needs the page's language; for
one without stop words jusText goes by length and links alone.
"""

from html import escape
from itertools import groupby
from typing import Any

from corpusmill.curate.content_root import ASIDE_TAGS
from corpusmill.curate.page_text import Block, page_blocks
from corpusmill.curate.preformatted import mark_lines, unmark_code

_NAMES = """
ar Arabic   bg Bulgarian  ca Catalan  cs Czech      da Danish  de German   el Greek      en English     es Spanish
et Estonian eu Basque     fa Persian  fi Finnish    fr French  gl Galician he Hebrew     hi Hindi       hr Croatian
hu Hungarian              id Indonesian             is Icelandic           it Italian    ko Korean      lt Lithuanian
lv Latvian  nb Norwegian_Bokmal       nl Dutch      no Norwegian_Bokmal    pl Polish     pt Portuguese  ro Romanian
ru Russian  sk Slovak     sl Slovenian              sq Albanian            sr Serbian    sv Swedish     tr Turkish
uk Ukrainian              ur Urdu     vi Vietnamese
"""
_STOPLISTS = dict(zip(_NAMES.split()[::2], _NAMES.split()[1::2], strict=True))
"""Language codes with the names of jusText's stop words."""


def justext_text(body: Any, language: str | None) -> str:
    """Return the blocks that jusText calls good, in order; `language` is the page's declared one."""
    import justext

    blocks = page_blocks(body, is_left_out=lambda element: element.tag in ASIDE_TAGS)
    groups = [list(members) for _, members in groupby(enumerate(blocks), key=_run)]
    html = "".join(_paragraph([block for _, block in members]) for members in groups)
    name = _STOPLISTS.get((language or "").partition("-")[0].lower())
    words = justext.get_stoplist(name) if name else frozenset()
    shares = {} if name else {"stopwords_low": 0, "stopwords_high": 0}
    found = justext.justext(f"<html><body>{html}</body></html>", words, **shares)
    return "\n\n".join(unmark_code(paragraph.text) for paragraph in found if not paragraph.is_boilerplate)


def _run(numbered: tuple[int, Block]) -> tuple[int, int]:
    """Lists and tables are judged whole, other blocks one by one."""
    number, block = numbered
    return (block.group, 0) if block.group else (0, number)


def _paragraph(blocks: list[Block]) -> str:
    text = mark_lines("\n" + "\n".join(block.text for block in blocks)).lstrip()
    linked = sum(block.link_characters for block in blocks)
    tag = "h2" if blocks[0].kind == "heading" else "p"
    return f"<{tag}><a>{escape(text[:linked])}</a>{escape(text[linked:])}</{tag}>"
