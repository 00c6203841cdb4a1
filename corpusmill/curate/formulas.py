"""Formulas in HTML turned into TeX before the markup goes: MathML, MathJax scripts, formula images.

An extractor drops scripts and images and flattens MathML into letters that mean nothing. A TeX source that the page gives
goes first; MathML without one is converted. Linear in the page: elements are found by their ends, so that a page of
openings without ends costs nothing.
"""

import html as entities
import re
from collections.abc import Callable

from lxml import etree

from corpusmill.curate.mathml import mathml_to_tex

_SCRIPT_TYPE = re.compile(r"""<script[^<>]{0,200}?type\s*=\s*["']math/tex(;\s*mode=display)?["'][^<>]{0,200}>""")
_ANNOTATION = re.compile(
    r"""<annotation[^<>]{0,200}?encoding\s*=\s*["']application/x-tex["'][^<>]{0,200}>([^<]{1,4000})</annotation>"""
)
_ALT_TEXT = re.compile(r"""<math[^<>]{0,1000}?\balttext\s*=\s*"([^"<>]{1,4000})\"""")
_DISPLAY = re.compile(r"""\bdisplay\s*=\s*["']?block""")
_IMAGE = re.compile(r"<img\b[^<>]{0,4000}>")
_IMAGE_CLASS = re.compile(r"""\bclass\s*=\s*["'][^"'>]{0,100}\b(?:math|tex|latex)\b""")
_FALLBACK_IMAGE = "mwe-math-fallback-image"
_IMAGE_ALT = re.compile(r"""\balt\s*=\s*"([^"]{1,4000})\"""")


def formulas_to_tex(html: str) -> str:
    """Return the page with its formulas as $...$ or $$...$$ text; an image without a TeX source stays as it is."""
    if "math/tex" in html:
        html = _replace_elements(html, "<script", "</script>", _from_script)
    if "<math" in html:
        has_images = _FALLBACK_IMAGE in html
        html = _replace_elements(html, "<math", "</math>", _without if has_images else _from_mathml)
    if "<img" in html:
        html = _IMAGE.sub(_from_image, html)
    return html


def _replace_elements(html: str, opening: str, closing: str, convert: Callable[[str], str]) -> str:
    parts = []
    position = 0
    while (end := html.find(closing, position)) >= 0:
        behind = end + len(closing)
        start = html.rfind(opening, position, end)
        if start >= 0:
            parts += [html[position:start], convert(html[start:behind])]
        else:
            parts.append(html[position:behind])
        position = behind
    return "".join([*parts, html[position:]])


def _from_script(element: str) -> str:
    found = _SCRIPT_TYPE.match(element)
    if found is None:
        return element
    return _tex(element[found.end() : -len("</script>")], is_display=bool(found[1]))


def _without(element: str) -> str:
    """MediaWiki gives each formula twice: as MathML that is not shown, and as an image with the TeX source."""
    return "" if "alttext" in element.partition(">")[0] else _from_mathml(element)


def _from_mathml(element: str) -> str:
    is_display = _DISPLAY.search(element.partition(">")[0]) is not None
    source = _ANNOTATION.search(element) or _ALT_TEXT.match(element)
    if source:
        return _tex(source[1], is_display=is_display)
    tex = entities.escape(" ".join(_converted(element).split()), quote=False)
    return _tex(tex, is_display=is_display) if tex else ""


def _converted(element: str) -> str:
    try:
        tree = etree.fromstring(element.encode("utf-8", "replace"), etree.HTMLParser(encoding="utf-8"))
    except etree.XMLSyntaxError:
        return ""
    formula = next(tree.iter("math"), None) if tree is not None else None
    return mathml_to_tex(formula) if formula is not None else ""


def _from_image(found: re.Match[str]) -> str:
    image = found[0]
    if "math" not in image and "tex" not in image:
        return image
    source = _IMAGE_ALT.search(image) if _IMAGE_CLASS.search(image) else None
    return _tex(source[1], is_display=False) if source else image


def _tex(source: str, *, is_display: bool) -> str:
    """Wrap a TeX source; it stays escaped, as it goes back into HTML."""
    plain = entities.unescape(source).strip().strip("$").strip()
    mark = "$$" if is_display else "$"
    return f" {mark}{entities.escape(plain, quote=False)}{mark} "
