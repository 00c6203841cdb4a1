"""Who is kept: the rank rules, and the validation split that comes before them."""

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.dedup.evidence import Ranking, member_names, rank_snapshots
from corpusmill.dedup.parameters import DedupParameters
from corpusmill.dedup.validation import is_validation
from corpusmill.document import text_hash
from tests.dedup.planted import CERTAIN, decisions, edited, resolve_texts, texts_table, word_shingles, words

SHORT, LONG = words(0, 30), words(0, 36)
"""26 shingles, all of them among the 32 of the other."""


def certain(**changed: object) -> DedupParameters:
    return DedupParameters.from_json({**CERTAIN.to_json(), **changed})


def removed_for(documents: list[tuple[str, str, str]], qualities: list[float | None], **changed: object) -> dict:
    texts = texts_table(documents).append_column("quality", pa.array(qualities, pa.float64()))
    return {removed: kept for removed, kept, _, _ in decisions(resolve_texts([texts], certain(**changed)))}


DOCUMENTS = [("a", "2023", SHORT), ("b", "2024", LONG), ("c", "2024", LONG + "!"), ("d", "2023", LONG.upper())]
QUALITIES = [0.1, -2.0, 0.7, None]


@pytest.mark.parametrize(
    ("rank", "kept"),
    [
        pytest.param("oldest", "a", id="the smaller id of the oldest snapshot"),
        pytest.param("newest", "b", id="the smaller id of the newest snapshot"),
        pytest.param("longest", "d", id="three are longest, one of them is older"),
        pytest.param("quality", "c", id="the highest quality"),
    ],
)
def test_one_of_four_is_kept_by_rank(rank, kept):
    statistic = {"quality_statistic": "web_score"} if rank == "quality" else {}
    found = removed_for(DOCUMENTS, QUALITIES, rank=rank, **statistic)
    assert found == dict.fromkeys({"a", "b", "c", "d"} - {kept}, kept)


def test_qualities_rank_from_high_to_low_and_unknown_ones_last():
    values = [-2.5, 0.0, None, 3e-300, 1.0, -0.5, 40.0, -0.0]
    table = pa.table(
        {
            "doc_id": [f"{place}" for place in range(len(values))],
            "snapshot": ["s"] * len(values),
            "text_hash": [text_hash(str(place)) for place in range(len(values))],
            "quality": pa.array(values, pa.float64()),
        }
    )
    names = member_names(table, Ranking(snapshots=("s",), rank="quality"))
    assert [name.partition("/")[2] for name in sorted(names.to_pylist())] == ["6", "4", "3", "1", "7", "5", "0", "2"]


def test_a_ranking_without_its_column_is_refused():
    texts = pa.table({"doc_id": ["a"], "snapshot": ["s"], "text_hash": [text_hash("")]})
    with pytest.raises(ValueError, match="rank 'longest' needs the column num_shingles"):
        member_names(texts, Ranking(snapshots=("s",), rank="longest"))


@pytest.mark.parametrize("rank", ["oldest", "newest", "longest"])
def test_a_name_says_what_it_names(rank):
    table = pa.table(
        {
            "doc_id": ["x/y", "z"],
            "snapshot": ["new", "old"],
            "text_hash": [VALIDATION, TRAINING],
            "num_shingles": [3, 0],
        }
    )
    ranking = rank_snapshots(["new", "old"], parameters=certain(rank=rank, validation_share=0.25), order=["old", "new"])
    assert [ranking.split(name) for name in member_names(table, ranking).to_pylist()] == [
        ("new", "x/y", True),
        ("old", "z", False),
    ]


VALIDATION, TRAINING = "f" * 16 + "3" + "f" * 15, "0" * 16 + "4" + "0" * 15
"""Hashes just below and just at a share of a quarter."""


def test_the_split_is_a_share_of_the_texts_and_never_parts_copies():
    hashes = pa.array([VALIDATION, TRAINING, "", None, VALIDATION])
    assert is_validation(hashes, 0.25).to_pylist() == [True, False, False, False, True]
    assert not pc.any(is_validation(hashes, 0.0)).as_py()
    many = pa.array([text_hash(f"text {number}") for number in range(20_000)])
    assert 400 - 80 < pc.sum(is_validation(many, 0.02)).as_py() < 400 + 80


def pair_across_the_split() -> tuple[str, str]:
    """Return near-duplicates, the first for validation and the second for training, at a share of a quarter."""
    for base in range(1, 100):
        near, original = edited(base, 60, 2), edited(base, 60, 0)
        sides = is_validation(pa.array([text_hash(near), text_hash(original)]), 0.25).to_pylist()
        if sides == [True, False]:
            return near, original
    raise AssertionError


def kinds(documents: list[tuple[str, str, str]], rank: str) -> list[tuple[str, str, str]]:
    parameters = certain(rank=rank, validation_share=0.25)
    return [row[:3] for row in decisions(resolve_texts([texts_table(documents)], parameters))]


def test_training_documents_near_the_validation_split_are_removed():
    held, trained = pair_across_the_split()
    same = [("a", "2024", trained), ("b", "2024", held), ("c", "2024", trained), ("d", "2024", held)]
    expected = [("a", "b", "validation"), ("c", "b", "validation"), ("d", "b", "exact")]
    for rank in ("oldest", "newest", "longest"):
        assert kinds(same, rank) == expected
    statistics = resolve_texts([texts_table(same)], certain(validation_share=0.25)).statistics.scalars
    assert {name: n for name, n in statistics.items() if name.startswith("documents_")} == {
        "documents_in": 4,
        "documents_kept": 1,
        "documents_removed_exact": 1,
        "documents_removed_near": 0,
        "documents_removed_validation": 2,
        "documents_below_shingle_width": 0,
    }


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.sampled_from(["s1", "s2"]), st.integers(0, 2), st.integers(0, 8)), min_size=2, max_size=20),
    st.sampled_from(["oldest", "newest", "longest"]),
)
def test_no_document_to_train_on_is_like_one_of_the_split(drawn, rank):
    documents = [
        (f"d{n:02d}", snapshot, edited(base, 30, replaced)) for n, (snapshot, base, replaced) in enumerate(drawn)
    ]
    resolution = resolve_texts([texts_table(documents)], certain(rank=rank, validation_share=0.5))
    removed = set(resolution.table["doc_id"].to_pylist())
    kept = [(text, word_shingles(text)) for doc_id, _, text in documents if doc_id not in removed]
    sides = is_validation(pa.array([text_hash(text) for text, _ in kept]), 0.5).to_pylist()
    for (_, one), is_held in zip(kept, sides, strict=True):
        for (_, other), is_other_held in zip(kept, sides, strict=True):
            assert is_held == is_other_held or len(one & other) / len(one | other) < CERTAIN.threshold


def test_an_older_training_document_stays_where_the_oldest_come_first():
    """A decision about an earlier snapshot never changes then: the later document leaves the validation split."""
    held, trained = pair_across_the_split()
    documents = [("a", "2023", trained), ("b", "2024", held)]
    assert kinds(documents, "oldest") == [("b", "a", "near")]
    assert kinds(documents, "newest") == [("a", "b", "validation")]
    assert kinds(documents, "longest") == [("a", "b", "validation")]
