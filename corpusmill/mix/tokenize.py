"""Texts to tokens with any Hugging Face tokenizer file, in bounded memory, and back.

Nothing is truncated or padded whatever the file asks for, and no template adds tokens. A special token spelled inside a
text stays text: a page that says "<|endoftext|>" cannot end a document. About 0.75 M tokens/s a thread.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from tokenizers import Tokenizer

from corpusmill.fingerprint import fingerprint
from corpusmill.sentinels import KNOWN_SENTINELS, Sentinels

BATCH_BYTES = 4 << 20
"""Text encoded at a time. A longer text goes alone; the encoder needs about 100 bytes a token while it works."""

BATCH_DOCUMENTS = 1024
NUM_SENTINELS = 3
MOST_SHOWN = 10
"""Special tokens that an error names."""


@dataclass(frozen=True, kw_only=True)
class FillInMiddle:
    """How many documents are rearranged to learn to fill in the middle, and into which order."""

    rate: float = 0.5
    """Share of the documents, and of the pieces of those that are cut, that are rearranged."""
    suffix_first_share: float = 0.5
    """Of these, the share that is given in the order suffix, prefix, middle."""
    sentinels: Sentinels | None = None
    """None takes those of `KNOWN_SENTINELS` that the tokenizer has."""

    def __post_init__(self) -> None:
        if not 0 < self.rate <= 1 or not 0 <= self.suffix_first_share <= 1:
            raise ValueError(
                "fill-in-the-middle needs 0 < rate <= 1 and 0 <= suffix_first_share <= 1, got "
                f"{self.rate} and {self.suffix_first_share}"
            )

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "FillInMiddle":
        sentinels = value.get("sentinels")
        return cls(**{**value, "sentinels": Sentinels.from_json(sentinels) if sentinels else None})


@dataclass(frozen=True, kw_only=True)
class Tokenization:
    """How texts become packed sequences."""

    tokenizer_file: str
    """Path of a `tokenizer.json`."""
    sequence_length: int
    longer_lengths: tuple[int, ...] = ()
    """Further lengths, upwards: a document goes to the shortest that holds it whole, or is cut for the longest."""
    seed: int = 0
    """Names the shuffle of the sequences, and what is rearranged."""
    eos_token: str | None = None
    """Appended to each document and counted as one of its tokens; None appends nothing."""
    fill_in_middle: FillInMiddle | None = None

    def __post_init__(self) -> None:
        if self.sequence_length < 1:
            raise ValueError(f"sequence_length must be at least 1, got {self.sequence_length}")
        if any(shorter >= longer for shorter, longer in pairwise(self.lengths)):
            raise ValueError(f"longer_lengths must go up from sequence_length, got {list(self.lengths)}")
        if self.fill_in_middle is not None and self.sequence_length <= NUM_SENTINELS:
            raise ValueError(f"three sentinels leave no room in sequences of {self.sequence_length} tokens")

    @property
    def lengths(self) -> tuple[int, ...]:
        return self.sequence_length, *self.longer_lengths

    def version(self) -> str:
        """Return the name of the tokens that this makes: the file's content and the appended token, not the path."""
        content = hashlib.sha256(_read(self.tokenizer_file)).hexdigest()
        return fingerprint({"tokenizer": content, "eos_token": self.eos_token})

    def to_state(self, *, num_tokens: int) -> dict[str, Any]:
        """Return what the commit of a partition of sequences of one length keeps, for plans to pin it."""
        return {"tokenizer": self.version(), "sequence_length": self.sequence_length, "num_tokens": num_tokens}

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Tokenization":
        middle = value.get("fill_in_middle")
        return cls(
            **{
                **value,
                "longer_lengths": tuple(value.get("longer_lengths", ())),
                "fill_in_middle": FillInMiddle.from_json(middle) if middle else None,
            }
        )


@dataclass(frozen=True, kw_only=True)
class TokenizedDocuments:
    """The tokens of some documents, one after the other: document d has those from `offsets[d]` to `offsets[d + 1]`."""

    doc_ids: pa.Array
    offsets: np.ndarray[Any, np.dtype[np.int64]]
    tokens: np.ndarray[Any, np.dtype[np.int32]]


def open_tokenizer(tokenizer_file: str) -> Tokenizer:
    """Return the tokenizer, which cuts, pads and adds nothing; ValueError names a bad file."""
    content = _read(tokenizer_file)
    try:
        tokenizer = Tokenizer.from_buffer(content)
    # The library raises nothing narrower.
    except Exception as error:
        raise ValueError(f"{tokenizer_file} is no Hugging Face tokenizer file (tokenizer.json): {error}") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True
    return tokenizer


