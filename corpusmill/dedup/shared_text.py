"""What two texts share, for people to look at: the longest stretches of words that the one has from the other."""

import re
from dataclasses import dataclass

RUN_WORDS = 5
"""A stretch has at least so many words."""

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, kw_only=True)
class SharedSpan:
    """A half-open span of characters of the first text."""

    start: int
    end: int
    num_words: int


def shared_spans(text: str, other: str) -> list[SharedSpan]:
    """Return the stretches of `text` whose every RUN_WORDS words stand together in `other` too, longest first."""
    known = set(_runs([found[0].lower() for found in _WORD.finditer(other)]))
    words = list(_WORD.finditer(text))
    spans: list[SharedSpan] = []
    first = None
    for at, run in enumerate([*_runs([found[0].lower() for found in words]), None]):
        if run in known:
            first = at if first is None else first
        elif first is not None:
            last = at - 1 + RUN_WORDS - 1
            spans.append(SharedSpan(start=words[first].start(), end=words[last].end(), num_words=last - first + 1))
            first = None
    return sorted(spans, key=lambda span: (-span.num_words, span.start))


def _runs(words: list[str]) -> list[tuple[str, ...]]:
    return list(zip(*(words[start:] for start in range(RUN_WORDS)), strict=False))
