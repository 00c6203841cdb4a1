"""Documents with planted clusters of exact and near copies, seeded: what the benchmarks of deduplication run on.

A document is a row of pseudo-words, drawn as often as words of a language are. A near copy has the words of an earlier
document, the last of them replaced, so that the pair's Jaccard of word 5-grams is one of NEAR by construction. Copies
stand in other files than their originals as a rule. Costs about 10 ns a word; memory is a file's and 0.2 x the originals'.
"""

import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

NEAR = (0.5, 0.6, 0.75, 0.8, 0.85, 0.9, 0.95)
EXACT_SHARE = 0.08
NEAR_SHARE = 0.17
ORIGINALS_EVERY = 5
"""Only every fifth document is ever copied, so that clusters have several members."""
MEAN_BYTES = 3_400
SHINGLE_SIZE = 5
_VOCABULARY = 40_000
_DRAWS = 1 << 20
_SYLLABLES = [a + b for a in "bcdfghklmnprstvw" for b in ("a", "e", "i", "o", "u", "an", "er", "is", "on", "ul")]


def write_corpus(folder: Path, *, megabytes: float, num_files: int, seed: int = 1) -> int:
    """Write `num_files` Parquet files of doc_id and text, together about `megabytes` of UTF-8; return the bytes of text."""
    folder.mkdir(parents=True)
    per_file = max(1, round(megabytes * 1e6 / num_files / MEAN_BYTES))
    documents = word_rows(seed)
    num_bytes = 0
    for file in range(num_files):
        texts = to_texts(list(itertools.islice(documents, per_file)))
        doc_ids = pa.array([f"{file:05d}-{row:07d}" for row in range(per_file)])
        table = pa.table({"doc_id": doc_ids, "text": texts})
        pq.write_table(table, folder / f"{file:05d}.parquet", compression="zstd", row_group_size=5_000)
        num_bytes += pc.sum(pc.binary_length(texts)).as_py()
    return num_bytes


def word_rows(seed: int) -> Iterator[np.ndarray]:
    """Yield documents without end, as numbers of words."""
    rng = np.random.default_rng(seed)
    frequent = _frequent_words(rng)
    originals: list[np.ndarray] = []
    for number in itertools.count():
        kind = rng.random()
        if originals and kind < EXACT_SHARE + NEAR_SHARE:
            original = originals[rng.integers(len(originals))]
            yield original if kind < EXACT_SHARE else near_copy(original, float(rng.choice(NEAR)), rng)
            continue
        length = int(np.clip(rng.lognormal(6.2, 0.8), 60, 20_000))
        words = frequent[rng.integers(0, _DRAWS, length)]
        if number % ORIGINALS_EVERY == 0:
            originals.append(words)
        yield words


def templated_rows(num_documents: int, *, template_words: int, own_words: int, seed: int = 1) -> list[np.ndarray]:
    """Return documents that begin with the same words and end with words of their own."""
    rng = np.random.default_rng(seed)
    template = rng.integers(0, _VOCABULARY, template_words)
    return [np.concatenate([template, own]) for own in rng.integers(0, _VOCABULARY, (num_documents, own_words))]


def punctuated_texts(num_documents: int, *, num_words: int, seed: int = 1) -> pa.Array:
    """Return different texts of the same words: in text n a comma follows word k where bit k of n is set."""
    words = _words().take(pa.array(np.random.default_rng(seed).integers(0, _VOCABULARY, num_words))).to_pylist()
    marks = [f"{number:0{num_words}b}" for number in range(num_documents)]
    texts = ["".join(word + ", "[mark == "0" :] for word, mark in zip(words, bits, strict=True)) for bits in marks]
    return pa.array(texts, pa.large_string())


def near_copy(words: np.ndarray, jaccard: float, rng: np.random.Generator) -> np.ndarray:
    """Return the words with as many replaced at the end as make the Jaccard of the pair, as near as can be.

    Of m = n - 4 shingles k replaced words leave m - k: (m - k) / (m + k) is .75 for m = 70 and k = 10.
    """
    num_shingles = len(words) - SHINGLE_SIZE + 1
    replaced = round(num_shingles * (1 - jaccard) / (1 + jaccard))
    copy = words.copy()
    copy[len(words) - replaced :] = rng.integers(0, _VOCABULARY, replaced)
    return copy


def to_texts(rows: list[np.ndarray]) -> pa.Array:
    """Return the texts of rows of words."""
    offsets = np.cumsum([0, *map(len, rows)])
    words = pa.DictionaryArray.from_arrays(pa.array(np.concatenate(rows), pa.int32()), _words()).dictionary_decode()
    return pc.binary_join(
        pa.LargeListArray.from_arrays(pa.array(offsets, pa.int64()), words), pa.scalar(" ", words.type)
    )


def _words() -> pa.Array:
    """Return the vocabulary: words of one to three syllables, the frequent ones short."""
    combinations = itertools.chain.from_iterable(itertools.product(_SYLLABLES, repeat=count) for count in (1, 2, 3))
    return pa.array(["".join(one) for one in itertools.islice(combinations, _VOCABULARY)], pa.large_string())


def _frequent_words(rng: np.random.Generator) -> np.ndarray:
    """Return many draws of words with Zipf's frequencies, to draw from again evenly: cheaper, and as good."""
    weights = 1.0 / (np.arange(_VOCABULARY) + 2.7)
    return rng.choice(_VOCABULARY, _DRAWS, p=weights / weights.sum()).astype(np.int32)
