"""Searching a document for benchmark items: a first look that clears nearly every document, and the comparison behind it.

Everything stands on n-grams of `part_words` words (5): w words in a row that are the same in document and reference are
w - 4 such n-grams in a row. Worked example with references of at least 8 words: a document without 4 known n-grams in a row
holds none of them and is done after one pass. In the others what is the same in a row is a run; around the runs of one reference
the n-grams of the document are weighed against those of the reference. Before that the words of all of them are compared,
so that equal hashes of different words count for nothing.

Costs: the first look about 5 ns a byte; a comparison depends on how many references share the document's n-grams, at
most `max_uses` for each.
"""

import numpy as np
from numba import njit

from corpusmill.curate.contamination_words import read_words, write_normal
from corpusmill.curate.hash_lookup import find_key
from corpusmill.dedup.token_hashes import join_tokens

WHOLE_ITEM, NGRAM, WEIGHTED = range(3)
"""Kinds of match: all words of the reference, `ngram_words` in a row, enough of its weight."""


@njit(cache=True, nogil=True)
def may_hold(data, offsets, table, index, size, least_run):  # type: ignore[no-untyped-def]
    """Return whether each text has `least_run` n-grams of `size` words in a row whose hashes are in the index.

    `index` is (keys, buckets, bitmap).
    """
    keys, buckets, bitmap = index
    longest = 0
    for row in range(len(offsets) - 1):
        longest = max(longest, offsets[row + 1] - offsets[row])
    words = np.empty(longest + 1, np.uint64)
    starts = np.empty(longest + 1, np.uint32)
    ends = np.empty(longest + 1, np.uint32)
    may = np.zeros(len(offsets) - 1, np.bool_)
    for row in range(len(offsets) - 1):
        count = read_words(data, offsets[row], offsets[row + 1], table, (words, starts, ends))
        count = join_tokens(words, count, size, words)
        run = 0
        for at in range(count):
            is_known = _is_set(bitmap, words[at]) and find_key(words[at], keys, buckets) >= 0
            run = run + 1 if is_known else 0
            if run == least_run:
                may[row] = True
                break
    return may


@njit(cache=True, nogil=True, inline="always")
def _is_set(bitmap, value):  # type: ignore[no-untyped-def]
    place = value & np.uint64(len(bitmap) * 64 - 1)
    return bitmap[place >> np.uint64(6)] >> (place & np.uint64(63)) & np.uint64(1)


@njit(cache=True, nogil=True)
def find_ngrams(text, table, size, index):  # type: ignore[no-untyped-def]
    """Return the byte starts and ends of a text's words, and the n-gram whose hash the words from each on have, else -1.

    `index` is (keys, buckets, bitmap).
    """
    keys, buckets, bitmap = index
    words = np.empty(len(text), np.uint64)
    starts = np.empty(len(text), np.uint32)
    ends = np.empty(len(text), np.uint32)
    count = read_words(text, 0, len(text), table, (words, starts, ends))
    found = np.full(count, -1, np.int32)
    for at in range(join_tokens(words, count, size, words)):
        if _is_set(bitmap, words[at]):
            found[at] = find_key(words[at], keys, buckets)
    return starts[:count].copy(), ends[:count].copy(), found


@njit(cache=True, nogil=True)
def drop_unequal(text, spans, found, is_asked, table, index):  # type: ignore[no-untyped-def]
    """Set n-grams that only share a hash with the text's words to -1, where they are asked for; return how many.

    `spans` is the starts and ends of the words, `index` is (size, text, word_starts, first_use, uses).
    """
    starts, ends = spans
    size, normal, word_starts, first_use, uses = index
    dropped = 0
    spelled = np.empty(64, np.uint8)
    for at in range(len(found)):
        if found[at] < 0 or not is_asked[at]:
            continue
        first, last = np.int64(starts[at]), np.int64(ends[at + size - 1])
        if 2 * (last - first) + 2 > len(spelled):
            spelled = np.empty(4 * (last - first) + 2, np.uint8)
        length = write_normal(text, first, last, table, spelled)
        use = uses[first_use[found[at]]]
        if not _is_same(spelled, length, normal, word_starts[use], word_starts[use + size]):
            found[at] = -1
            dropped += 1
    return dropped


