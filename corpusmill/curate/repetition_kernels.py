"""How much of a text is repeated n-grams (Gopher, Rae et al. 2021, table A1), by a numba kernel over its tokens' hashes.

An n-gram can repeat only where both (n-1)-grams in it do. So each size looks only at the places that the one before left:
of bigrams, a bit map first sets aside those that cannot repeat; a quarter of a text's places is left at n = 5.
"""

import numba
import numpy as np

from corpusmill.curate.byte_kernels import mix

REPETITION_STATISTICS = (
    *(f"top_{size}gram_character_share" for size in (2, 3, 4)),
    *(f"duplicate_{size}gram_character_share" for size in (5, 6, 7, 8, 9, 10)),
)
"""Columns of `measure_repetition`, in order: shares of all characters. Of 2 to 4 tokens, what the most frequent n-gram
covers when it repeats (the first one at a tie); of 5 to 10, what n-grams seen before cover, each token once."""

_LARGEST_TOP, _LARGEST = 4, 10
_PRIME = np.uint64(0x9E3779B97F4A7C15)


@numba.njit(cache=True)
def measure_repetition(hashes, lengths, token_offsets, characters):  # type: ignore[no-untyped-def]
    """Return a float64 row of REPETITION_STATISTICS per text, whose tokens are `hashes[offsets[i]:offsets[i + 1]]`."""
    num_texts = token_offsets.size - 1
    found = np.zeros((num_texts, _LARGEST - 1))
    room = 1
    for row in range(num_texts):
        room = max(room, token_offsets[row + 1] - token_offsets[row])
    places = np.empty(room, np.int32)
    grams = np.empty(room, np.uint64)
    slots = np.empty(room, np.int32)
    sums = np.empty(room + 1, np.int64)
    size = _table_size(room)
    keys = np.empty(size, np.uint64)
    counts = np.empty(size, np.int32)
    firsts = np.empty(size, np.int32)
    for row in range(num_texts):
        own = hashes[token_offsets[row] : token_offsets[row + 1]]
        _add_up(lengths[token_offsets[row] : token_offsets[row + 1]], sums)
        num_places = _bigram_places(own, places, grams, keys)
        for words in range(2, _LARGEST + 1):
            if num_places < 2:
                break
            mask = _count(grams[:num_places], slots, keys, counts)
            if words <= _LARGEST_TOP:
                covered = _top(places[:num_places], slots, counts, sums, words)
            else:
                covered = _repeated(places[:num_places], slots, counts, firsts, mask, sums, words)
            found[row, words - 2] = covered / max(1, characters[row])
            num_places = _longer(own, places[:num_places], grams, slots, counts, words)
    return found


@numba.njit(cache=True)
def _add_up(lengths, sums):  # type: ignore[no-untyped-def]
    sums[0] = 0
    for index in range(lengths.size):
        sums[index + 1] = sums[index] + lengths[index]


@numba.njit(cache=True)
def _table_size(count):  # type: ignore[no-untyped-def]
    size = 64
    while size < 2 * count:
        size *= 2
    return size


@numba.njit(cache=True)
def _bigram_places(hashes, places, grams, words):  # type: ignore[no-untyped-def]
    """Fill the places and hashes of the bigrams that may repeat; return how many.

    Two bits a bigram, at a place of its hash in `words`: seen, seen again. 32 bits a bigram leave few wrong guesses.
    """
    num_words = 2
    while num_words * 2 < hashes.size:
        num_words *= 2
    num_words = min(num_words, words.size)
    words[:num_words] = 0
    mask = np.uint64(num_words - 1)
    for index in range(hashes.size - 1):
        gram = mix(hashes[index] * _PRIME + hashes[index + 1])
        grams[index] = gram
        place = np.int64((gram >> np.uint64(5)) & mask)
        bit = np.uint64(1) << (gram & np.uint64(31))
        word = words[place]
        words[place] = word | bit | ((word & bit) << np.uint64(32))
    count = 0
    for index in range(hashes.size - 1):
        gram = grams[index]
        word = words[np.int64((gram >> np.uint64(5)) & mask)]
        places[count] = index
        grams[count] = gram
        count += int((word >> (np.uint64(32) + (gram & np.uint64(31)))) & np.uint64(1))
    return count


@numba.njit(cache=True)
def _count(grams, slots, keys, counts):  # type: ignore[no-untyped-def]
    """Count the n-grams in an open hash table and fill each one's slot; return the table's mask."""
    size = min(_table_size(grams.size), keys.size)
    keys[:size] = 0
    counts[:size] = 0
    mask = size - 1
    for index in range(grams.size):
        key = grams[index] | np.uint64(1)
        place = np.int64((key >> np.uint64(1)) & np.uint64(mask))
        while keys[place] != 0 and keys[place] != key:
            place = (place + 1) & mask
        keys[place] = key
        counts[place] += 1
        slots[index] = place
    return mask


@numba.njit(cache=True)
def _top(places, slots, counts, sums, words):  # type: ignore[no-untyped-def]
    """Return the characters that the most frequent n-gram covers, spaces between its words included."""
    highest = 1
    covered = 0
    for index in range(places.size):
        count = counts[slots[index]]
        if count > highest:
            highest = count
            place = places[index]
            covered = (sums[place + words] - sums[place] + words - 1) * count
    return covered


@numba.njit(cache=True)
def _repeated(places, slots, counts, firsts, mask, sums, words):  # type: ignore[no-untyped-def]
    """Return the characters of the words in n-grams seen before, from left to right; each word is counted once."""
    firsts[: mask + 1] = 0
    covered = behind = 0
    for index in range(places.size):
        place = places[index]
        slot = slots[index]
        if place < behind or counts[slot] < 2:
            continue
        if firsts[slot]:
            covered += sums[place + words] - sums[place]
            behind = place + words
        else:
            firsts[slot] = 1
    return covered


@numba.njit(cache=True)
def _longer(hashes, places, grams, slots, counts, words):  # type: ignore[no-untyped-def]
    """Keep the places where an n-gram of one word more may repeat, with its hash; return how many."""
    count = 0
    for index in range(places.size - 1):
        place = places[index]
        is_left = places[index + 1] == place + 1 and counts[slots[index]] > 1 and counts[slots[index + 1]] > 1
        if is_left:
            places[count] = place
            grams[count] = mix(grams[index] * _PRIME + hashes[place + words])
            count += 1
    return count
