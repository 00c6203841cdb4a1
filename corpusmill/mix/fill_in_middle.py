"""Fill-in-the-middle: a share of the pieces is cut at two places and put into an order to learn from.

    def area(r): ...   ->   <prefix> def ar <suffix> ): ... <middle> ea(r        (prefix, suffix, middle)
                            <prefix> <suffix> ): ... <middle> def ar ea(r        (suffix, prefix, middle)

The orders and the places, uniform over characters, are those of Bavarian et al., Efficient Training of Language Models to
Fill in the Middle (arXiv:2207.14255), section 3. A document that no sequence holds is cut into pieces first, so that a
sequence holds whole rearranged pieces. What is rearranged, where and how follows from the document's id, the seed and the
piece's number. A place is between characters, and each part has the tokens that it has by itself: what a model is given when
somebody's cursor stands inside a word. It is between tokens where the parts would not spell the piece (a tokenizer that
begins each text with a space, a piece that ends inside a character) or would not fit.

Costs beside tokenization: the rearranged pieces are encoded twice, and decoded twice for the comparison.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from tokenizers import Encoding, Tokenizer

from corpusmill.mix.pieces import Pieces
from corpusmill.mix.tokenize import (
    NUM_SENTINELS,
    FillInMiddle,
    Tokenization,
    end_tokens,
    join_tokens,
    open_tokenizer,
    sentinel_tokens,
    text_batches,
)

Parts = tuple[list[int], list[int], list[int]]
"""The tokens of prefix, middle and suffix."""


class Draws(NamedTuple):
    """Numbers from 0 to 1 that decide about a piece."""

    rate: float
    order: float
    one_place: float
    other_place: float

    def places(self, last: int) -> tuple[int, int]:
        """Return two places from 0 to `last`, upwards."""
        one, other = int(self.one_place * (last + 1)), int(self.other_place * (last + 1))
        return min(one, other), max(one, other)


@dataclass(frozen=True, kw_only=True)
class _Setting:
    """What holds for all documents."""

    tokenizer: Tokenizer
    rule: FillInMiddle
    lengths: tuple[int, ...]
    seed: int
    end: list[int]
    sentinels: tuple[int, int, int]


@dataclass(frozen=True, kw_only=True)
class _Piece:
    """Consecutive tokens of a document, and the end that was appended to it where they are its last ones."""

    document: int
    start: int
    body: list[int]
    end: list[int]
    bucket: int
    draws: Draws | None
    """None for one that stays as it is."""


def rearranged_pieces(documents: Iterable[pa.Table], *, tokenization: Tokenization) -> Iterator[tuple[Pieces, int]]:
    """Yield the pieces of DOCUMENTS rows, a bounded batch at a time, with the number of documents without tokens.

    Raises ValueError when the tokenizer has no sentinels.
    """
    setting = _setting(tokenization)
    for doc_ids, texts in text_batches(documents):
        encodings = setting.tokenizer.encode_batch(texts, add_special_tokens=False)
        pieces = [
            piece
            for number, (doc_id, encoding) in enumerate(zip(doc_ids.to_pylist(), encodings, strict=True))
            for piece in _cut(number, doc_id, encoding.ids, setting)
        ]
        parts = _parts(pieces, texts, encodings, setting)
        made = [_rearranged(piece, part, setting) for piece, part in zip(pieces, parts, strict=True)]
        yield _joined(doc_ids, pieces, made), len(texts) - len({piece.document for piece in pieces})


def restore(tokens: Sequence[int], sentinels: tuple[int, int, int]) -> list[int]:
    """Return the tokens of prefix, middle and suffix of a rearranged piece without its end, from either order."""
    _, suffix, middle = sentinels
    suffix_at, middle_at = tokens.index(suffix), tokens.index(middle)
    # In the order suffix, prefix, middle the prefix comes with the middle.
    return [*tokens[1:suffix_at], *tokens[middle_at + 1 :], *tokens[suffix_at + 1 : middle_at]]


def draw(doc_id: str, *, seed: int, number: int) -> Draws:
    """Return what decides about a piece of a document."""
    digest = hashlib.sha256(f"{seed}\x00{doc_id}\x00{number}".encode()).digest()
    return Draws(*(int.from_bytes(digest[at : at + 8], "big") / 2**64 for at in range(0, 32, 8)))


def _setting(tokenization: Tokenization) -> _Setting:
    rule, tokenizer = tokenization.fill_in_middle, open_tokenizer(tokenization.tokenizer_file)
    assert rule is not None
    return _Setting(
        tokenizer=tokenizer,
        rule=rule,
        lengths=tokenization.lengths,
        seed=tokenization.seed,
        end=end_tokens(tokenizer, tokenization.eos_token),
        sentinels=sentinel_tokens(tokenizer, rule.sentinels),
    )


def _cut(document: int, doc_id: str, ids: list[int], setting: _Setting) -> Iterator[_Piece]:
    """Yield the pieces of a document: one where a length holds it with its sentinels, else as many as the longest needs."""
    tokens, lengths = ids + setting.end, setting.lengths
    # A text of which a token is a sentinel could not be told from a rearranged one.
    may_be_rearranged = {*setting.sentinels}.isdisjoint(ids)
    start, number, bucket = 0, 0, None
    while start < len(tokens):
        draws = draw(doc_id, seed=setting.seed, number=number)
        is_rearranged = may_be_rearranged and start < len(ids) and draws.rate < setting.rule.rate
        added = NUM_SENTINELS if is_rearranged else 0
        if bucket is None:
            holds = [len(tokens) + added <= length for length in lengths]
            bucket = holds.index(True) if any(holds) else len(lengths) - 1
        stop = start + lengths[bucket] - added
        yield _Piece(
            document=document,
            start=start,
            body=ids[start:stop],
            end=setting.end if len(tokens) <= stop else [],
            bucket=bucket,
            draws=draws if is_rearranged else None,
        )
        start, number = stop, number + 1


def _parts(
    pieces: Sequence[_Piece], texts: Sequence[str], encodings: Sequence[Encoding], setting: _Setting
) -> list[Parts | None]:
    """Return the parts of each piece with the tokens that they have by themselves; None where they do not spell it."""
    tokenizer = setting.tokenizer
    asked: list[int] = []
    spelled: list[str] = []
    for number, piece in enumerate(pieces):
        text = _text(texts[piece.document], encodings[piece.document], piece) if piece.draws else None
        if text is not None and piece.draws is not None:
            one, other = piece.draws.places(len(text))
            asked.append(number)
            spelled += [text[:one], text[one:other], text[other:]]
    ids = [encoding.ids for encoding in tokenizer.encode_batch_fast(spelled, add_special_tokens=False)]
    parts = [(ids[at], ids[at + 1], ids[at + 2]) for at in range(0, len(ids), 3)]
    ours = tokenizer.decode_batch([one + two + three for one, two, three in parts], skip_special_tokens=False)
    theirs = tokenizer.decode_batch([pieces[number].body for number in asked], skip_special_tokens=False)
    same = {number: part for number, part, our, their in zip(asked, parts, ours, theirs, strict=True) if our == their}
    return [same.get(number) for number in range(len(pieces))]


def _text(text: str, encoding: Encoding, piece: _Piece) -> str | None:
    """Return the text of a piece's tokens; None where it begins or ends inside a character."""
    stop = piece.start + len(piece.body)
    begin = _place(encoding, piece.start) if piece.start else 0
    end = _place(encoding, stop) if stop < len(encoding) else len(text)
    return None if begin is None or end is None else text[begin:end]


