"""Packing of real documents' lengths at 2,048 tokens in bounded windows, and tokens in against tokens out.

The documents are the real texts at hand, in five languages, tokenized by a BPE of 16,000 tokens that is trained on them.
There are not enough of them for many windows, so a million lengths are drawn from theirs. Next-fit fills a sequence until a
piece does not fit and never looks back: what packing without a window gives where no document is to be cut. Seconds are of
the processor, the best of five runs.

Three lengths in one pass: fewer of the same drawn documents, whole through the packer; beside it the longer lengths without
the short documents in their gaps. Fill-in-the-middle: real programs, each undone and compared with its text.
"""

import gzip
import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pyarrow as pa
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from benchmarks.harness import Measure, at_least, at_most, print_measures
from benchmarks.texts import DATA, real_samples
from corpusmill.document import DOCUMENTS
from corpusmill.mix.best_fit import pack_best_fit
from corpusmill.mix.fill_in_middle import restore
from corpusmill.mix.pack import WINDOW_PIECES, Packer, PackingCounts, tokenize_and_pack
from corpusmill.mix.pieces import cut_documents
from corpusmill.mix.tokenize import (
    FillInMiddle,
    Tokenization,
    TokenizedDocuments,
    open_tokenizer,
    sentinel_tokens,
)
from corpusmill.sentinels import Sentinels

LENGTH = 2048
DRAWN = 1_000_000
DRAWN_LONG = 60_000
LENGTHS = (LENGTH, 8_192, 32_768)
CODE = DATA / "code_thealgorithms"
RUNS = 5
VOCABULARY = 16_000
MAX_DOCUMENTS = 6_000
END = "<|end|>"


def measures() -> list[Measure]:
    """Return how full sequences are, how fast pieces are placed, and whether a token was lost."""
    texts = [sample.text for sample in real_samples()][:MAX_DOCUMENTS]
    with tempfile.TemporaryDirectory(prefix="corpusmill-packing-") as folder:
        file = Path(folder) / "tokenizer.json"
        lengths_D = _tokenizer(texts, file)
        counts, tokens_out = _packed(
            texts, Tokenization(tokenizer_file=str(file), sequence_length=LENGTH, eos_token=END)
        )
        rearranged = _rearranged(Path(folder))
    windows = list(_windows(_pieces(np.random.default_rng(3).choice(lengths_D, DRAWN))))
    num_pieces, tokens = sum(map(len, windows)), sum(int(window.sum()) for window in windows)
    pack_best_fit(windows[0], capacity=LENGTH)
    bins, seconds = min((_best_fit(windows) for _ in range(RUNS)), key=lambda run: run[1])
    fills = [window.sum() / (held * LENGTH) for window, held in zip(windows, bins, strict=True)]
    return [
        Measure(measure="real documents", ours=len(texts)),
        Measure(measure="their median length (tokens)", ours=float(np.median(lengths_D))),
        Measure(measure="documents longer than a sequence", ours=counts.num_cut),
        Measure(
            measure=f"full at {LENGTH}, {DRAWN:,} documents in windows of {WINDOW_PIECES:,} pieces (share)",
            ours=tokens / (sum(bins) * LENGTH),
            other=tokens / (_next_fit(np.concatenate(windows), LENGTH) * LENGTH),
            other_name="next-fit",
            bar=at_least(0.998),
        ),
        Measure(measure="the same, the window that is least full", ours=float(min(fills)), bar=at_least(0.998)),
        Measure(measure="pieces placed (M/s)", ours=num_pieces / seconds / 1e6, bar=at_least(5.0)),
        Measure(
            measure="tokens in that did not come out, or came twice",
            ours=abs(int(lengths_D.sum()) - tokens_out),
            bar=at_most(0),
        ),
        *_three_lengths(lengths_D),
        *rearranged,
    ]


