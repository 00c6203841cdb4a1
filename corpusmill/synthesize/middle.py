"""Fill-in-the-middle: a text cut at joints of its syntax into prefix, middle and suffix, and put into an order to learn from.

    def area(r):              <prefix>def area(r):
        return 3.14 * r    ->     return <suffix>
                              <middle>3.14 * r

Where it is cut follows from the text alone, so the same text is always cut alike. The two orders are those of Bavarian et
al., Efficient Training of Language Models to Fill in the Middle (arXiv:2207.14255), section 3: prefix, suffix, middle
(PSM), and suffix, prefix, middle behind the sentinels (SPM). Costs one parse of the text.
"""

import ast
import hashlib
import math
import re
from collections.abc import Iterator
from typing import NamedTuple

from corpusmill.curate.syntax import syntax_spans
from corpusmill.sentinels import Sentinels
from corpusmill.synthesize.verify.python_source import parse

_LINE_END = re.compile(r"\r\n|\r|\n")
"""As Python's parser counts lines."""
_BLOCK = re.compile(r"[^\n]*\S[^\n]*(?:\n[^\n]*\S[^\n]*)*")


class Cut(NamedTuple):
    """A text in three parts that follow one another."""

    prefix: str
    middle: str
    suffix: str


def cut(text: str, *, language: str | None, min_characters: int, max_share: float) -> Cut | None:
    """Cut a text so that its middle is a whole piece of its syntax; None where no piece has a fitting size.

    The middle has at least `min_characters` and at most `max_share` of the text. Sizes are spread evenly on a logarithmic
    scale, as far as the text has pieces of them.
    """
    largest = int(len(text) * max_share)
    spans = [span for span in sorted(set(joints(text, language))) if min_characters <= span[1] - span[0] <= largest]
    if not spans:
        return None
    draw = _draw(text, "size")
    wanted = math.log(min_characters) + draw * (math.log(largest) - math.log(min_characters))
    start, end = min(spans, key=lambda span: (abs(math.log(span[1] - span[0]) - wanted), _draw(text, str(span))))
    return Cut(text[:start], text[start:end], text[end:])


def spell(parts: Cut, sentinels: Sentinels, *, suffix_first: bool) -> str:
    """Return the parts in one of the two orders; raise ValueError when the text holds a sentinel itself."""
    if sentinels.are_in("".join(parts)):
        raise ValueError("the text holds a sentinel, so its parts could not be told apart")
    prefix, middle, suffix = parts
    if suffix_first:
        return f"{sentinels.prefix}{sentinels.suffix}{suffix}{sentinels.middle}{prefix}{middle}"
    return f"{sentinels.prefix}{prefix}{sentinels.suffix}{suffix}{sentinels.middle}{middle}"


def restore(spelled: str, sentinels: Sentinels) -> str:
    """Return the text that was cut, from either order."""
    prefix, rest = spelled.removeprefix(sentinels.prefix).split(sentinels.suffix)
    suffix, middle = rest.split(sentinels.middle)
    return f"{prefix}{middle}{suffix}"


def is_suffix_first(text: str, *, share: float) -> bool:
    """Return whether the text is one of the `share` that is given with its suffix first."""
    return _draw(text, "order") < share


def joints(text: str, language: str | None) -> Iterator[tuple[int, int]]:
    """Yield the spans (start, end) of the pieces of a text: statements and expressions, or runs of lines without a parser."""
    if (language or "").lower() == "python":
        tree = parse(text)
        yield from () if tree is None else _python_spans(tree, text)
        return
    spans = syntax_spans(text, language)
    yield from ((match.start(), match.end()) for match in _BLOCK.finditer(text)) if spans is None else spans


def _python_spans(tree: ast.Module, text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of statements, of runs of statements and of expressions; trees count bytes, spans characters."""
    starts = [0, *(match.end() for match in _LINE_END.finditer(text)), len(text)]

    def place(line: int | None, column: int | None) -> int:
        assert line is not None and column is not None
        start, end = starts[line - 1], starts[line]
        return start + len(text[start:end].encode("utf-8", "surrogatepass")[:column].decode("utf-8", "surrogatepass"))

    for node in _nodes(tree):
        if isinstance(node, ast.stmt | ast.expr):
            yield place(node.lineno, node.col_offset), place(node.end_lineno, node.end_col_offset)
        for body in (getattr(node, name, None) for name in ("body", "orelse", "finalbody")):
            if isinstance(body, list) and len(body) > 1:
                first, last = body[0], body[-1]
                yield place(first.lineno, first.col_offset), place(last.end_lineno, last.end_col_offset)


def _nodes(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the nodes of a tree, without what is inside f-strings: Python 3.11 does not tell where that stands."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.JoinedStr):
            waiting.extend(ast.iter_child_nodes(node))


def _draw(text: str, what: str) -> float:
    """Return a number from 0 to 1 that follows from the text."""
    digest = hashlib.sha256(f"{what}\x00{text}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") / 2**64
