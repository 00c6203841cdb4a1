"""Whether the right documents go: planted pairs, real pages and real code with known answers, and the same table every time.

Every removal is checked with Python's own sets of word 5-grams against the kept document that it names.
"""

import gzip
import itertools
import json
import math
import random
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.dedup_corpus import near_copy, to_texts, word_rows
from benchmarks.dedup_files import deduplicate
from benchmarks.harness import Measure, at_least, at_most, print_measures
from benchmarks.texts import DATA
from corpusmill.dedup.bands import band_keys
from corpusmill.dedup.parameters import FINEWEB, DedupParameters, candidate_probability
from corpusmill.dedup.signatures import sign, signature_matrix

NUM_PLANTED = 6_000
PAIRS_A_STEP = 2_000
STEPS = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")

Documents = dict[str, str]


def measures() -> list[Measure]:
    """Return what was removed wrongly, missed, or differently."""
    planted = planted_documents()
    return [
        _wrong_removals("planted clusters", planted),
        *_pages(),
        _s_curve(),
        _different_tables(planted),
        *_code(),
    ]


def planted_documents() -> Documents:
    """Return documents with planted clusters."""
    texts = to_texts(list(itertools.islice(word_rows(7), NUM_PLANTED))).to_pylist()
    return {f"{number:06d}": text for number, text in enumerate(texts)}


def removals(documents: Documents, *, num_files: int = 3, threads: int = 2, **settings: object) -> pa.Table:
    """Return the resolution of documents, cut into files in the order in which they come."""
    parameters = DedupParameters(**{**FINEWEB.to_json(), **settings})
    with tempfile.TemporaryDirectory(prefix="corpusmill-dedup-") as folder:
        names = list(documents)
        files = []
        for number in range(num_files):
            mine = names[number::num_files]
            file = Path(folder) / f"{number}.parquet"
            texts = pa.array([documents[name] for name in mine], pa.large_string())
            pq.write_table(pa.table({"doc_id": mine, "text": texts}), file)
            files.append(file)
        return deduplicate(files, threads=threads, parameters=parameters).table


def _wrong_removals(what: str, documents: Documents) -> Measure:
    table = removals(documents)
    rows = table.select(["doc_id", "duplicate_of", "jaccard"]).to_pylist()
    gone = set(table["doc_id"].to_pylist())
    wrong = [
        row
        for row in rows
        if row["duplicate_of"] in gone
        or not _is_right(documents[row["doc_id"]], documents[row["duplicate_of"]], row["jaccard"])
    ]
    lowest = min(row["jaccard"] for row in rows)
    return Measure(
        measure=f"{what}, {len(documents):,} documents: wrong among {len(rows):,} removals (lowest Jaccard {lowest:.4f})",
        ours=len(wrong),
        bar=at_most(0),
    )


def _is_right(left: str, right: str, jaccard: float) -> bool:
    """Say whether a removal's Jaccard is the true one and high enough.

    Where characters are words by themselves ours has more shingles than the regular expression, so only nearly the same.
    """
    slack = 0.01 if _UNSPACED.search(left + right) else 1e-12
    return jaccard >= FINEWEB.threshold and abs(jaccard - exact_jaccard(left, right)) <= slack


def exact_jaccard(left: str, right: str) -> float:
    """Return the Jaccard of two texts' word 5-grams, by Python's own sets; equal texts have 1."""
    if left == right:
        return 1.0
    one, other = (_grams(re.findall(r"\w+", text.lower())) for text in (left, right))
    return len(one & other) / len(one | other)


def _grams(words: Sequence[str]) -> set[tuple[str, ...]]:
    return set(zip(*(words[start:] for start in range(FINEWEB.shingle_size)), strict=False))


def _pages() -> list[Measure]:
    folder = DATA / "neardup_text_pydoc"
    if not folder.exists():
        print(f"no manuals with known answers at {folder}: not checked", flush=True)
        return []
    with gzip.open(folder / "docs.jsonl.gz", "rt", encoding="utf-8") as lines:
        documents = {row["doc_id"]: row["text"] for row in map(json.loads, lines)}
    return [_wrong_removals("manuals in three releases", documents), _pages_found(documents, folder / "pairs.tsv")]