def _three_lengths(lengths_D: np.ndarray[Any, Any]) -> list[Measure]:
    """Pack documents to three lengths in one pass."""
    drawn_D = np.random.default_rng(4).choice(lengths_D, DRAWN_LONG)
    offsets = np.append(0, np.cumsum(drawn_D))
    documents = TokenizedDocuments(
        doc_ids=pa.array([f"{n:032x}" for n in range(DRAWN_LONG)]),
        offsets=offsets,
        tokens=np.zeros(offsets[-1], np.int32),
    )
    pieces = cut_documents(documents, lengths=LENGTHS)
    packer = Packer(Tokenization(tokenizer_file="", sequence_length=LENGTHS[0], longer_lengths=LENGTHS[1:]))
    step = WINDOW_PIECES // 8
    for start in range(0, len(pieces), step):
        _drain(packer.add(pieces.take(np.arange(start, min(start + step, len(pieces))))))
    _drain(packer.finish())
    alone = [pieces.lengths[pieces.buckets == number] for number in range(len(LENGTHS))]
    return [
        Measure(
            measure=f"full at {counts.sequence_length}, one of three lengths (share)",
            ours=counts.fill,
            other=_fill_alone(lengths_P, counts.sequence_length) if number else None,
            other_name="without short documents in gaps" if number else "",
            bar=at_least(0.99),
        )
        for number, (counts, lengths_P) in enumerate(zip(packer.counts, alone, strict=True))
    ] + [
        Measure(
            measure="tokens in that did not come out of one of three lengths, or came twice",
            ours=abs(int(offsets[-1]) - sum(counts.num_tokens for counts in packer.counts)),
            bar=at_most(0),
        )
    ]


def _drain(tables: Iterator[pa.Table]) -> None:
    for _ in tables:
        pass


def _fill_alone(lengths_P: np.ndarray[Any, Any], capacity: int) -> float:
    held = sum(int(pack_best_fit(window, capacity=capacity).max()) + 1 for window in _windows(lengths_P))
    return float(lengths_P.sum() / (held * capacity))


def _rearranged(folder: Path) -> list[Measure]:
    """Rearrange half of the real programs, and undo it."""
    programs = [row["content"] for name in ("python", "rust") for row in _json_lines(CODE / f"{name}.jsonl.gz")]
    if not programs:
        return []
    file = folder / "code.json"
    sizes_D = _tokenizer(programs, file, special=[END, *Sentinels().marks])
    plain = Tokenization(tokenizer_file=str(file), sequence_length=LENGTH, eos_token=END)
    rule = replace(plain, fill_in_middle=FillInMiddle())
    seconds = [min(_seconds(programs, one) for _ in range(RUNS)) for one in (plain, rule)]
    counts, pieces = _pieces_of(programs, rule)
    added = counts.num_sentinel_tokens + counts.num_split_tokens
    return [
        Measure(measure="real programs, tokens", ours=int(sizes_D.sum())),
        Measure(
            measure="pieces rearranged to fill in the middle (share)", ours=counts.num_rearranged / counts.num_pieces
        ),
        Measure(measure="tokens that this adds (share)", ours=added / int(sizes_D.sum())),
        Measure(
            measure="tokens that are neither of a program nor added, or were lost",
            ours=abs(int(sizes_D.sum()) + added - sum(len(tokens) for *_, tokens in pieces)),
            bar=at_most(0),
        ),
        Measure(
            measure="programs that undoing does not give back",
            ours=_not_restored(programs, pieces, file),
            bar=at_most(0),
        ),
        Measure(
            measure="tokenized and packed (M tokens/s)",
            ours=sizes_D.sum() / seconds[1] / 1e6,
            other=sizes_D.sum() / seconds[0] / 1e6,
            other_name="not rearranged",
        ),
    ]


