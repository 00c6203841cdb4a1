"""An HTML page as a tree, by lxml, without what is never text: scripts, styles, comments, drawings.

lxml reads depths that a recursive parser would not survive, and takes about 10 ms a megabyte.
"""

from typing import Any

from lxml import etree


def parse_body(html: str) -> Any:
    """Return the page's body, or None where there is no element at all."""
    parser = etree.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, huge_tree=True)
    try:
        tree = etree.fromstring(html.encode("utf-8", "replace"), parser)
    except etree.XMLSyntaxError:
        return None
    body = tree.find("body") if tree is not None else None
    if body is not None:
        etree.strip_elements(body, "script", "style", "noscript", "template", "svg", with_tail=False)
    return body
