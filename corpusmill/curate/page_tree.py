"""An HTML page as a tree, by lxml, and its body without what is never text: scripts, styles, comments, drawings.

libxml2 takes about 10 ms a megabyte, and stops reading at `MAX_DEPTH` levels; by default at 256, without a word.
"""

from typing import Any

from lxml import etree, html

MAX_DEPTH = 2048
"""libxml2's `xmlParserMaxDepth`; Chromium flattens pages at 512 levels (blink, `kMaximumHTMLParserDOMTreeDepth`)."""

_DRAWN_FORMULA = "katex-html"
"""KaTeX gives each formula twice: as MathML with its TeX source, and drawn with letters."""


class PageTooDeepError(Exception):
    """The page nests above `MAX_DEPTH` levels: what stands behind would be lost."""


def parse_page(page: str) -> Any:
    """Return the page's root element, or None where there is no element at all; raises PageTooDeepError."""
    parser = html.HTMLParser(
        encoding="utf-8",
        remove_comments=True,
        remove_pis=True,
        default_doctype=False,
        collect_ids=False,
        huge_tree=True,
    )
    try:
        tree = etree.fromstring(page.encode("utf-8", "replace"), parser)
    except etree.XMLSyntaxError:
        tree = None
    last = parser.error_log.last_error
    if last is not None and last.type == etree.ErrorTypes.ERR_RESOURCE_LIMIT:
        raise PageTooDeepError
    if tree is not None and _DRAWN_FORMULA in page:
        for drawn in tree.xpath(f"//span[@class='{_DRAWN_FORMULA}']"):
            drawn.drop_tree()
    return tree


def parse_body(page: str) -> Any:
    """Return the page's body, or None where there is no element at all; raises PageTooDeepError."""
    tree = parse_page(page)
    body = tree.find("body") if tree is not None else None
    if body is not None:
        etree.strip_elements(body, "script", "style", "noscript", "template", "svg", with_tail=False)
    return body
