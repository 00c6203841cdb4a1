"""Packing of real documents' lengths at 2,048 tokens in bounded windows, and tokens in against tokens out.

The documents are the real texts at hand, in five languages, tokenized by a BPE of 16,000 tokens that is trained on them.
There are not enough of them for many windows, so a million lengths are drawn from theirs. Next-fit fills a sequence until a
piece does not fit and never looks back: what packing without a window gives where no document is to be cut. Seconds are of
the processor, the best of five runs.
"""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pyarrow as pa
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from benchmarks.harness import Measure, at_least, at_most, print_measures
from benchmarks.texts import real_samples
from corpusmill.document import DOCUMENTS
from corpusmill.mix.best_fit import pack_best_fit
from corpusmill.mix.pack import WINDOW_PIECES, PackingCounts, tokenize_and_pack
from corpusmill.mix.tokenize import Tokenization

LENGTH = 2048
DRAWN = 1_000_000
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
    ]


def _tokenizer(texts: list[str], file: Path) -> np.ndarray[Any, Any]:
    """Train a byte-level BPE, save it, and return each text's number of tokens, one more for its end."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=[END], initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.save(str(file))
    tokenizer.encode_special_tokens = True
    return np.array([len(one.ids) + 1 for one in tokenizer.encode_batch_fast(texts, add_special_tokens=False)])


def _packed(texts: list[str], tokenization: Tokenization) -> tuple[PackingCounts, int]:
    """Pack real texts; return what was counted, and the tokens that stand in the sequences."""
    rows = [
        {"doc_id": f"d{n}", "source": "web", "snapshot": "s1", "text": text, "text_hash": ""}
        for n, text in enumerate(texts)
    ]
    heard: list[PackingCounts] = []
    documents = [pa.Table.from_pylist(rows, schema=DOCUMENTS)]
    packed = tokenize_and_pack(documents, tokenization=tokenization, on_counts=heard.append)
    tokens = sum(len(table["tokens"].combine_chunks().flatten()) for table in packed)
    return heard[0], tokens


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
