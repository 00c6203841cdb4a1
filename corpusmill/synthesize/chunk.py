"""Cutting a text where its structure has joints, so that a small prompt holds a whole thought.

Joints, best first: before a heading, between paragraphs, between lines, after a sentence, between words. Chunks cover
the text without gaps or overlaps, and a joint inside a protected span (a formula, a code block) is never used: such a
span longer than the limit becomes a chunk that is longer than the limit.
"""

import re
from collections.abc import Sequence
from itertools import pairwise

Span = tuple[int, int]

_JOINTS = (
    re.compile(r"\n\s*\n(?=#{1,6} )"),
    re.compile(r"\n\s*\n\s*"),
    re.compile(r"\n\s*"),
    re.compile(r"(?<=[.!?…。！？])[\"'”’)]*\s+"),
    re.compile(r"\s+"),
)
_NOT_PROSE = re.compile(r"^(?:\t| {4}| *(?:#|\||>|[-*•] |\.\. ))[^\n]*", re.MULTILINE)
_SENTENCE_END = re.compile(r"[^\W\d_]{2}[.!?。！？](?=\s|$)")


def chunk_spans(text: str, *, max_characters: int | None, protected: Sequence[Span] = ()) -> list[Span]:
    """Return half-open spans that cover the text, in order; one span where there is no limit."""
    if max_characters is None or len(text) <= max_characters:
        return [(0, len(text))]
    pieces = _split(text, (0, len(text)), max_characters, protected)
    return _packed(pieces, max_characters)


def num_sentences(text: str) -> int:
    """Count the sentence ends of a text: about one in 100 characters of prose, next to none in tables, lists and code."""
    return len(_SENTENCE_END.findall(_NOT_PROSE.sub("", text)))


def stitch(answers: Sequence[str], *, text: str, spans: Sequence[Span], separator: str | None) -> str:
    """Join the answers to the chunks of `text`; with separator None, by the blanks that stand between the chunks.

    Where a chunk with words was left out between two, a blank line stands.
    """
    if separator is not None or not answers:
        return (separator or "").join(answers)
    assert len(answers) == len(spans)
    gaps = [_gap(text, before, after) for before, after in pairwise(spans)]
    return answers[0] + "".join(gap + answer for gap, answer in zip(gaps, answers[1:], strict=True))


def _gap(text: str, before: Span, after: Span) -> str:
    end = before[0] + len(text[slice(*before)].rstrip())
    gap = text[end : after[0]]
    return "\n\n" if gap.strip() else gap


def _split(text: str, span: Span, limit: int, protected: Sequence[Span], level: int = 0) -> list[Span]:
    """Cut at the joints of this level, and pieces that are still too long at those of the next."""
    start, end = span
    if end - start <= limit:
        return [span]
    if level == len(_JOINTS):
        cuts = [at for at in range(start + limit, end, limit) if not _is_inside(at, protected)]
    else:
        found = (match.end() for match in _JOINTS[level].finditer(text, start, end))
        cuts = [at for at in found if start < at < end and not _is_inside(at, protected)]
    pieces = list(pairwise([start, *cuts, end]))
    if level == len(_JOINTS):
        return pieces
    return [small for piece in pieces for small in _split(text, piece, limit, protected, level + 1)]


def _packed(pieces: Sequence[Span], limit: int) -> list[Span]:
    """Join neighbours as long as they fit together."""
    packed = [pieces[0]]
    for start, end in pieces[1:]:
        if end - packed[-1][0] <= limit:
            packed[-1] = (packed[-1][0], end)
        else:
            packed.append((start, end))
    return packed


def _is_inside(at: int, protected: Sequence[Span]) -> bool:
    return any(start < at < end for start, end in protected)
