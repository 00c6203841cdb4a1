"""The main text of a page as resiliparse finds it, with its lists.

Resiliparse (2.0) takes every `<ul>` for a menu. Lists that are mostly no links are spelled as blocks with their bullets
before it looks.
"""

import re
from typing import Any

from lxml import etree

from corpusmill.curate.preformatted import INDENT, unmark_code

_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
"""lxml gives them and does not take them back."""
_MOST_LINKED = 0.5
"""As in `corpusmill.curate.main_text.Confidence.max_block_link_share`."""


def resiliparse_text(body: Any) -> str:
    """Return the main text below `body`, which is changed on the way."""
    from resiliparse.extract.html2text import extract_plain_text

    for outermost in body.xpath(".//ul[not(ancestor::ul)][not(ancestor::nav)]"):
        if _link_share(outermost) <= _MOST_LINKED:
            _spell_list(outermost)
    html = etree.tostring(body, encoding="unicode", method="html")
    return unmark_code(extract_plain_text(html, main_content=True, alt_texts=False, preserve_formatting=True) or "")


def _spell_list(outermost: Any) -> None:
    lists = list(outermost.iter("ul"))
    for one in lists:
        lead = f"{INDENT * 2 * sum(1 for _ in one.iterancestors('ul'))}- "
        for item in one.iterchildren("li"):
            item.tag = "div"
            item.text = lead + _CONTROLS.sub("", item.text or "").lstrip()
    for one in lists:
        one.tag = "div"


def _link_share(element: Any) -> float:
    linked = sum(len(link.xpath("normalize-space(string())")) for link in element.iter("a"))
    return linked / max(1, len(element.xpath("normalize-space(string())")))
