"""Signatures: one row per document, the same for the same text, wherever it stands."""

import hashlib

import numpy as np
import pyarrow as pa
import pytest

from corpusmill import document
from corpusmill.dedup.parameters import CURATOR, DOLMA3, PRESETS, DedupParameters, candidate_probability
from corpusmill.dedup.shingles import jaccard, shingle_sets
from corpusmill.dedup.signatures import SCHEMA_WITH_SOURCE, permutations, sign, signature_matrix
from tests.dedup.planted import edited, texts_table, words

MIXED = [
    ("a", "s1", words(0, 300)),
    ("b", "s1", None),
    ("c", "s2", "too short to shingle"),
    ("d", "s2", ""),
    ("e", "s2", words(0, 5)),
]


def test_every_text_gets_a_row_and_null_text_never_crashes():
    signed = sign(texts_table(MIXED), {})
    assert signed.schema == SCHEMA_WITH_SOURCE
    assert signed["doc_id"].to_pylist() == ["a", "b", "c", "d", "e"]
    assert signed["num_shingles"].to_pylist() == [296, 0, 0, 0, 1]
    assert [value is None or len(value) for value in signed["signature"].to_pylist()] == [448, True, True, True, 448]
    hashes = [document.text_hash(text) if text is not None else "" for _, _, text in MIXED]
    assert signed["text_hash"].to_pylist() == hashes


def test_without_sources_the_schema_is_the_tables():
    texts = texts_table(MIXED).drop_columns("source")
    assert sign(texts, {}).schema == document.SIGNATURES
    assert sign(texts.slice(0, 0), {}).schema == document.SIGNATURES


def test_a_given_hash_stays():
    texts = texts_table(MIXED[:1]).drop_columns("text_hash").append_column("text_hash", pa.array(["given"]))
    assert sign(texts, {})["text_hash"].to_pylist() == ["given"]


def test_rows_chunks_and_slices_change_no_signature():
    documents = [(f"d{n}", "s", edited(n, 30 + 40 * n, n % 7)) for n in range(20)]
    whole = sign(texts_table(documents), {})
    backwards = pa.concat_tables([texts_table(documents[::-1]).slice(n, 3) for n in range(0, 20, 3)])
    assert sign(backwards, {}).sort_by("doc_id").equals(whole.sort_by("doc_id"))


def test_minima_are_those_of_the_permuted_shingles():
    parameters = DedupParameters(shingle_size=2, num_bands=3, rows_per_band=2, seed=9)
    signed = sign(texts_table([("a", "s", words(0, 700))]), parameters.to_json())
    (shingles,) = shingle_sets(pa.array([words(0, 700)]), parameters)
    high = (shingles >> np.uint64(32)).tolist()
    multipliers, increments = (numbers.tolist() for numbers in permutations(parameters))
    expected = [min((a * x + b) % 2**32 for x in high) for a, b in zip(multipliers, increments, strict=True)]
    assert signature_matrix(signed["signature"], parameters).tolist() == [expected]


def test_the_seed_changes_signatures_and_their_fingerprint():
    one, other = DedupParameters(seed=1), DedupParameters(seed=2)
    texts = texts_table(MIXED)
    assert not sign(texts, one.to_json()).equals(sign(texts, other.to_json()))
    assert one.signature_fingerprint != other.signature_fingerprint
    assert one.signature_fingerprint == DedupParameters(threshold=0.9, rank="newest").signature_fingerprint


@pytest.mark.parametrize(
    ("shingle", "digest", "sample_key"),
    [
        ("word", "8d3b3a659a361853", 1166190117476842305),
        ("character", "a698d5b76de06eae", 193749133329934066),
        ("code", "54d5837f70174ac6", 212408893544952815),
    ],
)
def test_stored_signatures_still_compare_with_new_ones(shingle, digest, sample_key):
    """Where this fails the algorithm changed: raise SIGNATURE_ALGORITHM, so that stored signatures are refused."""
    text = "The ships that cross the sea, by night and by day: 3 of them — Größe, 東京都 a/b /* c */ x_1 # note\nfoo(bar) // baz"
    (row,) = sign(texts_table([("a", "s", text + " qux")]), {"shingle": shingle}).to_pylist()
    assert (hashlib.sha256(row["signature"]).hexdigest()[:16], row["sample_key"]) == (digest, sample_key)


def test_signatures_of_other_parameters_are_refused():
    signed = sign(texts_table(MIXED[:1]), {})
    with pytest.raises(ValueError, match=r"26 x 11 permutations have 1144 bytes, got \[448\].*rebuild"):
        signature_matrix(signed["signature"], DOLMA3)


@pytest.mark.parametrize(
    "wrong",
    [
        {"shingle": "sentence"},
        {"rank": "best"},
        {"threshold": 0},
        {"num_bands": 64},
        {"shingle_size": 0},
        {"max_bucket": 1},
        {"validation_share": 0.6},
        {"quality_statistic": "web_score"},
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong):
    (name,) = wrong
    with pytest.raises(ValueError, match=name):
        DedupParameters(**wrong)


def test_presets_have_their_s_curves():
    assert {name: (p.num_bands, p.rows_per_band) for name, p in PRESETS.items()} == {
        "fineweb": (14, 8),
        "dolma3": (26, 11),
        "curator": (20, 13),
    }
    assert candidate_probability(0.75, DedupParameters()) == pytest.approx(0.772, abs=0.001)
    assert candidate_probability(1.0, CURATOR) == 1.0


def test_one_long_document_is_one_row():
    signed = sign(texts_table([("a", "s", words(0, 400_000))]), {})
    assert signed["num_shingles"].to_pylist() == [399_996]


def test_agreeing_minima_estimate_the_jaccard():
    """Over 400 pairs of Jaccard 14/20 the share of agreeing minima is within 4 standard errors of it."""
    parameters = DedupParameters()
    pairs = [edited(base, 21, replaced) for base in range(1, 401) for replaced in (0, 3)]
    signed = sign(texts_table([(f"{n:04d}", "s", text) for n, text in enumerate(pairs)]), parameters.to_json())
    sets = shingle_sets(pa.array(pairs[:2]), parameters)
    assert jaccard(*sets) == 0.7
    minima = signature_matrix(signed["signature"], parameters)
    agreeing = (minima[::2] == minima[1::2]).mean()
    assert abs(agreeing - 0.7) < 4 * (0.7 * 0.3 / 112 / 400) ** 0.5


def test_documents_share_their_sample_key_as_often_as_their_shingles():
    """Pairs of Jaccard .6 (one shingle a word): 400 of them share it 240 times, within four standard deviations."""
    parameters = {"shingle_size": 1, "num_bands": 1, "rows_per_band": 1}
    documents = [
        (f"{pair}-{side}", "s", f"{words(pair * 100, 60)} {words(pair * 100 + 60 + 20 * side, 20)}")
        for pair in range(400)
        for side in range(2)
    ]
    keys = sign(texts_table(documents), parameters)["sample_key"].to_numpy().reshape(400, 2)
    assert 240 - 40 < (keys[:, 0] == keys[:, 1]).sum() < 240 + 40
    assert sign(texts_table(MIXED), {})["sample_key"].is_null().to_pylist() == [False, True, True, True, False]
