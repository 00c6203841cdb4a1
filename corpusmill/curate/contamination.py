"""Finding benchmark items in documents: 13 words in a row, an item as a whole, or most of an item's weight.

A rule from a table of documents and an index to the table of what was found, one row a place and item. Judged is the text
as it is given, so the same function serves extracted, curated and synthesized documents. Translated or rephrased items
share no words with the original and are not found.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from corpusmill.curate import contamination_kernels as kernels
from corpusmill.curate.buffers import text_buffers
from corpusmill.curate.contamination_index import ContaminationIndex
from corpusmill.curate.contamination_rules import ContaminationRules
from corpusmill.curate.contamination_words import word_table

CONTAMINATION = pa.schema(
    [
        pa.field("doc_id", pa.string(), nullable=False),
        pa.field("benchmark", pa.string(), nullable=False),
        pa.field("item", pa.string(), nullable=False),
        pa.field("start", pa.int64(), nullable=False),
        pa.field("end", pa.int64(), nullable=False),
        pa.field("share", pa.float64(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),
    ]
)
"""What was found: a half-open span of characters of the text, the share of the item's weight that stands around it, and
`whole`, `ngram` or `weighted`, with `answer_` in front where the item's answer was found."""

KINDS = ("whole", "ngram", "weighted")
_RUN_WORDS = 8
"""So many words in a row stand in every edited item that counts: with a change every 8 words, less than half of an item's
n-grams of 5 words are left."""


@dataclass(frozen=True, kw_only=True)
class _Match:
    """One reference in one text: spans are bytes."""

    reference: int
    start: int
    end: int
    share: float
    kind: int


def find_contamination(documents: pa.Table, index: ContaminationIndex) -> pa.Table:
    """Return CONTAMINATION for a table with doc_id and text, in the order of documents and places. A null text is empty."""
    if not index.num_references:
        return CONTAMINATION.empty_table()
    data, offsets = text_buffers(documents["text"])
    least_run = _least_run(index)
    may = kernels.may_hold(
        data, offsets, word_table(), (index.keys, index.buckets, index.bitmap), index.rules.part_words, least_run
    )
    parts = [CONTAMINATION.empty_table()]
    for row in np.flatnonzero(may).tolist():
        text = data[offsets[row] : offsets[row + 1]]
        matches = list(_find_in_text(text, index, least_run))
        if matches:
            parts.append(_rows(documents["doc_id"][row].as_py(), text, matches, index))
    return pa.concat_tables(parts)


def min_share(num_words: np.ndarray | int, rules: ContaminationRules) -> Any:
    """Return the share of its weight that an item of so many words needs: 20 words all, 35 words .9, from 50 on .8."""
    ends = (rules.share_words_start, rules.share_words_end)
    return np.interp(num_words, ends, (1.0, rules.min_share))


def _least_run(index: ContaminationIndex) -> int:
    """Return the n-grams in a row that any match has: those of the shortest reference, or of `ngram_words` words."""
    fewest = min(int(np.diff(index.first_word).min()), index.rules.ngram_words, _RUN_WORDS)
    return fewest - index.rules.part_words + 1


def _find_in_text(text: np.ndarray, index: ContaminationIndex, least_run: int) -> Iterator[_Match]:
    rules = index.rules
    hashes = (index.keys, index.buckets, index.bitmap)
    starts, ends, found = kernels.find_ngrams(text, word_table(), rules.part_words, hashes)
    runs = _find_runs(found, index, least_run)
    spelled = (rules.part_words, index.text, index.word_starts, index.first_use, index.uses)
    while kernels.drop_unequal(text, (starts, ends), found, _around(runs, found, index), word_table(), spelled):
        runs = _find_runs(found, index, least_run)
    for reference, group in _groups(runs, index):
        kind, share = _judge(reference, group, found, index)
        if kind >= 0:
            last = max(run[1] + run[3] for run in group) + rules.part_words - 2
            yield _Match(
                reference=reference, start=int(starts[group[0][1]]), end=int(ends[last]), share=share, kind=kind
            )


def _find_runs(found: np.ndarray, index: ContaminationIndex, least_run: int) -> list[tuple[int, int, int, int]]:
    rules = index.rules
    places = (index.ngrams, index.first_word, index.first_use, index.uses)
    long_run = rules.ngram_words - rules.part_words + 1
    runs: list[tuple[int, int, int, int]] = kernels.find_runs(
        found, places, least_run, long_run, rules.max_sharing_items, rules.max_uses
    )
    return runs


