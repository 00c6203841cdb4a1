"""An HTML tree as blocks of plain text: headings, paragraphs, list items, table rows and code, each with its share of links.

A list item begins with `- ` or its number, two spaces deeper per level; a table row is `| a | b |`; code keeps its lines
and indentation. One pass over the tree, without recursion, so depth costs nothing.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from lxml import etree

_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_LISTS = frozenset(("ul", "ol"))
_BLOCK_TAGS = (
    "address article aside blockquote body center dd details div dl dt fieldset figure footer form header hgroup hr html"
    " main nav p section summary table tbody thead tfoot caption tr td th ul ol li pre listing"
)
_BLOCKS = frozenset(_BLOCK_TAGS.split()) | _HEADINGS
_PARAGRAPHS = frozenset(("p", "blockquote", "dd", "dt"))
_CODE = frozenset(("pre", "listing"))
_CELLS = frozenset(("td", "th"))
_BREAK = "\x00"
"""Stands for a line end inside a block; no text has a NUL."""

_MOST_CELL_CHARACTERS = 400
"""A table whose cells are longer on average arranges the page, it is no table of data."""
_LINE_NUMBER = re.compile(r"\b(?:linenos?|line-?numbers?|gutter)\b", re.IGNORECASE)
_SPACES = re.compile(r"[^\S\x00]+")


@dataclass(frozen=True, kw_only=True)
class Block:
    """A stretch of text that stands on lines of its own."""

    kind: str
    """`heading`, `paragraph`, `bare` (text that no element of its own marks), `item`, `row` or `code`."""
    text: str
    link_characters: int = 0
    group: int = 0
    """Items of one outermost list and rows of one table have the same number, other blocks 0."""


def page_blocks(root: Any, *, is_left_out: Callable[[Any], bool]) -> Iterator[Block]:
    """Yield the blocks below `root` in order; elements that `is_left_out` says are passed over, `root` itself is not."""
    return _Renderer(root, is_left_out).blocks()


def join_blocks(blocks: Iterable[Block]) -> str:
    """Return the text of the blocks: items of a list and rows of a table below each other, other blocks apart."""
    parts: list[str] = []
    group = 0
    for block in blocks:
        parts += ["\n" if block.group and block.group == group else "\n\n", block.text]
        group = block.group
    return "".join(parts[1:])


class _Renderer:
    """The state of one walk: the open block, and the open lists and table."""

    def __init__(self, root: Any, is_left_out: Callable[[Any], bool]) -> None:
        self._root = root
        self._is_left_out = is_left_out
        self._done: list[Block] = []
        self._pieces: list[str] = []
        self._linked = 0
        self._kind = "bare"
        self._lists: list[tuple[str, int]] = []
        self._marker = ""
        self._group = 0
        self._num_groups = 0
        self._links = self._code = 0
        self._table: Any = None
        self._cells: list[str] = []
        self._row_linked = 0

    def blocks(self) -> Iterator[Block]:
        walk = etree.iterwalk(self._root, events=("start", "end", "comment", "pi"))
        skipped: Any = None
        for event, element in walk:
            if event == "start":
                if element is not self._root and self._leaves_out(element):
                    walk.skip_subtree()
                    skipped = element
                    self._part(element.tag)
                else:
                    self._start(element)
            elif event == "end" and element is not skipped:
                self._end(element)
            if event != "start" and element is not self._root:
                self._add(element.tail)
            if self._done:
                yield from self._done
                self._done.clear()
        self._flush()
        yield from self._done

    def _add(self, text: str | None) -> None:
        if text:
            self._pieces.append(text)
            if self._links:
                self._linked += len(text.strip())

    def _leaves_out(self, element: Any) -> bool:
        """Inside code, classes are the highlighter's: a `comment` or a `tag` there is code. Line numbers are none."""
        if self._code:
            return element.tag == "button" or _LINE_NUMBER.search(element.get("class") or "") is not None
        return self._is_left_out(element)

    def _part(self, tag: str) -> None:
        """A block that is left out still parts what stands around it."""
        if tag in _BLOCKS and not self._code and self._table is None:
            self._flush()

    def _start(self, element: Any) -> None:
        tag = element.tag
        if tag in _BLOCKS:
            self._open_block(element, tag)
        elif tag == "a":
            self._links += 1
        elif tag == "br":
            self._pieces.append("\n" if self._code else _BREAK)
        self._add(element.text)

    def _open_block(self, element: Any, tag: str) -> None:
        if self._code:
            return
        if self._table is not None:
            self._pieces.append(" ")
            return
        self._flush()
        if tag in _LISTS:
            self._open_list(tag)
        elif tag == "li":
            self._marker = self._next_marker()
        elif tag == "table" and _holds_data(element):
            self._table = element
            self._open_group()
        elif tag in _CODE:
            self._code = 1
        self._kind = _kind(tag)

    def _end(self, element: Any) -> None:
        tag = element.tag
        if tag == "a":
            self._links = max(0, self._links - 1)
        elif tag not in _BLOCKS:
            return
        elif self._table is not None:
            self._end_in_table(element, tag)
        elif not self._code or tag in _CODE:
            self._flush()
            self._code = 0
            self._kind = "bare"
            if tag in _LISTS and self._lists:
                self._lists.pop()
                self._group = self._group if self._lists else 0

    def _end_in_table(self, element: Any, tag: str) -> None:
        if tag in _CELLS:
            self._cells.append(" ".join(self._text().replace(_BREAK, " ").split()))
        elif tag == "tr":
            self._flush_row()
        elif element is self._table:
            self._flush_row()
            self._table = None
            self._group = 0

    def _flush_row(self) -> None:
        stray = " ".join(self._text().replace(_BREAK, " ").split())
        cells, self._cells = [*self._cells, *([stray] if stray else [])], []
        linked, self._row_linked = self._row_linked, 0
        if any(cells):
            text = f"| {' | '.join(cells)} |" if len(cells) > 1 else cells[0]
            self._done.append(Block(kind="row", text=text, link_characters=linked, group=self._group))

    def _open_list(self, tag: str) -> None:
        if not self._lists:
            self._open_group()
        self._lists.append((tag, 0))

    def _open_group(self) -> None:
        self._num_groups += 1
        self._group = self._num_groups

    def _next_marker(self) -> str:
        if not self._lists:
            return "- "
        tag, number = self._lists.pop()
        self._lists.append((tag, number + 1))
        return f"{number + 1}. " if tag == "ol" else "- "

    def _text(self) -> str:
        text = "".join(self._pieces)
        self._pieces = []
        self._row_linked += self._linked
        self._linked = 0
        return text

    def _flush(self) -> None:
        linked = self._linked
        text = self._text()
        self._row_linked = 0
        text = _code_lines(text) if self._kind == "code" else _prose_lines(text)
        if not text:
            return
        kind = self._kind
        if self._lists or self._marker:
            indent = "  " * max(0, len(self._lists) - 1)
            lead = indent + (self._marker or "  ")
            text = text.replace("\n", "\n" + " " * len(lead))
            text, kind = lead + text, kind if kind == "code" else "item"
            self._marker = ""
        self._done.append(Block(kind=kind, text=text, link_characters=linked, group=self._group))


def _kind(tag: str) -> str:
    if tag in _HEADINGS:
        return "heading"
    if tag in _CODE:
        return "code"
    return "paragraph" if tag in _PARAGRAPHS else "bare"


def _prose_lines(text: str) -> str:
    lines = (line.strip() for line in _SPACES.sub(" ", text).split(_BREAK))
    return "\n".join(line for line in lines if line)


def _code_lines(text: str) -> str:
    lines = [line.rstrip() for line in text.replace("\r\n", "\n").replace(_BREAK, "\n").split("\n")]
    return "\n".join(lines).strip("\n")


def _holds_data(table: Any) -> bool:
    """Return whether a table holds data: two columns or more, no code and no table inside, cells of modest length."""
    if table.get("role") == "presentation":
        return False
    if next(table.iterdescendants("table", "pre", "h1", "h2", "form"), None) is not None:
        return False
    num_cells = sum(1 for _ in table.iterdescendants("td", "th"))
    num_rows = sum(1 for _ in table.iterdescendants("tr"))
    if num_cells < 2 * num_rows or not num_rows:
        return False
    return len(table.xpath("normalize-space(string())")) <= _MOST_CELL_CHARACTERS * num_cells