@njit(cache=True, nogil=True)
def _is_same(spelled, length, text, start, end):  # type: ignore[no-untyped-def]
    is_same = length == end - start
    at = 0
    while is_same and at < length:
        is_same = spelled[at] == text[start + at]
        at += 1
    return is_same


@njit(cache=True, nogil=True)
def find_runs(found, index, least_run, long_run, max_sharing, max_uses):  # type: ignore[no-untyped-def]
    """Return (reference, place in the document, place in the index, n-grams) of every longest run of equal n-grams.

    A run counts from `least_run` n-grams on if it is all of the reference, or one of its n-grams has at most `max_sharing`
    uses; any counts from `long_run` on. Comparing starts at n-grams with at most `max_uses` uses. `index` is (ngrams,
    first_word, first_use, uses).
    """
    ngrams, first_word, first_use, uses = index
    runs = [(np.int64(0), np.int64(0), np.int64(0), np.int64(0)) for _ in range(0)]
    end = 0
    for at in range(len(found)):
        if found[at] < 0:
            continue
        if at >= end:
            end = at
            while end < len(found) and found[end] >= 0:
                end += 1
            start = at
        if end - start < least_run or not _starts(found[at], first_use, max_uses):
            continue
        for use in uses[first_use[found[at]] : first_use[found[at] + 1]]:
            reference = np.searchsorted(first_word, use, side="right") - 1
            before = 0
            is_covered = False
            limit = min(at - start, use - first_word[reference])
            while before < limit and ngrams[use - before - 1] == found[at - before - 1]:
                before += 1
                # From there on this run was found already.
                is_covered |= _starts(found[at - before], first_use, max_uses)
                if is_covered:
                    break
            if is_covered:
                continue
            behind = 1
            while at + behind < end and use + behind < len(ngrams) and ngrams[use + behind] == found[at + behind]:
                behind += 1
            length = before + behind
            is_all = use - before == first_word[reference] and ngrams[use + behind] < 0
            is_own = is_all or length >= long_run or _fewest(found, at - before, length, first_use) <= max_sharing
            if length >= least_run and is_own:
                runs.append((np.int64(reference), np.int64(at - before), np.int64(use - before), np.int64(length)))
    return runs


@njit(cache=True, nogil=True)
def _fewest(found, start, length, first_use):  # type: ignore[no-untyped-def]
    """Return the fewest uses that one of some n-grams has."""
    fewest = first_use[found[start] + 1] - first_use[found[start]]
    for at in range(start + 1, start + length):
        fewest = min(fewest, first_use[found[at] + 1] - first_use[found[at]])
    return fewest


@njit(cache=True, nogil=True, inline="always")
def _starts(ngram, first_use, max_uses):  # type: ignore[no-untyped-def]
    return first_use[ngram + 1] - first_use[ngram] <= max_uses


@njit(cache=True, nogil=True)
def weigh_share(reference, window, first_use, num_references):  # type: ignore[no-untyped-def]
    """Return the share of a reference's n-grams, by weight and each counted once, that stand in a window of n-grams."""
    wanted = np.sort(reference)
    there = np.sort(window)
    total = 0.0
    shared = 0.0
    at = 0
    for place in range(len(wanted)):
        if wanted[place] < 0 or (place and wanted[place] == wanted[place - 1]):
            continue
        num_uses = first_use[wanted[place] + 1] - first_use[wanted[place]]
        weight = np.log1p(num_references / num_uses)
        while at < len(there) and there[at] < wanted[place]:
            at += 1
        total += weight
        shared += weight * (at < len(there) and there[at] == wanted[place])
    return shared / total if total else 0.0


@njit(cache=True, nogil=True)
def characters_before(text, places):  # type: ignore[no-untyped-def]
    """Return how many characters stand before each of the byte places, which are sorted."""
    counts = np.empty(len(places), np.int64)
    at = 0
    characters = 0
    for number in range(len(places)):
        while at < places[number]:
            characters += text[at] & 0xC0 != 0x80
            at += 1
        counts[number] = characters
    return counts