def _place(encoding: Encoding, token: int) -> int | None:
    """Return the character before which a token begins, with the space before it; None for one inside a character."""
    before, after = encoding.token_to_chars(token - 1), encoding.token_to_chars(token)
    return before[1] if before and after and before[1] <= after[0] else None


def _rearranged(piece: _Piece, parts: Parts | None, setting: _Setting) -> list[int]:
    """Return the tokens of a piece as they go into a sequence."""
    if piece.draws is None:
        return piece.body + piece.end
    room = setting.lengths[piece.bucket] - NUM_SENTINELS - len(piece.end)
    if parts is None or sum(map(len, parts)) > room:
        one, other = piece.draws.places(len(piece.body))
        parts = piece.body[:one], piece.body[one:other], piece.body[other:]
    prefix, middle, suffix = parts
    before, behind, between = setting.sentinels
    if piece.draws.order < setting.rule.suffix_first_share:
        return [before, behind, *suffix, between, *prefix, *middle, *piece.end]
    return [before, *prefix, behind, *suffix, between, *middle, *piece.end]


def _joined(doc_ids: pa.Array, pieces: Sequence[_Piece], made: Sequence[list[int]]) -> Pieces:
    offsets, tokens = join_tokens(made)
    given = np.array([len(piece.body) + len(piece.end) for piece in pieces], np.int64)
    return Pieces(
        doc_ids=doc_ids.take(pa.array([piece.document for piece in pieces], pa.int64())),
        starts=np.array([piece.start for piece in pieces], np.int64),
        buckets=np.array([piece.bucket for piece in pieces], np.int64),
        offsets=offsets,
        tokens=tokens,
        added=np.diff(offsets) - given,
        is_rearranged=np.array([piece.draws is not None for piece in pieces], np.bool_),
    )
