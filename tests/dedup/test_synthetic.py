"""Synthetic documents against the seeds that they were made from."""

import pyarrow as pa
import pytest

from corpusmill.dedup.parameters import DedupParameters
from corpusmill.dedup.synthetic import seed_duplicates
from corpusmill.document import DUPLICATES
from tests.dedup.planted import edited, words

RULES = DedupParameters(threshold=0.7)
SEEDS = pa.table(
    {
        "doc_id": ["s1", "s2", "s3"],
        "snapshot": ["2023", "2024", "2024"],
        "text": [edited(1, 60, 0), edited(2, 60, 0), edited(2, 60, 2)],
    }
)


def outputs(*rows: tuple[str, list[str] | None, str]) -> pa.Table:
    doc_ids, parents, texts = zip(*rows, strict=True)
    return pa.table(
        {
            "doc_id": doc_ids,
            "snapshot": ["2024"] * len(rows),
            "parent_ids": pa.array(parents, pa.list_(pa.string())),
            "text": pa.array(texts, pa.large_string()),
        }
    )


def test_an_output_is_compared_with_its_own_seeds_and_names_the_nearest():
    made = outputs(
        ("copied", ["s1"], edited(1, 60, 0)),
        ("said anew", ["s1"], words(900_000, 60)),
        ("copied from another's seed", ["s2"], edited(1, 60, 2)),
        ("of two seeds", ["s2", "s3"], edited(2, 60, 2)),
        ("of none", None, edited(1, 60, 0)),
        ("short", ["s1"], "two words"),
    )
    for tables in ([SEEDS], [SEEDS.slice(2), SEEDS.slice(0, 2)]):
        found = seed_duplicates(made, tables, parameters=RULES)
        assert found.schema == DUPLICATES
        assert [tuple(row.values()) for row in found.to_pylist()] == [
            ("copied", "2024", "s1", "2023", "seed", 1.0),
            ("of two seeds", "2024", "s3", "2024", "seed", 1.0),
        ]


def test_a_seed_that_is_gone_is_refused():
    with pytest.raises(ValueError, match="1 seeds are not among the documents, s9 is one"):
        seed_duplicates(outputs(("a", ["s9"], "text")), [SEEDS], parameters=RULES)


def test_nothing_in_nothing_out():
    none = outputs(("a", None, "x")).slice(0, 0)
    assert seed_duplicates(none, [SEEDS], parameters=RULES).num_rows == 0