def _pages_found(documents: Documents, answers: Path) -> Measure:
    """Of the documents with a better-ranked one at .8 and above in the known answers, count those that are removed."""
    gone = set(removals(documents)["doc_id"].to_pylist())
    lines = [line.split("\t") for line in answers.read_text(encoding="utf-8").splitlines()[1:]]
    worse = {max(left, right) for left, right, jaccard in lines if float(jaccard) >= 0.8}
    return Measure(
        measure=f"manuals: removed of {len(worse)} documents with an older-named one at Jaccard .8 and above (share)",
        ours=len(worse & gone) / len(worse),
    )


def _s_curve() -> Measure:
    """Compare candidates with the S-curve at all steps in one chi-square test."""
    rng = np.random.default_rng(20)
    chi_square = 0.0
    for step in STEPS:
        originals = [rng.integers(0, 40_000, 104) for _ in range(PAIRS_A_STEP)]
        copies = [near_copy(words, step, rng) for words in originals]
        replaced = int((originals[0] != copies[0]).sum())
        probability = candidate_probability((100 - replaced) / (100 + replaced), FINEWEB)
        found = _candidates(originals, copies)
        chi_square += (found - PAIRS_A_STEP * probability) ** 2 / (
            PAIRS_A_STEP * probability * (1 - probability) + 1e-9
        )
    return Measure(
        measure=f"candidates at Jaccard .5 to .95 ({PAIRS_A_STEP:,} pairs each) against the S-curve, chi-square (p)",
        ours=chi_square_p(chi_square, len(STEPS)),
        bar=at_least(0.001),
    )


def _candidates(left: list[np.ndarray], right: list[np.ndarray]) -> int:
    keys = []
    for rows in (left, right):
        texts = to_texts(rows)
        same = {name: pa.repeat("1", len(texts)) for name in ("doc_id", "snapshot", "text_file", "text_hash")}
        signed = sign(pa.table({**same, "text": texts}), FINEWEB.to_json())
        keys.append(band_keys(signature_matrix(signed["signature"], FINEWEB), FINEWEB.num_bands))
    return int((keys[0] == keys[1]).any(axis=1).sum())


def chi_square_p(value: float, degrees: int) -> float:
    """Return the probability of a larger chi-square, for an even number of degrees of freedom (a finite sum)."""
    half = value / 2
    return math.exp(-half) * sum(half**term / math.factorial(term) for term in range(degrees // 2))


def _different_tables(documents: Documents) -> Measure:
    expected = removals(documents, num_files=1, threads=1)
    ways = [(1, 2), (2, 1), (5, 2), (16, 2)]
    different = 0
    for seed, (num_files, threads) in enumerate(ways):
        names = random.Random(seed).sample(list(documents), len(documents))
        shuffled = {name: documents[name] for name in names}
        different += not removals(shuffled, num_files=num_files, threads=threads).equals(expected)
    what = "tables that differ: shuffled, in 1, 2, 5 and 16 files, on 1 and 2 threads"
    return Measure(measure=what, ours=different, bar=at_most(0))


def _code() -> list[Measure]:
    """Resolve originals, copies with other comments and layout (L1) and independent work on the same task (NP)."""
    file = DATA / "neardup_code_irplag" / "java.jsonl.gz"
    if not file.exists():
        print(f"no code with known answers at {file}: not checked", flush=True)
        return []
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        rows = [row for row in map(json.loads, lines) if row["label"] in ("L0", "L1", "NP")]
    documents = {f"{row['label']} {row['id']}": row["content"] for row in rows}
    table = removals(documents, shingle="code")
    kept_of = dict(zip(table["doc_id"].to_pylist(), table["duplicate_of"].to_pylist(), strict=True))
    copies = [name for name in documents if name.startswith("L1")]
    independent = [name for name in documents if name.startswith("NP")]
    copied = [name for name in independent if not kept_of.get(name, "NP").startswith("NP")]
    return [
        Measure(
            measure=f"code: {len(copies)} copies with other comments and layout, removed (share)",
            ours=sum(name in kept_of for name in copies) / len(copies),
            bar=at_least(0.95),
        ),
        Measure(
            measure=f"code: {len(independent)} independent solutions, removed for an original (share)",
            ours=len(copied) / len(independent),
            bar=at_most(0.02),
        ),
    ]


if __name__ == "__main__":
    print_measures(measures())
