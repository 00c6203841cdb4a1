"""Formulas in HTML turned into TeX before the markup goes: MathML annotations, MathJax scripts, formula images.

An extractor drops scripts and images and flattens MathML into letters that mean nothing.
"""

import html as entities
import re

_SCRIPT = re.compile(
    r"""<script[^>]{0,200}?type\s*=\s*["']math/tex(;\s*mode=display)?["'][^>]{0,200}>(.*?)</script>""", re.S
)
_MATHML = re.compile(r"<math\b([^>]{0,1000})>(.{0,20000}?)</math>", re.S)
_ANNOTATION = re.compile(
    r"""<annotation[^>]{0,200}?encoding\s*=\s*["']application/x-tex["'][^>]{0,200}>(.*?)</annotation>""", re.S
)
_ALT_TEXT = re.compile(r"""\balttext\s*=\s*"([^"]{1,4000})\"""")
_IMAGE = re.compile(r"""<img\b(?=[^>]{0,2000}\bclass\s*=\s*["'][^"'>]{0,100}\b(?:math|tex|latex)\b)[^>]{0,2000}>""")
_IMAGE_ALT = re.compile(r"""\balt\s*=\s*"([^"]{1,4000})\"""")


def formulas_to_tex(html: str) -> str:
    """Return the page with its formulas as $...$ or $$...$$ text; one without a TeX source stays as it is."""
    if "math/tex" in html:
        html = _SCRIPT.sub(lambda found: _tex(found[2], is_display=bool(found[1])), html)
    if "<math" in html:
        html = _MATHML.sub(_from_mathml, html)
    if "<img" in html and ("math" in html or "tex" in html):
        html = _IMAGE.sub(_from_image, html)
    return html


def _from_mathml(found: re.Match[str]) -> str:
    source = _ANNOTATION.search(found[2]) or _ALT_TEXT.search(found[1])
    return _tex(source[1], is_display='display="block"' in found[1]) if source else found[0]


def _from_image(found: re.Match[str]) -> str:
    source = _IMAGE_ALT.search(found[0])
    return _tex(source[1], is_display=False) if source else found[0]


def _tex(source: str, *, is_display: bool) -> str:
    """Wrap a TeX source; it stays escaped, as it goes back into HTML."""
    plain = entities.unescape(source).strip().strip("$").strip()
    mark = "$$" if is_display else "$"
    return f" {mark}{entities.escape(plain, quote=False)}{mark} "
