"""How much of a text is repeated n-grams (Gopher, Rae et al. 2021, table A1), by a numba kernel over its tokens' hashes.

An n-gram can repeat only where both (n-1)-grams in it do. So each size looks only at the places that the one before left:
of bigrams, a bit map first sets aside those that cannot repeat; a quarter of a text's places is left at n = 5. What is
random is the look into the table: a slot is one number, an n-gram's hash above how often it was seen.
"""

import numba
import numpy as np

from corpusmill.curate.byte_kernels import mix

REPETITION_STATISTICS = (
    *(f"top_{size}gram_character_share" for size in (2, 3, 4)),
    *(f"duplicate_{size}gram_character_share" for size in (5, 6, 7, 8, 9, 10)),
)
"""Columns of `measure_repetition`, in order: shares of all characters. Of 2 to 4 tokens, what the most frequent n-gram
covers (the first one at a tie, so the text's first where none repeats); of 5 to 10, what n-grams seen before cover, each
token once. An n-gram's spaces count, so marks that touch could cover more than all: 1 is the most."""

_LARGEST_TOP, _LARGEST = 4, 10
_PRIME = np.uint64(0x9E3779B97F4A7C15)
_COUNT_BITS = np.uint64((1 << 25) - 1)
"""No text has more tokens than its 10 million characters; above 16 million, `_IS_SEEN` could not be told apart."""
_IS_SEEN = np.uint64(1 << 24)
_ONE = np.uint64(1)


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
    table = np.empty(_table_size(room), np.uint64)
    for row in range(num_texts):
        own = hashes[token_offsets[row] : token_offsets[row + 1]]
        _add_up(lengths[token_offsets[row] : token_offsets[row + 1]], sums)
        for words in range(2, min(_LARGEST_TOP, own.size) + 1):
            found[row, words - 2] = min(1.0, (sums[words] + words - 1) / max(1, characters[row]))
        num_places = _bigram_places(own, places, grams, table)
        for words in range(2, _LARGEST + 1):
            if num_places < 2:
                break
            _count(grams, slots, table, num_places)
            if words <= _LARGEST_TOP:
                covered = _top(places, slots, table, sums, words, num_places)
            else:
                covered = _repeated(places, slots, table, sums, words, num_places)
            found[row, words - 2] = min(1.0, covered / max(1, characters[row]))
            num_places = _longer(own, places, grams, slots, words, num_places)
    return found


@numba.njit(cache=True)
def _add_up(lengths, sums):  # type: ignore[no-untyped-def]
    sums[0] = 0
    for index in range(lengths.size):
        sums[index + 1] = sums[index] + lengths[index]


@numba.njit(cache=True)
def _table_size(count):  # type: ignore[no-untyped-def]
    """Return how many slots so many n-grams need; most of them repeat, so there are at most half as many different ones."""
    size = 64
    while size < count + count // 2:
        size *= 2
    return size


@numba.njit(cache=True)
def _bigram_places(hashes, places, grams, words):  # type: ignore[no-untyped-def]
    """Fill the places and hashes of the bigrams that may repeat; return how many.

    Two bits a bigram, at a place of its hash in `words`: seen, seen again. 8 to 16 places a bigram leave few wrong guesses.
    """
    num_words = 2
    while num_words * 4 < hashes.size:
        num_words *= 2
    words[:num_words] = 0
    mask = np.uint64(num_words - 1)
    for index in range(hashes.size - 1):
        gram = mix(hashes[index] * _PRIME + hashes[index + 1])
        grams[index] = gram
        place = np.int64((gram >> np.uint64(5)) & mask)
        bit = _ONE << (gram & np.uint64(31))
        word = words[place]
        words[place] = word | bit | ((word & bit) << np.uint64(32))
    count = np.int64(0)
    for index in range(hashes.size - 1):
        gram = grams[index]
        word = words[np.int64((gram >> np.uint64(5)) & mask)]
        places[count] = index
        grams[count] = gram
        count += np.int64((word >> (np.uint64(32) + (gram & np.uint64(31)))) & _ONE)
    return count


@numba.njit(cache=True)
def _count(grams, slots, table, num_places):  # type: ignore[no-untyped-def]
    """Count the n-grams in an open hash table and fill each one's slot."""
    size = min(_table_size(num_places), table.size)
    table[:size] = 0
    mask = np.int64(size - 1)
    for index in range(num_places):
        gram = grams[index]
        key = gram & ~_COUNT_BITS
        place = np.int64(gram) & mask
        while table[place] != 0 and table[place] & ~_COUNT_BITS != key:
            place = (place + 1) & mask
        table[place] = (table[place] | key) + _ONE
        slots[index] = place


@numba.njit(cache=True)
def _top(places, slots, table, sums, words, num_places):  # type: ignore[no-untyped-def]
    """Return the characters that the most frequent n-gram covers, spaces between its words included.

    The first of several; the text's first where none repeats. Puts each one's count in the place of its slot.
    """
    highest = np.int64(1)
    covered = sums[words] + words - 1
    for index in range(num_places):
        count = np.int64(table[slots[index]] & _COUNT_BITS)
        slots[index] = count
        if count > highest:
            highest = count
            place = places[index]
            covered = (sums[place + words] - sums[place] + words - 1) * count
    return covered


@numba.njit(cache=True)
def _repeated(places, slots, table, sums, words, num_places):  # type: ignore[no-untyped-def]
    """Return the characters of the words in n-grams seen before, from left to right; each word is counted once.

    Puts each one's count in the place of its slot.
    """
    covered = behind = 0
    for index in range(num_places):
        slot = slots[index]
        entry = table[slot]
        count = np.int64(entry & (_COUNT_BITS ^ _IS_SEEN))
        slots[index] = count
        place = places[index]
        if place < behind or count < 2:
            continue
        if entry & _IS_SEEN:
            covered += sums[place + words] - sums[place]
            behind = place + words
        else:
            table[slot] = entry | _IS_SEEN
    return covered


@numba.njit(cache=True)
def _longer(hashes, places, grams, counts, words, num_places):  # type: ignore[no-untyped-def]
    """Keep the places where an n-gram of one word more may repeat, with its hash; return how many."""
    count = 0
    for index in range(num_places - 1):
        place = places[index]
        if places[index + 1] == place + 1 and counts[index] > 1 and counts[index + 1] > 1:
            places[count] = place
            grams[count] = mix(grams[index] * _PRIME + hashes[place + words])
            count += 1
    return count
