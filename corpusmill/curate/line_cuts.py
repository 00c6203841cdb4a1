"""Lines that C4 removes from a page while keeping the page, and what it counts in the lines that stay.

C4 (Raffel et al. 2020, section 2.2) as FineWeb applied it (Penedo et al. 2024, section 3.5): lines about JavaScript,
cookie and privacy notices, and lines of too few words go; a page with "lorem ipsum" or too few sentences goes. Not
applied: terminal punctuation of every line (FineWeb found that it removes too much), citation marks (`[1]` is an index
in code) and the list of bad words.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from corpusmill.curate.edits import Edit

_POLICY = ("terms of use", "privacy policy", "cookie policy", "uses cookies", "use of cookies", "use cookies")
_SENTENCE_END = re.compile(r"""[.!?。！？]+["'”’)\]]*(?=\s+\S)""")


@dataclass(frozen=True, kw_only=True)
class LineCuts:
    """Edits that cut a page's lines, and what C4 asks about the rest."""

    edits: list[Edit]
    num_sentences: int
    has_lorem_ipsum: bool
    has_curly_bracket: bool


def cut_lines(text: str, *, min_words: int, max_word_characters: int) -> LineCuts:
    """Return what C4's line rules make of a text; a cut takes the line's newline with it."""
    edits = []
    num_sentences = 0
    for start, end in _lines(text):
        line = text[start:end]
        kind = _why_cut(line, min_words, max_word_characters)
        if kind:
            edits.append(Edit(start=start, end=min(end + 1, len(text)), kind=kind))
        elif line.strip():
            num_sentences += 1 + len(_SENTENCE_END.findall(line.strip()))
    return LineCuts(
        edits=edits,
        num_sentences=num_sentences,
        has_lorem_ipsum="lorem ipsum" in text.lower(),
        has_curly_bracket="{" in text,
    )


def _lines(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        yield start, end
        start = end + 1


def _why_cut(line: str, min_words: int, max_word_characters: int) -> str | None:
    words = line.split()
    if not words:
        return None
    if len(line) > max_word_characters and max(map(len, words)) > max_word_characters:
        return "line_with_long_word"
    if len(words) < min_words:
        return "line_of_few_words"
    lowered = line.lower()
    if "javascript" in lowered:
        return "line_about_javascript"
    return "line_of_policy" if any(phrase in lowered for phrase in _POLICY) else None
