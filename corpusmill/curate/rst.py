"""reStructuredText as plain text: prose, headings, code and formulas stay; roles, directives and labels go.

Formulas become TeX between dollars (`:math:` inline, `.. math::` displayed). Only the marks that documentation uses are
known; Sphinx extensions need no import. One pass over the lines.
"""

import itertools
import re
from collections.abc import Iterator

_DIRECTIVE = re.compile(r"^(\s*)\.\. ([A-Za-z][\w:.+-]*) ?::(?:\s(.*))?$")
_COMMENT = re.compile(r"^(\s*)\.\.(\s|$)")
_UNDERLINE = re.compile(r"""^([=\-~^"'`#*+.:_<>])\1{2,}\s*$""")
_OPTION = re.compile(r"^\s*:[\w-]+:(\s|$)")
_MATH_ROLE = re.compile(r":math:`([^`]+)`")
_TITLED_ROLE = re.compile(r":[\w:+-]+:`([^`<]+?)\s*<[^`>]+>`")
_ROLE = re.compile(r":[\w:+-]+:`([~!]?)([^`]+)`")
_LINK = re.compile(r"`([^`<]+?)\s*<[^`>]+>`__?")
_REFERENCE = re.compile(r"`([^`]+)`__?\b")
_FOOTNOTE = re.compile(r"\s?\[(?:#?[\w-]+|\*)\]_")
_LITERAL = re.compile(r"``([^`]+)``")
_EMPHASIS = re.compile(r"(?<![\w*])\*{1,2}([^\s*](?:[^*\n]*[^\s*])?)\*{1,2}(?![\w*])")

_KEPT_BODY = {
    *(
        "note",
        "warning",
        "tip",
        "hint",
        "important",
        "caution",
        "attention",
        "seealso",
        "admonition",
        "topic",
        "sidebar",
    ),
    *(
        "versionadded",
        "versionchanged",
        "deprecated",
        "rubric",
        "glossary",
        "container",
        "compound",
        "epigraph",
        "quote",
    ),
    *("class", "function", "method", "attribute", "data", "exception", "module", "list-table", "table", "figure"),
}
_CODE = {"code", "code-block", "sourcecode", "parsed-literal", "ipython", "doctest", "testcode"}


def rst_to_text(text: str) -> tuple[str, str | None]:
    """Return (plain text, title). The title is the first heading."""
    lines = text.expandtabs(8).splitlines()
    title = next((_inline(line) for line, is_heading in _headings(lines) if is_heading), None)
    plain = "\n".join(_lines(lines))
    return re.sub(r"\n{3,}", "\n\n", plain).strip("\n"), title


def _headings(lines: list[str]) -> Iterator[tuple[str, bool]]:
    for line, below in itertools.pairwise(lines):
        is_marked = bool(_UNDERLINE.match(below)) and len(below.rstrip()) >= len(line.rstrip()) > 0
        yield line.strip(), is_marked and not line.startswith(" ") and not _UNDERLINE.match(line)


def _lines(lines: list[str]) -> Iterator[str]:
    position = 0
    is_literal = False
    while position < len(lines):
        line = lines[position]
        directive = _DIRECTIVE.match(line)
        if directive or _COMMENT.match(line):
            end = _block_end(lines, position)
            yield from _directive(directive, lines[position + 1 : end]) if directive else ()
            position = end
        elif is_literal and line.strip():
            end = _block_end(lines, position, indent=_indent(line) - 1)
            yield from lines[position:end]
            position, is_literal = end, False
        else:
            is_literal = is_literal or (line.rstrip().endswith("::") and not directive)
            yield from _prose(line)
            position += 1
            is_literal = is_literal and (
                position >= len(lines) or not lines[position].strip() or _indent(lines[position]) > 0
            )


def _prose(line: str) -> Iterator[str]:
    if _UNDERLINE.match(line):
        return
    yield _inline(re.sub(r"\s?::\s*$", ":", line) if line.rstrip().endswith("::") else line)


def _directive(directive: re.Match[str], block: list[str]) -> Iterator[str]:
    indent, name, argument = directive[1], directive[2].lower(), (directive[3] or "").strip()
    while block and _OPTION.match(block[0]):
        block = block[1:]
    body = _dedent(block)
    if name == "math":
        formulas = "\n".join([argument, *body]).strip()
        yield from ("", *(f"{indent}$${formula}$$" for formula in re.split(r"\n\s*\n", formulas) if formula), "")
    elif name in _CODE:
        yield from ("", *block, "")
    elif name in _KEPT_BODY:
        argument = "" if name in ("figure", "container") else argument
        yield from ("", *([indent + _inline(argument)] if argument else []), *_lines(body), "")


def _block_end(lines: list[str], start: int, indent: int | None = None) -> int:
    """Return the line behind the block that `start` opens: the first line that is not blank and not indented deeper."""
    limit = _indent(lines[start]) if indent is None else indent
    end = start + 1
    while end < len(lines) and (not lines[end].strip() or _indent(lines[end]) > limit):
        end += 1
    while end > start + 1 and not lines[end - 1].strip():
        end -= 1
    return end


def _dedent(block: list[str]) -> list[str]:
    depth = min((_indent(line) for line in block if line.strip()), default=0)
    return [line[depth:] for line in block]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _inline(line: str) -> str:
    """Return a line of prose without its marks. Formulas and literals are set aside so that no mark in them is read."""
    kept: list[str] = []

    def keep(found: str) -> str:
        kept.append(found)
        return f"\x00{len(kept) - 1}\x01"

    line = _MATH_ROLE.sub(lambda found: keep(f"${found[1]}$"), line)
    line = _LITERAL.sub(lambda found: keep(found[1]), line)
    line = _TITLED_ROLE.sub(r"\1", line)
    line = _ROLE.sub(lambda found: found[2].rsplit(".", 1)[-1] if found[1] == "~" else found[2], line)
    line = _LINK.sub(r"\1", line)
    line = _REFERENCE.sub(r"\1", line)
    line = _FOOTNOTE.sub("", line)
    line = _EMPHASIS.sub(r"\1", line)
    return re.sub("\x00(\\d+)\x01", lambda found: kept[int(found[1])], line)
