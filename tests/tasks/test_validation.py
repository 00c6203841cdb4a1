"""The validation split on its way: apart from the documents to train on, and nothing like it among them."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from corpusmill.dedup.validation import is_validation
from corpusmill.document import text_hash
from corpusmill.lake.tables import Lake
from corpusmill.settings import settings_from_table
from corpusmill.tasks.task import execute
from tests.dedup.planted import words

SHARE = 0.25
JUDGE = {"judge": "stem", "rules": {"languages": [], "min_formulas": 0, "min_words": 3}}
DEDUP = {"num_bands": 60, "rows_per_band": 1, "validation_share": SHARE}


def is_held(text: str) -> bool:
    return bool(is_validation(pa.array([text_hash(text)]), SHARE)[0].as_py())


PAGES = [words(100 * number, 60) for number in range(40)]
HELD = [page for page in PAGES if is_held(page)][:5]
TRAINED = [page for page in PAGES if not is_held(page)][:6]
NEAR = next(text for text in (f"{HELD[0]} {words(number, 1)}" for number in range(50)) if not is_held(text))
"""For training, and almost the first text of the validation split."""
DROPPED = next(text for text in (f"w{number}" for number in range(50)) if is_held(text))


def walk(folder: Path, texts: list[str], *, asked: float = SHARE, **dedup: Any) -> tuple[Lake, dict[str, Any]]:
    (folder / "stem" / "2024").mkdir(parents=True)
    lines = [json.dumps({"text": text}) for text in texts]
    (folder / "stem" / "2024" / "a.jsonl").write_text("\n".join(lines) + "\n")
    settings = settings_from_table(
        {"spark": {"engine": "plain"}, "sources": {"stem": {"uri": "stem", "format": "jsonl"}}}, base=folder
    )
    results = {}
    for task, partition, parameters in (
        ("records", "2024", {}),
        ("extract", "2024", {"method": "plain"}),
        ("judge", "2024", JUDGE),
        ("sign", "2024", DEDUP | dedup),
        ("resolve", "all", DEDUP | dedup),
        ("duplicates", "2024", {"max_removed_share": 1.0}),
        ("documents", "2024", {"validation_share": asked}),
        ("validation", "2024", {"validation_share": asked}),
    ):
        given = {"settings": settings.to_json(), "dataset": "stem", "partition": partition, "parameters": parameters}
        results[task] = execute(task, given, lambda message, numbers: None)
    return Lake(settings.lake), results


def test_every_document_is_trained_on_or_held_or_told_why_not(tmp_path: Path) -> None:
    texts = [NEAR, *TRAINED, *HELD, HELD[1], TRAINED[0], DROPPED]
    lake, results = walk(tmp_path, texts)
    assert sorted(lake.read("curated/stem/documents")["text"].to_pylist()) == sorted(TRAINED)
    assert sorted(lake.read("curated/stem/validation")["text"].to_pylist()) == sorted(HELD)
    assert results["documents"]["counts"] == {
        "rows_in": 15,
        "kept": 6,
        "dropped": {"exact_duplicate": 2, "too_few_words": 1, "validation_duplicate": 1, "validation_split": 5},
        "failed": {},
    }
    assert results["validation"]["counts"] == {
        "rows_in": 7,
        "kept": 5,
        "dropped": {"exact_duplicate": 1, "too_few_words": 1},
        "failed": {},
    }
    assert results["duplicates"]["counts"]["dropped"] == {"exact_duplicate": 2, "validation_duplicate": 1}


def test_documents_of_another_split_than_their_duplicates_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"documents take 0.25 .* in favour of 0.5 of them.*curated/stem/signatures"):
        walk(tmp_path, [NEAR, *TRAINED, *HELD], validation_share=0.5)


def test_the_page_of_a_snapshot_says_what_was_missed_and_what_was_removed_wrongly(tmp_path: Path) -> None:
    _, results = walk(tmp_path, [NEAR, *TRAINED, *HELD, HELD[1], TRAINED[0]])
    metrics = results["duplicates"]["metrics"]
    assert metrics["removals_rechecked"] == 3
    assert metrics["removals_wrong_share"] == 0.0 < metrics["removals_wrong_share_high"]
    assert metrics["pairs_missed"] == 0.0
    meant = ("shingle", "shingle_size", "num_bands", "rows_per_band", "jaccard_threshold")
    assert [metrics[name] for name in meant] == ["word", 5, 60, 1, 0.7]
    (source,) = results["duplicates"]["tables"]["sources"]
    assert (source["source"], source["documents_in"], source["documents_kept"]) == ("stem", 14, 11)
    assert metrics["shingle_tokens_in"] - metrics["shingle_tokens_kept"] == 61 + 60 + 60
    assert set(results["duplicates"]["gates"]) == {"retention", "source_retention", "removals_rechecked"}


def test_the_document_of_highest_quality_is_kept_and_knows_its_popularity(tmp_path: Path) -> None:
    """Quality is a statistic of the verdicts: here how many formulas a page has."""
    plain = words(0, 60)
    pages = [f"$x$ {plain}", f"$x$ and $y$ {plain}", plain, words(500, 60)]
    lake, _ = walk(tmp_path, pages, rank="quality", quality_statistic="formulas", validation_share=0.0, asked=0.0)
    assert sorted(lake.read("curated/stem/signatures")["quality"].to_pylist()) == [0.0, 0.0, 1.0, 2.0]
    query = """
        select distinct documents.text, resolution.num_duplicates
        from curated.stem.resolution join curated.stem.extracted as documents on documents.doc_id = duplicate_of
    """
    assert lake.sql(query).read_all().to_pylist() == [{"text": pages[1], "num_duplicates": 2}]


def test_a_quality_that_no_verdict_has_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="has no statistic beauty; name one that its judge measures"):
        walk(tmp_path, PAGES[:3], rank="quality", quality_statistic="beauty")