def _not_restored(programs: list[str], pieces: list[tuple[str, int, list[int]]], file: Path) -> int:
    tokenizer = open_tokenizer(str(file))
    sentinels = sentinel_tokens(tokenizer, None)
    found: dict[str, list[int]] = {}
    for doc_id, _, tokens in sorted(pieces, key=lambda piece: piece[:2]):
        end = tokens[-1:] if tokens[-1] == tokenizer.token_to_id(END) else []
        body = tokens[: len(tokens) - len(end)]
        found.setdefault(doc_id, []).extend(restore(body, sentinels) if tokens[0] == sentinels[0] else body)
    ids, texts = [f"d{n}" for n in range(len(programs))], programs
    decoded = tokenizer.decode_batch([found[doc_id] for doc_id in ids], skip_special_tokens=False)
    return sum(one != text for one, text in zip(decoded, texts, strict=True))


def _pieces_of(texts: list[str], tokenization: Tokenization) -> tuple[PackingCounts, list[tuple[str, int, list[int]]]]:
    """Return what was counted, and document, start and tokens of each piece."""
    heard: list[PackingCounts] = []
    pieces = []
    for table in tokenize_and_pack([_rows(texts)], tokenization=tokenization, on_counts=heard.append):
        for row in table.to_pylist():
            ends = np.cumsum(row["lengths"]).tolist()
            cuts = zip(row["doc_ids"], row["starts"], [0, *ends], ends, strict=False)
            pieces += [(doc_id, start, row["tokens"][begin:end]) for doc_id, start, begin, end in cuts]
    return heard[0], pieces


def _seconds(texts: list[str], tokenization: Tokenization) -> float:
    started = time.process_time()
    _packed(texts, tokenization)
    return time.process_time() - started


def _tokenizer(texts: list[str], file: Path, *, special: Sequence[str] = (END,)) -> np.ndarray[Any, Any]:
    """Train a byte-level BPE, save it, and return each text's number of tokens, one more for its end."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=list(special), initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.save(str(file))
    tokenizer.encode_special_tokens = True
    return np.array([len(one.ids) + 1 for one in tokenizer.encode_batch_fast(texts, add_special_tokens=False)])


def _packed(texts: list[str], tokenization: Tokenization) -> tuple[PackingCounts, int]:
    """Pack real texts; return what was counted, and the tokens that stand in the sequences."""
    heard: list[PackingCounts] = []
    packed = tokenize_and_pack([_rows(texts)], tokenization=tokenization, on_counts=heard.append)
    tokens = sum(len(table["tokens"].combine_chunks().flatten()) for table in packed)
    return heard[0], tokens


def _rows(texts: list[str]) -> pa.Table:
    rows = [
        {"doc_id": f"d{n}", "source": "web", "snapshot": "s1", "text": text, "text_hash": ""}
        for n, text in enumerate(texts)
    ]
    return pa.Table.from_pylist(rows, schema=DOCUMENTS)


def _json_lines(file: Path) -> Iterator[dict[str, Any]]:
    if file.exists():
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            yield from map(json.loads, lines)


def _pieces(lengths_D: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the lengths of the pieces that documents are cut into: whole sequences and a remainder."""
    pieces_D = -(-lengths_D // LENGTH)
    pieces_P = np.full(pieces_D.sum(), LENGTH)
    pieces_P[np.cumsum(pieces_D) - 1] = lengths_D - (pieces_D - 1) * LENGTH
    return pieces_P


def _windows(pieces_P: np.ndarray[Any, Any]) -> Iterator[np.ndarray[Any, Any]]:
    for start in range(0, len(pieces_P), WINDOW_PIECES):
        yield pieces_P[start : start + WINDOW_PIECES]


def _best_fit(windows: list[np.ndarray[Any, Any]]) -> tuple[list[int], float]:
    """Return how many sequences each window takes, and the seconds that it took to place all."""
    started = time.process_time()
    placed = [pack_best_fit(window, capacity=LENGTH) for window in windows]
    seconds = time.process_time() - started
    return [int(bins.max()) + 1 for bins in placed], seconds


@numba.njit
def _next_fit(pieces_P: Any, capacity: int) -> int:
    held, room = 0, 0
    for length in pieces_P:
        if length > room:
            held, room = held + 1, capacity
        room -= length
    return held


if __name__ == "__main__":
    print_measures(measures())
