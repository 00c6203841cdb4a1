"""Code that survives an extractor which joins lines: line ends and indentation of `<pre>` become marks, and come back.

The marks are two letters of Anatolian hieroglyphs: printable, so that no cleaner drops them, and on no page with code.
Linear in the page.
"""

import re

LINE_END = "\U00014400"
INDENT = "\U00014401"

_PRE = re.compile(r"<(pre|listing)\b[^<>]{0,1000}>", re.IGNORECASE)
_TEXT = re.compile(r">([^<]+)")
_INDENT = re.compile(r"(?<=\U00014400) +")
_LINE_END = re.compile(r"[^\S\n]*\U00014400[^\S\n]*")


def mark_code(html: str) -> str:
    """Return the page with the lines of its code marked; a page that has the marks itself comes back as it is."""
    if LINE_END in html or INDENT in html:
        return html
    lowered: str | None = None
    parts: list[str] = []
    position = 0
    for opening in _PRE.finditer(html):
        if opening.start() < position:
            continue
        lowered = html.lower() if lowered is None else lowered
        end = lowered.find(f"</{opening[1].lower()}", opening.end())
        if end < 0 or len(lowered) != len(html):
            break
        parts += [html[position : opening.end()], _mark_texts(html[opening.end() : end])]
        position = end
    return "".join([*parts, html[position:]])


def unmark_code(text: str) -> str:
    """Return the text with the marked line ends and indentation of its code."""
    if LINE_END not in text:
        return text.replace(INDENT, " ")
    return _LINE_END.sub("\n", text).replace(INDENT, " ")


def mark_lines(text: str) -> str:
    """Return a text in which every line end and indentation is marked."""
    text = text.expandtabs(4).replace("\r\n", "\n").replace("\n", LINE_END)
    return _INDENT.sub(lambda spaces: INDENT * len(spaces[0]), text).replace(LINE_END, f"{LINE_END} ")


def _mark_texts(content: str) -> str:
    return _TEXT.sub(lambda found: ">" + mark_lines(found[1]), ">" + content)[1:]
