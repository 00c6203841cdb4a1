"""Formulas in HTML turned into TeX before the markup goes: MathML annotations, MathJax scripts, formula images.

An extractor drops scripts and images and flattens MathML into letters that mean nothing. Linear in the page: elements are
found by their ends, so that a page of openings without ends costs nothing.
"""

import html as entities
import re
from collections.abc import Callable

_SCRIPT_TYPE = re.compile(r"""<script[^<>]{0,200}?type\s*=\s*["']math/tex(;\s*mode=display)?["'][^<>]{0,200}>""")
_ANNOTATION = re.compile(
    r"""<annotation[^<>]{0,200}?encoding\s*=\s*["']application/x-tex["'][^<>]{0,200}>([^<]{1,4000})</annotation>"""
)
_ALT_TEXT = re.compile(r"""<math[^<>]{0,1000}?\balttext\s*=\s*"([^"<>]{1,4000})\"""")
_IMAGE = re.compile(r"<img\b[^<>]{0,4000}>")
_IMAGE_CLASS = re.compile(r"""\bclass\s*=\s*["'][^"'>]{0,100}\b(?:math|tex|latex)\b""")
_IMAGE_ALT = re.compile(r"""\balt\s*=\s*"([^"]{1,4000})\"""")


def formulas_to_tex(html: str) -> str:
    """Return the page with its formulas as $...$ or $$...$$ text; one without a TeX source stays as it is."""
    if "math/tex" in html:
        html = _replace_elements(html, "<script", "</script>", _from_script)
    if "<math" in html:
        html = _replace_elements(html, "<math", "</math>", _from_mathml)
    if "<img" in html and ("math" in html or "tex" in html):
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


def _from_mathml(element: str) -> str:
    source = _ANNOTATION.search(element) or _ALT_TEXT.match(element)
    return _tex(source[1], is_display='display="block"' in element.partition(">")[0]) if source else element


def _from_image(found: re.Match[str]) -> str:
    source = _IMAGE_ALT.search(found[0]) if _IMAGE_CLASS.search(found[0]) else None
    return _tex(source[1], is_display=False) if source else found[0]


def _tex(source: str, *, is_display: bool) -> str:
    """Wrap a TeX source; it stays escaped, as it goes back into HTML."""
    plain = entities.unescape(source).strip().strip("$").strip()
    mark = "$$" if is_display else "$"
    return f" {mark}{entities.escape(plain, quote=False)}{mark} "
