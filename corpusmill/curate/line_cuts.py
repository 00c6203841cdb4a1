"""Lines that C4 removes from a page while keeping the page, and what it counts in the lines that stay.

C4 (Raffel et al. 2020, section 2.2) as FineWeb applied it (Penedo et al. 2024, section 3.5): lines about JavaScript,
cookie and privacy notices, and lines of too few words go; a page with "lorem ipsum" or too few sentences goes. Not
applied: terminal punctuation of every line (FineWeb found that it removes too much), citation marks (`[1]` is an index
in code) and the list of bad words.
"""

import re
from dataclasses import dataclass

from corpusmill.curate.edits import Edit

_POLICY = ("terms of use", "privacy policy", "cookie policy", "uses cookies", "use of cookies", "use cookies")
_PHRASES = {"javascript": "line_about_javascript"} | dict.fromkeys(_POLICY, "line_of_policy")
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
    lowered = text.lower()
    phrases = tuple(phrase for phrase in _PHRASES if phrase in lowered)
    edits = []
    num_sentences = 0
    start = 0
    for line in text.split("\n"):
        words = line.split()
        kind = _why_cut(line, words, phrases, min_words, max_word_characters) if words else None
        if kind:
            edits.append(Edit(start=start, end=min(start + len(line) + 1, len(text)), kind=kind))
        elif words:
            num_sentences += 1 + len(_SENTENCE_END.findall(line.strip()))
        start += len(line) + 1
    return LineCuts(
        edits=edits,
        num_sentences=num_sentences,
        has_lorem_ipsum="lorem ipsum" in lowered,
        has_curly_bracket="{" in text,
    )


def _why_cut(
    line: str, words: list[str], phrases: tuple[str, ...], min_words: int, max_word_characters: int
) -> str | None:
    if len(line) > max_word_characters and max(map(len, words)) > max_word_characters:
        return "line_with_long_word"
    if len(words) < min_words:
        return "line_of_few_words"
    if not phrases:
        return None
    lowered = line.lower()
    return next((_PHRASES[phrase] for phrase in phrases if phrase in lowered), None)
