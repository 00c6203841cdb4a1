"""Estimates of what was missed and what was removed wrongly, against corpora in which both are known."""

import random
from itertools import combinations

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from corpusmill.dedup import estimates
from corpusmill.dedup.estimates import Pair, measured_curve, missed_pairs, poisson_interval, wilson_interval
from corpusmill.dedup.parameters import DedupParameters, candidate_probability
from corpusmill.dedup.signatures import sign
from tests.dedup.planted import CERTAIN, edited, resolve_texts, texts_table, word_shingles

PAIRS = 300
FEW_BANDS = DedupParameters(num_bands=2, rows_per_band=8)
"""A pair of Jaccard .75 becomes a candidate with probability .19: most are missed."""


def corpus(snapshot: str = "s") -> pa.Table:
    """Return pairs of 60 words each, 8 of them replaced in the second: Jaccard 48 / 64 = .75."""
    texts = [edited(base, 60, replaced) for base in range(PAIRS) for replaced in (0, 8)]
    return texts_table([(f"d{number:04d}", snapshot, text) for number, text in enumerate(texts)])


def reader(texts: pa.Table):
    return lambda file, doc_ids: texts.filter(pc.is_in(texts["doc_id"], pa.array(doc_ids))).select(["doc_id", "text"])


def sample(texts: pa.Table, parameters: DedupParameters, cuts: int = 1) -> list[Pair]:
    signed = sign(texts, parameters.to_json())
    tables = [signed.slice(cut * len(signed) // cuts, -(-len(signed) // cuts)) for cut in range(cuts)]
    return estimates.sample_pairs(tables, num_documents=len(signed), parameters=parameters, read_texts=reader(texts))


def test_missed_pairs_are_estimated_with_an_interval_around_the_truth():
    texts = corpus()
    resolution = resolve_texts([texts], FEW_BANDS)
    removed = resolution.table["doc_id"]
    truth = PAIRS - len(removed)
    assert truth > PAIRS / 2
    number, num_sampled = missed_pairs(sample(texts, FEW_BANDS), removed, FEW_BANDS.threshold)
    assert num_sampled > 100
    assert number.low < truth < number.high
    assert abs(number.estimate - truth) < 0.2 * truth


def test_the_measured_curve_stands_by_the_promised_one():
    rows = {row["jaccard"]: row for row in measured_curve(sample(corpus(), FEW_BANDS), FEW_BANDS)}
    row = rows["0.7 to 0.8"]
    assert row["pairs"] > 150
    assert row["promised"] == pytest.approx(candidate_probability(0.75, FEW_BANDS))
    assert abs(row["measured"] - row["promised"]) < 4 * (0.19 * 0.81 / row["pairs"]) ** 0.5
    assert row["low"] < row["measured"] < row["high"]
    assert [name for name, row in rows.items() if row["pairs"]] == ["0.7 to 0.8"]


def test_where_bands_miss_nothing_nothing_is_missed():
    texts = corpus()
    resolution = resolve_texts([texts], CERTAIN)
    number, num_sampled = missed_pairs(sample(texts, CERTAIN), resolution.table["doc_id"], CERTAIN.threshold)
    assert (number.estimate, number.low, num_sampled) == (0.0, 0.0, 0)
    assert 0 < number.high < 6, "as many as one sampled pair stands for, 3.7 times"


def test_the_sample_is_bounded_and_the_same_for_any_cut(monkeypatch):
    whole = sample(corpus(), FEW_BANDS)
    monkeypatch.setattr(estimates, "MAX_PAIRS", 40)
    bounded = sample(corpus(), FEW_BANDS, cuts=7)
    assert bounded == sample(corpus(), FEW_BANDS)
    assert {(pair.left, pair.right) for pair in bounded} < {(pair.left, pair.right) for pair in whole}
    assert len(bounded) == 40
    assert sum(pair.weight for pair in bounded) == pytest.approx(PAIRS, rel=0.4)


def test_a_sample_of_documents_stands_for_all(monkeypatch):
    monkeypatch.setattr(estimates, "MAX_SAMPLED", 200)
    some = sample(corpus(), FEW_BANDS)
    assert 40 < len(some) < 120
    assert sum(pair.weight for pair in some) == pytest.approx(PAIRS, rel=0.4)


def test_equal_texts_and_documents_without_shingles_are_no_pairs():
    texts = texts_table(
        [("a", "s", edited(1, 40, 0)), ("b", "s", edited(1, 40, 0)), ("c", "s", "short"), ("d", "s", None)]
    )
    assert sample(texts, FEW_BANDS) == []
    assert estimates.sample_pairs([], num_documents=0, parameters=FEW_BANDS, read_texts=reader(texts)) == []


def test_other_scopes_are_not_sampled():
    texts = pa.concat_tables([texts_table([("a", "s", edited(1, 60, 0))]), texts_table([("b", "t", edited(1, 60, 1))])])
    changed = DedupParameters(num_bands=2, scope="snapshot")
    keys = sign(texts, FEW_BANDS.to_json())["sample_key"].to_pylist()
    assert keys[0] == keys[1], "the corpus must be such that the pair would be sampled"
    assert len(sample(texts, FEW_BANDS)) == 1
    assert sample(texts, changed) == []


def test_removals_are_compared_again_from_their_texts():
    texts = texts_table(
        [
            ("a", "s", edited(1, 60, 0)),
            ("b", "s", edited(1, 60, 2)),
            ("c", "s", edited(1, 60, 0)),
            ("d", "s", edited(2, 60, 0)),
        ]
    )
    removals = pa.table(
        {
            "doc_id": ["b", "c", "d", "b"],
            "duplicate_of": ["a", "a", "a", "c"],
            "kind": ["near", "exact", "near", "exact"],
        }
    )
    files = dict.fromkeys("abcd", "texts")
    found = estimates.recheck_removals(removals, files, parameters=CERTAIN, read_texts=reader(texts))
    assert [(it.doc_id, it.jaccard, it.is_right) for it in found] == [
        ("b", 54 / 58, True),
        ("c", 1.0, True),
        ("d", 0.0, False),
        ("b", 54 / 58, False),
    ]
    with pytest.raises(ValueError, match="no signature tells where the text of d lies"):
        estimates.recheck_removals(
            removals, dict.fromkeys("abc", "texts"), parameters=CERTAIN, read_texts=reader(texts)
        )


def test_few_removals_stand_for_all():
    removals = pa.table({"doc_id": [f"d{number}" for number in range(1000)]})
    chosen = estimates.sample_removals(removals)["doc_id"].to_pylist()
    assert len(chosen) == estimates.MAX_REMOVALS
    assert chosen == estimates.sample_removals(removals.take(list(range(1000))[::-1]))["doc_id"].to_pylist()


def test_intervals_are_those_of_the_tables():
    """Wilson: Newcombe 1998, table I, 81 of 263 and 0 of 20. Poisson: the exact limits of 10 are 4.80 and 18.39, of 0 3.69."""
    share = wilson_interval(81, 263)
    assert (round(share.low, 4), round(share.high, 4)) == (0.2553, 0.3662)
    assert round(wilson_interval(0, 20).high, 4) == 0.1611
    number = poisson_interval([1.0] * 10, 1.0)
    assert number.low == pytest.approx(4.80, abs=0.02)
    assert number.high == pytest.approx(18.39, abs=0.02)
    assert poisson_interval([], 2.0).high == pytest.approx(2 * 3.69, abs=0.06)
    assert wilson_interval(0, 0).high == 1.0


def true_misses(texts: pa.Table, removed: set[str], clusters: list[list[str]]) -> int:
    """Count the pairs of a cluster, of different texts and at the threshold or above, of which both documents stay."""
    text_of = dict(zip(texts["doc_id"].to_pylist(), texts["text"].to_pylist(), strict=True))
    pairs = [pair for ids in clusters for pair in combinations([i for i in ids if i not in removed], 2)]
    shingles = {name: word_shingles(text_of[name]) for pair in pairs for name in pair}
    scores = [
        len(shingles[a] & shingles[b]) / len(shingles[a] | shingles[b]) for a, b in pairs if text_of[a] != text_of[b]
    ]
    return sum(score >= FEW_BANDS.threshold for score in scores)


def test_the_interval_holds_the_truth_in_nearly_all_corpora(monkeypatch):
    """Twenty corpora of clusters of two to five, whose pairs weigh from one to ten, and few sampled pairs of each."""
    monkeypatch.setattr(estimates, "MAX_PAIRS", 40)
    hits, ratios = 0, []
    for seed in range(20):
        draw = random.Random(seed)
        clusters = [[f"{draw.getrandbits(64):016x}" for _ in range(draw.choice([2, 2, 2, 3, 5]))] for _ in range(120)]
        documents = [
            (doc_id, "s", edited(1000 * seed + base, 60, draw.randint(1, 16) if place else 0))
            for base, ids in enumerate(clusters)
            for place, doc_id in enumerate(ids)
        ]
        texts = texts_table(documents)
        removed = resolve_texts([texts], FEW_BANDS).table["doc_id"]
        truth = true_misses(texts, set(removed.to_pylist()), clusters)
        number, _ = missed_pairs(sample(texts, FEW_BANDS), removed, FEW_BANDS.threshold)
        hits += number.low <= truth <= number.high
        ratios.append(number.estimate / truth)
    assert hits >= 19
    assert 0.8 < sum(ratios) / len(ratios) < 1.2
