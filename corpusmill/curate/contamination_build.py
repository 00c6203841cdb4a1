"""Building a contamination index from benchmark items. Costs about a second for 200,000 items, and a sort of their n-grams."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numba import njit

from corpusmill.curate.buffers import text_buffers
from corpusmill.curate.contamination_index import NAMES, ContaminationIndex
from corpusmill.curate.contamination_rules import ContaminationRules
from corpusmill.curate.contamination_words import NUMBER_CHARACTER, read_words, word_table, write_normal
from corpusmill.curate.hash_lookup import make_buckets
from corpusmill.dedup.token_hashes import join_tokens

ITEMS = pa.schema(
    [
        pa.field("benchmark", pa.string(), nullable=False),
        pa.field("item", pa.string(), nullable=False),
        pa.field("text", pa.large_string()),
        pa.field("answer", pa.large_string()),
    ]
)
"""Benchmark items. A null text or answer is not searched for."""

_BITS_PER_NGRAM = 16
_REASONS = ["", "too_short", "too_plain"]


def build_index(items: pa.Table, rules: ContaminationRules | None = None) -> ContaminationIndex:
    """Return the index of ITEMS (column `answer` may be missing); raises ValueError for other columns or null names.

    The same items in the same order give the same index.
    """
    rules = rules or ContaminationRules()
    normal, names = _normal_references(_checked(items))
    unique, which = _distinct(normal)
    reasons = _reasons(unique, rules)
    kept = np.flatnonzero(reasons == 0)
    renumbered = np.full(len(reasons), -1, np.int64)
    renumbered[kept] = np.arange(len(kept))
    references = renumbered[which]
    skipped = names.filter(pa.array(references < 0)).append_column(
        "reason", pa.array(_REASONS).take(pa.array(reasons[which[references < 0]]))
    )
    order = np.argsort(references, kind="stable")[np.count_nonzero(references < 0) :]
    first_name = np.searchsorted(references[order], np.arange(len(kept) + 1)).astype(np.int32)
    arrays = _index_words(unique.take(pa.array(kept)), rules)
    return ContaminationIndex(
        rules=rules, names=names.take(pa.array(order)), first_name=first_name, skipped=skipped, **arrays
    )


def _checked(items: pa.Table) -> pa.Table:
    wanted = [field for field in ITEMS if field.name != "answer" or "answer" in items.column_names]
    if sorted(items.column_names) != sorted(field.name for field in wanted):
        raise ValueError(
            "benchmark items have the columns benchmark, item, text and, where there is one, answer; got "
            f"{', '.join(items.column_names)}"
        )
    chosen = items.select([field.name for field in wanted]).cast(pa.schema([(it.name, it.type) for it in wanted]))
    for name in ("benchmark", "item"):
        if chosen[name].null_count:
            row = pc.indices_nonzero(pc.is_null(chosen[name]))[0].as_py()
            raise ValueError(f"a benchmark item needs {name}, got null in row {row}")
    return chosen


def _normal_references(items: pa.Table) -> tuple[pa.LargeStringArray, pa.Table]:
    """Return the normal forms of all texts, then of all answers that there are, and their NAMES."""
    parts = [("text", items)]
    if "answer" in items.column_names:
        parts.append(("answer", items.filter(items["answer"].is_valid())))
    texts = pa.chunked_array([chunk for name, rows in parts for chunk in rows[name].chunks], pa.large_string())
    names = pa.concat_tables(
        rows.select(["benchmark", "item"]).append_column(
            "is_answer", pa.array([name == "answer"] * len(rows), pa.bool_())
        )
        for name, rows in parts
    )
    data, offsets = text_buffers(texts)
    normal, ends = _write_references(data, offsets, word_table())
    written = pa.LargeStringArray.from_buffers(len(texts), pa.py_buffer(ends), pa.py_buffer(normal))
    return written, names.cast(NAMES)


def _distinct(texts: pa.LargeStringArray) -> tuple[pa.LargeStringArray, np.ndarray]:
    """Return the different texts in the order in which they come first, and which of them each text is."""
    encoded = texts.dictionary_encode()
    return encoded.dictionary, encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)


def _reasons(texts: pa.LargeStringArray, rules: ContaminationRules) -> np.ndarray:
    """Return for each reference why it cannot be searched for, as a place in _REASONS, 0 where it can."""
    data, offsets = text_buffers(texts)
    words, starts, first_word = _read_references(data, offsets, word_table())
    is_short = np.diff(first_word) < rules.min_item_words
    is_plain = _count_distinct(words, starts, first_word) < rules.min_distinct_words
    return np.where(is_short, 1, np.where(is_plain, 2, 0))


def _index_words(texts: pa.LargeStringArray, rules: ContaminationRules) -> dict[str, np.ndarray]:
    """Return the arrays of an index over these references."""
    data, offsets = text_buffers(texts)
    words, starts, first_word = _read_references(data, offsets, word_table())
    if len(starts) > np.iinfo(np.int32).max:
        raise ValueError(f"an index holds at most 2,147,483,647 words, got {len(starts) - 1}; make one per benchmark")
    hashes, has_ngram = _join_references(words, first_word, rules.part_words)
    keys, ngrams = np.unique(hashes[has_ngram], return_inverse=True)
    numbered = np.full(len(words), -1, np.int32)
    numbered[has_ngram] = ngrams
    uses = np.flatnonzero(has_ngram)[np.argsort(ngrams, kind="stable")].astype(np.int32)
    first_use = np.concatenate([[0], np.cumsum(np.bincount(ngrams, minlength=len(keys)))]).astype(np.int32)
    text = np.frombuffer(data, np.uint8)[offsets[0] : offsets[-1]] if len(data) else data
    _check_collisions(text, starts, uses, first_use, rules.part_words)
    return {
        "text": text,
        "word_starts": starts,
        "first_word": first_word,
        "ngrams": numbered,
        "evidence_words": _evidence_words(words, starts, first_word, rules),
        "keys": keys,
        "first_use": first_use,
        "uses": uses,
        "buckets": make_buckets(keys),
        "bitmap": _bitmap(keys),
    }


def _evidence_words(
    words: np.ndarray, starts: np.ndarray, first_word: np.ndarray, rules: ContaminationRules
) -> np.ndarray:
    """Return how many words from each on are a match by themselves, 0 for none: `ngram_words` that are no numbers, with
    the numbers between them, unless they are a template or say too little."""
    size = rules.ngram_words
    hashes, lengths = _measure_ngrams(words, starts, first_word, size, rules.min_distinct_ngram_words)
    _, which, counts = np.unique(hashes[lengths > 0], return_inverse=True, return_counts=True)
    lengths[lengths > 0] *= counts[which] <= rules.max_sharing_items
    return lengths


def _bitmap(keys: np.ndarray) -> np.ndarray:
    bits = max(6, int(np.ceil(np.log2(len(keys) * _BITS_PER_NGRAM + 1))))
    bitmap = np.zeros(1 << (bits - 6), np.uint64)
    places = keys & np.uint64((1 << bits) - 1)
    np.bitwise_or.at(bitmap, (places >> np.uint64(6)).astype(np.int64), np.uint64(1) << (places & np.uint64(63)))
    return bitmap


def _check_collisions(text: np.ndarray, starts: np.ndarray, uses: np.ndarray, first_use: np.ndarray, size: int) -> None:
    collision = _first_collision(text, starts, uses, first_use, size)
    if collision >= 0:
        raise ValueError(f"two different n-grams share a 64-bit hash (number {collision}): leave one of the items out")


@njit(cache=True, nogil=True)
def _write_references(data, offsets, table):  # type: ignore[no-untyped-def]
    """Return the normal forms of texts, one behind the other, and the offsets between them."""
    out = np.empty(2 * (offsets[-1] - offsets[0]) + 2, np.uint8)
    ends = np.zeros(len(offsets), np.int64)
    for row in range(len(offsets) - 1):
        size = write_normal(data, offsets[row], offsets[row + 1], table, out[ends[row] :])
        ends[row + 1] = ends[row] + size
    return out[: ends[-1]], ends


@njit(cache=True, nogil=True)
def _read_references(data, offsets, table):  # type: ignore[no-untyped-def]
    """Return word hashes, byte starts with the end behind them, and the first word of each of the normal forms."""
    base = offsets[0]
    num_words = 0
    for at in range(base, offsets[-1]):
        num_words += data[at] == 32
    words = np.empty(num_words, np.uint64)
    starts = np.empty(num_words + 1, np.int64)
    first_word = np.zeros(len(offsets), np.int32)
    longest = np.max(np.diff(offsets)) if len(offsets) > 1 else 0
    hashes = np.empty(longest, np.uint64)
    begins = np.empty(longest, np.uint32)
    ends = np.empty(longest, np.uint32)
    total = 0
    for row in range(len(offsets) - 1):
        count = read_words(data, offsets[row], offsets[row + 1], table, (hashes, begins, ends))
        for word in range(count):
            words[total + word] = hashes[word]
            starts[total + word] = offsets[row] - base + begins[word]
        total += count
        first_word[row + 1] = total
    starts[total] = offsets[-1] - base
    return words, starts, first_word


@njit(cache=True, nogil=True)
def _join_references(words, first_word, size):  # type: ignore[no-untyped-def]
    """Return the hash of the n-gram that begins at each word, and whether the reference holds all of it."""
    hashes = np.zeros(len(words), np.uint64)
    has_ngram = np.zeros(len(words), np.bool_)
    for row in range(len(first_word) - 1):
        first = first_word[row]
        count = join_tokens(words[first:], first_word[row + 1] - first, size, hashes[first:])
        has_ngram[first : first + count] = True
    return hashes, has_ngram


@njit(cache=True, nogil=True)
def _count_distinct(words, starts, first_word):  # type: ignore[no-untyped-def]
    """Return how many different words of more than one byte (neither number nor ASCII letter) each reference has."""
    found = np.zeros(len(first_word) - 1, np.int64)
    for row in range(len(first_word) - 1):
        ordered = np.sort(words[first_word[row] : first_word[row + 1]])
        for at in range(len(ordered)):
            found[row] += at == 0 or ordered[at] != ordered[at - 1]
        single = [words[at] for at in range(first_word[row], first_word[row + 1]) if starts[at + 1] - starts[at] <= 2]
        found[row] -= len(set(single))
    return found


@njit(cache=True, nogil=True)
def _measure_ngrams(words, starts, first_word, size, least):  # type: ignore[no-untyped-def]
    """Return the hash of the `size` words that are no numbers from each word on, and how many words hold them.

    The latter is 0 where a number stands, the reference ends before, or fewer than `least` of them are different words
    of more than one byte.
    """
    hashes = np.zeros(len(words), np.uint64)
    lengths = np.zeros(len(words), np.uint8)
    places = np.empty(len(words), np.int64)
    for row in range(len(first_word) - 1):
        count = 0
        for word in range(first_word[row], first_word[row + 1]):
            places[count] = word
            count += words[word] != NUMBER_CHARACTER
        kept = words[places[:count]]
        joined = np.empty(count, np.uint64)
        for at in range(join_tokens(kept, count, size, joined)):
            if _num_distinct(kept[at : at + size], places[at : at + size], starts) >= least:
                hashes[places[at]] = joined[at]
                lengths[places[at]] = min(255, places[at + size - 1] + 1 - places[at])
    return hashes, lengths


@njit(cache=True, nogil=True)
def _num_distinct(words, places, starts):  # type: ignore[no-untyped-def]
    distinct = 0
    for at in range(len(words)):
        is_new = starts[places[at] + 1] - starts[places[at]] > 2
        for before in range(at):
            is_new &= words[before] != words[at]
        distinct += is_new
    return distinct


@njit(cache=True, nogil=True)
def _first_collision(text, starts, uses, first_use, size):  # type: ignore[no-untyped-def]
    """Return the number of the first n-gram that is not spelled alike at all its places, -1 where there is none."""
    for ngram in range(len(first_use) - 1):
        first = uses[first_use[ngram]]
        length = starts[first + size] - starts[first]
        for use in uses[first_use[ngram] + 1 : first_use[ngram + 1]]:
            if starts[use + size] - starts[use] != length:
                return ngram
            for at in range(length):
                if text[starts[use] + at] != text[starts[first] + at]:
                    return ngram
    return -1
