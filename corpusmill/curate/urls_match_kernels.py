"""Matching canonical URLs with lists of hosts and words, by numba kernels over Arrow's offsets and UTF-8 bytes.

A host is looked up whole and without its first labels, one after the other: a.b.example.com, b.example.com, example.com,
com. An address in numbers is looked up whole only. Words are runs of letters and digits in lower case.
"""

import numpy as np
from numba import njit

from corpusmill.curate.hash_lookup import find_key
from corpusmill.dedup.token_hashes import PRIME, SEED, mix

HOST_START = len("http://")
ANYWHERE, WORD, SOFT = range(3)
"""Kinds of listed words: found inside words and across them, as a word, as a word beside others."""


@njit(cache=True, nogil=True)
def hash_bytes(data, start, end):  # type: ignore[no-untyped-def]
    """Return the 64-bit hash of a run of bytes (FNV-1a, mixed)."""
    value = SEED
    for at in range(start, end):
        value = (value ^ np.uint64(data[at])) * PRIME
    return mix(value)


@njit(cache=True, nogil=True)
def match_hosts(data, offsets, hosts):  # type: ignore[no-untyped-def]
    """Return whether each canonical URL lies on a listed host, below one of its path prefixes.

    `hosts` is (entries, first_path, paths, path_starts), and entries (keys, buckets, text, starts): sorted hashes of the
    hosts, and the hosts in that order. Prefixes of host h are `first_path[h]` to `first_path[h + 1]`; an empty one holds
    for all of the host.
    """
    found = np.zeros(len(offsets) - 1, np.bool_)
    for row in range(len(offsets) - 1):
        start, end = offsets[row] + HOST_START, offsets[row + 1]
        path = start
        while path < end and data[path] != 47:
            path += 1
        host_end, is_number = _host_end(data, start, path)
        at = start
        while at < host_end and not found[row]:
            entry = _find_entry(data, at, host_end, hosts[0])
            if entry >= 0:
                found[row] = _has_prefix(data, path, end, hosts, entry)
            while at < host_end and (data[at] != 46 or is_number):
                at += 1
            at += 1
    return found


@njit(cache=True, nogil=True)
def _host_end(data, start, end):  # type: ignore[no-untyped-def]
    """Return where the host ends in front of a port, and whether it is an address in numbers."""
    if start < end and data[start] == 91:
        at = start
        while data[at] != 93:
            at += 1
        return at + 1, True
    at = start
    is_number = True
    while at < end and data[at] != 58:
        is_number &= data[at] == 46 or 48 <= data[at] <= 57
        at += 1
    return at, is_number


@njit(cache=True, nogil=True)
def _find_entry(data, start, end, entries):  # type: ignore[no-untyped-def]
    """Return the place of a listed host or word that is equal to these bytes, -1 where none is."""
    keys, buckets, text, starts = entries
    entry = find_key(hash_bytes(data, start, end), keys, buckets)
    if entry < 0 or starts[entry + 1] - starts[entry] != end - start:
        return -1
    for number in range(end - start):
        if data[start + number] != text[starts[entry] + number]:
            return -1
    return entry


@njit(cache=True, nogil=True)
def _has_prefix(data, start, end, hosts, entry):  # type: ignore[no-untyped-def]
    """Return whether the path `data[start:end]`, or its part before the query with a slash behind, has one of the prefixes."""
    _, first_path, paths, path_starts = hosts
    query = start
    while query < end and data[query] != 63:
        query += 1
    for path in range(first_path[entry], first_path[entry + 1]):
        length = path_starts[path + 1] - path_starts[path]
        same = 0
        while same < length and start + same < end and data[start + same] == paths[path_starts[path] + same]:
            same += 1
        is_folder = same == length - 1 and start + same == query and paths[path_starts[path] + same] == 47
        if same == length or is_folder:
            return True
    return False


@njit(cache=True, nogil=True)
def match_words(data, offsets, words, min_soft):  # type: ignore[no-untyped-def]
    """Return whether each canonical URL has a listed word: one ANYWHERE, one WORD, or `min_soft` SOFT ones.

    `words` is (entries, kinds, lengths, pairs): `lengths` says for each number of bytes whether a word ANYWHERE has it,
    `pairs` for each two bytes whether one begins so.
    """
    entries, kinds = words[0], words[1]
    longest = 1
    for row in range(len(offsets) - 1):
        longest = max(longest, offsets[row + 1] - offsets[row])
    squeezed = np.empty(longest, np.uint8)
    found = np.zeros(len(offsets) - 1, np.bool_)
    for row in range(len(offsets) - 1):
        size = 0
        word = 0
        num_soft = 0
        at = min(offsets[row] + HOST_START, offsets[row + 1])
        while at <= offsets[row + 1] and not found[row]:
            byte, at = _decoded(data, at, offsets[row + 1])
            if byte:
                squeezed[size] = byte
                size += 1
                continue
            entry = _find_entry(squeezed, word, size, entries) if size > word else -1
            if entry >= 0:
                num_soft += kinds[entry] == SOFT
                found[row] = kinds[entry] == WORD or num_soft >= min_soft
            word = size
        if not found[row]:
            found[row] = _has_part(squeezed, size, words)
    return found


@njit(cache=True, nogil=True)
def _decoded(data, at, end):  # type: ignore[no-untyped-def]
    """Return the byte of a word that stands at a place, in lower case, or 0 for any other, and the place behind it."""
    if at >= end:
        return np.uint8(0), at + 1
    byte = data[at]
    if byte == 37 and at + 2 < end and data[at + 1] >= 56:
        # A canonical URL has %XX in upper case, and above %7F for letters that are not ASCII.
        high, low = data[at + 1], data[at + 2]
        value = (high - 48 if high < 58 else high - 55) * 16 + (low - 48 if low < 58 else low - 55)
        return np.uint8(value), at + 3
    if 65 <= byte <= 90:
        return np.uint8(byte | 32), at + 1
    is_word = 97 <= byte <= 122 or 48 <= byte <= 57
    return (byte if is_word else np.uint8(0)), at + 1


@njit(cache=True, nogil=True)
def _has_part(text, size, words):  # type: ignore[no-untyped-def]
    entries, kinds, lengths, pairs = words
    for start in range(size - 1):
        if not pairs[np.int64(text[start]) << 8 | np.int64(text[start + 1])]:
            continue
        for length in range(2, min(len(lengths), size - start + 1)):
            if lengths[length]:
                entry = _find_entry(text, start, start + length, entries)
                if entry >= 0 and kinds[entry] == ANYWHERE:
                    return True
    return False