def _around(runs: list[tuple[int, int, int, int]], found: np.ndarray, index: ContaminationIndex) -> np.ndarray:
    """Return whether each n-gram of a text lies where one of the runs' references would."""
    is_around = np.zeros(len(found), np.bool_)
    for run in runs:
        first, behind = _window(run, index)
        is_around[first:behind] = True
    return is_around


def _groups(runs: list[tuple[int, int, int, int]], index: ContaminationIndex) -> Iterator[tuple[int, list[Any]]]:
    """Yield the runs of one reference in one place of the text: those that lie where the reference, laid along the
    first, has its words."""
    group: list[Any] = []
    for run in sorted(runs):
        if group and (run[0] != group[0][0] or run[1] > _window(group[-1], index)[1]):
            yield group[0][0], group
            group = []
        group.append(run)
    if group:
        yield group[0][0], group


def _window(run: tuple[int, int, int, int], index: ContaminationIndex) -> tuple[int, int]:
    """Return the half-open range of words of the text that the run's reference covers when it is laid along the run."""
    reference, at, use, _ = run
    before = use - int(index.first_word[reference])
    behind = int(index.first_word[reference + 1]) - use
    return max(0, at - before - index.rules.max_gap_words), at + behind + index.rules.max_gap_words


def _judge(reference: int, group: list[Any], found: np.ndarray, index: ContaminationIndex) -> tuple[int, float]:
    """Return the kind of match (-1 for none) and the share of the reference's weight around these runs."""
    rules = index.rules
    first, behind = int(index.first_word[reference]), int(index.first_word[reference + 1])
    window = found[_window(group[0], index)[0] : _window(group[-1], index)[1]]
    own = index.ngrams[first:behind]
    share = float(kernels.weigh_share(own, window, index.first_use, index.num_references))
    if any(run[3] == behind - first - rules.part_words + 1 for run in group):
        return kernels.WHOLE_ITEM, share
    is_half_there = share >= rules.min_ngram_share
    if any(_is_evidence(run, index) or (is_half_there and _is_own(run, index)) for run in group):
        return kernels.NGRAM, share
    return (kernels.WEIGHTED if share >= min_share(behind - first, rules) else -1), share


def _is_evidence(run: tuple[int, int, int, int], index: ContaminationIndex) -> bool:
    """Return whether a run holds `ngram_words` words in a row that are a match by themselves."""
    _, _, use, num_ngrams = run
    behind = use + num_ngrams + index.rules.part_words - 1
    lengths = index.evidence_words[use:behind]
    return bool(((lengths > 0) & (np.arange(use, behind) + lengths <= behind)).any())


def _is_own(run: tuple[int, int, int, int], index: ContaminationIndex) -> bool:
    """Return whether a run has `ngram_words` words, numbers counted, and is not all template."""
    _, _, use, num_ngrams = run
    ngrams = index.ngrams[use : use + num_ngrams]
    fewest = int((index.first_use[ngrams + 1] - index.first_use[ngrams]).min())
    is_long = num_ngrams + index.rules.part_words - 1 >= index.rules.ngram_words
    return is_long and fewest <= index.rules.max_sharing_items


def _rows(doc_id: str, text: np.ndarray, matches: list[_Match], index: ContaminationIndex) -> pa.Table:
    """Return the CONTAMINATION of one document: a row for each name of each reference found."""
    places, which = np.unique([[match.start, match.end] for match in matches], return_inverse=True)
    spans = kernels.characters_before(text, places)[which.reshape(-1, 2)]
    rows = []
    for match, (start, end) in zip(matches, spans.tolist(), strict=True):
        names = index.names.slice(
            index.first_name[match.reference],
            index.first_name[match.reference + 1] - index.first_name[match.reference],
        )
        rows += [
            {
                "doc_id": doc_id,
                "benchmark": name["benchmark"],
                "item": name["item"],
                "start": start,
                "end": end,
                "share": match.share,
                "kind": f"answer_{KINDS[match.kind]}" if name["is_answer"] else KINDS[match.kind],
            }
            for name in names.to_pylist()
        ]
    rows.sort(key=lambda row: (row["start"], row["end"], row["benchmark"], row["item"], row["kind"]))
    return pa.Table.from_pylist(rows, schema=CONTAMINATION)