def tokenize(documents: Iterable[pa.Table], *, tokenization: Tokenization) -> Iterator[TokenizedDocuments]:
    """Yield the tokens of DOCUMENTS rows in their order, a bounded batch at a time; a text without tokens has none."""
    tokenizer = open_tokenizer(tokenization.tokenizer_file)
    end = end_tokens(tokenizer, tokenization.eos_token)
    for doc_ids, texts in text_batches(documents):
        encodings = tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        offsets, tokens = join_tokens([encoding.ids + end for encoding in encodings])
        yield TokenizedDocuments(doc_ids=doc_ids, offsets=offsets, tokens=tokens)


def text_batches(documents: Iterable[pa.Table]) -> Iterator[tuple[pa.Array, list[str]]]:
    """Yield ids and texts of DOCUMENTS rows in their order, as many as are encoded at a time."""
    for table in documents:
        for start, stop in _batches(table["text"]):
            batch = table.slice(start, stop - start)
            yield batch["doc_id"].combine_chunks(), batch["text"].to_pylist()


def decode_pieces(
    tokens: Sequence[int] | np.ndarray[Any, Any], *, lengths: Sequence[int], tokenizer_file: str
) -> list[str]:
    """Return the text of each piece of a packed sequence; special tokens are shown."""
    tokenizer = open_tokenizer(tokenizer_file)
    ends = np.cumsum(lengths)
    pieces = [list(map(int, tokens[end - length : end])) for end, length in zip(ends, lengths, strict=True)]
    return tokenizer.decode_batch(pieces, skip_special_tokens=False)


def end_tokens(tokenizer: Tokenizer, eos_token: str | None) -> list[int]:
    """Return the tokens that end a document; raises ValueError for one that the tokenizer does not have."""
    if eos_token is None:
        return []
    token = tokenizer.token_to_id(eos_token)
    if token is None:
        raise ValueError(
            f"the tokenizer has no token {eos_token!r} to end documents with; it has {_special_tokens(tokenizer)}"
        )
    return [token]


def sentinel_tokens(tokenizer: Tokenizer, sentinels: Sentinels | None) -> tuple[int, int, int]:
    """Return the tokens of prefix, suffix and middle; raises ValueError where the tokenizer does not have all three."""
    for one in KNOWN_SENTINELS if sentinels is None else [sentinels]:
        prefix, suffix, middle = map(tokenizer.token_to_id, one.marks)
        if prefix is not None and suffix is not None and middle is not None:
            return prefix, suffix, middle
    wanted = "the ones of a known code model" if sentinels is None else ", ".join(sentinels.marks)
    raise ValueError(
        f"the tokenizer has no sentinels for fill-in-the-middle: wanted {wanted}, its special tokens are "
        f"{_special_tokens(tokenizer)}. Add three to the tokenizer and name them in FillInMiddle.sentinels, or leave "
        "fill_in_middle out"
    )


def join_tokens(
    parts: Sequence[Sequence[int]],
) -> tuple[np.ndarray[Any, np.dtype[np.int64]], np.ndarray[Any, np.dtype[np.int32]]]:
    """Return where each part begins, and the end of the last one, and all tokens."""
    offsets = np.zeros(len(parts) + 1, np.int64)
    np.cumsum([len(item) for item in parts], out=offsets[1:])
    tokens = np.empty(offsets[-1], np.int32)
    for number, item in enumerate(parts):
        tokens[offsets[number] : offsets[number + 1]] = item
    return offsets, tokens


def _read(tokenizer_file: str) -> bytes:
    path = Path(tokenizer_file)
    if not path.is_file():
        raise ValueError(f"there is no tokenizer file at {tokenizer_file}; name the tokenizer.json of a model folder")
    return path.read_bytes()


def _ends_first(token: str) -> tuple[bool, str]:
    is_end = any(mark in token.lower() for mark in ("end", "eos", "eot", "/s"))
    return not is_end, token


def _special_tokens(tokenizer: Tokenizer) -> str:
    special = sorted((str(it.content) for it in tokenizer.get_added_tokens_decoder().values()), key=_ends_first)
    more = f" and {len(special) - MOST_SHOWN} more" if len(special) > MOST_SHOWN else ""
    return f"{special[:MOST_SHOWN]}{more}"


def _batches(texts: pa.ChunkedArray) -> Iterator[tuple[int, int]]:
    """Yield half-open row ranges of at most BATCH_BYTES of text, or of one row."""
    ends = np.cumsum(pc.binary_length(texts).to_numpy())
    start = 0
    while start < len(ends):
        before = ends[start - 1] if start else 0
        stop = int(np.searchsorted(ends, before + BATCH_BYTES, side="right"))
        stop = min(max(stop, start + 1), start + BATCH_DOCUMENTS)
        yield start, stop
        start = stop
