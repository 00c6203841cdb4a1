"""What repeats its seed or its neighbours is told by name, and is not tokenized."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from corpusmill.dedup.parameters import DedupParameters
from corpusmill.document import DOCUMENTS, SYNTHESIZED, text_hash
from corpusmill.lake.errors import GateFailedError
from corpusmill.lake.files import ShardWriter
from corpusmill.lake.tables import Lake
from corpusmill.settings import Settings, settings_from_table
from corpusmill.tasks import synthesized_duplicates
from corpusmill.tasks.task import execute
from tests.dedup.planted import edited, words
from tests.engines.conftest import end_engines

SEEDS = "curated/web/documents"
MADE = "synthesized/web_rephrased/documents"
PARTITION = "distilled|2024"
PARAMETERS = {
    "seeds": "web",
    "variant": "distilled",
    "dedup": DedupParameters(num_bands=60, rows_per_band=1).to_json(),
    "seed_threshold": 0.7,
}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return settings_from_table({"spark": {"engine": "plain"}}, base=tmp_path)


def put(lake: Lake, table: str, partition: str, files: list[pa.Table]) -> None:
    """Commit a partition of one file a table."""
    attempt = lake.begin(table, partition, files[0].schema)
    written = []
    for number, rows in enumerate(files):
        with ShardWriter(
            lake.store,
            directory=attempt.directory,
            name=f"{attempt.attempt}-{number}",
            schema=rows.schema,
            partition=partition,
        ) as writer:
            writer.write(rows)
        written += writer.files
    lake.commit(attempt, written, {"gate_failures": []})


def documents(rows: list[tuple[str, str, str | None, str | None]], schema: pa.Schema) -> pa.Table:
    """Return documents of (doc_id, text, parent, reject_reason)."""
    return pa.Table.from_pylist(
        [
            {
                "doc_id": doc_id,
                "source": "web_rephrased/distilled",
                "snapshot": "2024",
                "text": text,
                "text_hash": text_hash(text),
                "parent_ids": [parent] if parent else None,
                "reject_reason": reason,
            }
            for doc_id, text, parent, reason in rows
        ],
        schema=schema,
    )


def run(settings: Settings, task: str, dataset: str, parameters: dict[str, Any]) -> dict[str, Any]:
    arguments = {"settings": settings.to_json(), "dataset": dataset, "partition": PARTITION, "parameters": parameters}
    return execute(task, arguments, lambda message, numbers: None)


def made(lake: Lake, rows: list[tuple[str, str, str | None, str | None]], *, num_seeds: int = 2) -> None:
    seeds = [(f"s{number}", edited(number, 60, 0), None, None) for number in range(num_seeds)]
    put(lake, SEEDS, "2024", [documents(seeds[:1], DOCUMENTS), documents(seeds[1:], DOCUMENTS)])
    put(lake, MADE, PARTITION, [documents(rows[:2], SYNTHESIZED), documents(rows[2:], SYNTHESIZED)])


ROWS = [
    ("copy of its seed", edited(0, 60, 2), "s0", None),
    ("first", words(700_000, 60), "s1", None),
    ("second", f"{words(700_000, 57)} and a change", "s0", None),
    ("third", words(700_000, 60), "s1", None),
    ("other", words(800_000, 60), "s1", None),
    ("rejected", words(800_000, 60), "s0", "too_short"),
    ("almost its seed", edited(1, 60, 3), "s1", None),
]


def test_repetitions_are_told_by_kind_and_every_row_is_accounted_for(settings: Settings) -> None:
    lake = Lake(settings.lake)
    made(lake, ROWS)
    result = run(settings, "synthesized_duplicates", "web_rephrased", PARAMETERS)
    rows = lake.read("synthesized/web_rephrased/duplicates").sort_by("doc_id").to_pylist()
    assert [(row["doc_id"], row["duplicate_of"], row["kind"], round(row["jaccard"], 3)) for row in rows] == [
        ("almost its seed", "s1", "seed", 0.898),
        ("copy of its seed", "s0", "seed", 0.931),
        ("second", "first", "near", 0.898),
        ("third", "first", "exact", 1.0),
    ]
    assert result["counts"] == {
        "rows_in": 6,
        "kept": 2,
        "dropped": {"seed_duplicate": 2, "exact_duplicate": 1, "near_duplicate": 1},
        "failed": {},
    }
    assert result["metrics"]["largest_cluster"] == 3


@pytest.mark.spark
@pytest.mark.slow
def test_on_spark_the_same_rows_are_found(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(synthesized_duplicates, "FEW", 2)
    lake = Lake(settings.lake)
    made(lake, ROWS)
    on_plain = run(settings, "synthesized_duplicates", "web_rephrased", PARAMETERS)
    on_spark = settings_from_table(
        {"spark": {"master": "local[2]", "driver_memory": "1g"}, "lake": {"root": str(tmp_path / "other")}},
        base=tmp_path,
    )
    made(Lake(on_spark.lake), ROWS)
    try:
        found = run(on_spark, "synthesized_duplicates", "web_rephrased", PARAMETERS)
    finally:
        end_engines(Path(on_spark.state_folder))
    assert (found["content_hash"], found["counts"]) == (on_plain["content_hash"], on_plain["counts"])


def test_documents_that_are_meant_to_be_like_their_seeds_are_compared_with_one_another_only(settings: Settings) -> None:
    lake = Lake(settings.lake)
    made(lake, ROWS)
    result = run(settings, "synthesized_duplicates", "web_rephrased", {**PARAMETERS, "seed_threshold": None})
    assert result["counts"]["dropped"] == {"exact_duplicate": 1, "near_duplicate": 1}


def test_a_generator_that_says_one_thing_over_and_over_fails_the_gate(settings: Settings) -> None:
    lake = Lake(settings.lake)
    made(lake, [(f"d{number:03d}", words(700_000, 60), "s1", None) for number in range(120)])
    run(settings, "synthesized_duplicates", "web_rephrased", PARAMETERS)
    with pytest.raises(GateFailedError, match=r"web_rephrased/distilled loses 99\.2% of its 120 documents"):
        lake.read("synthesized/web_rephrased/duplicates")


def test_duplicates_are_not_tokenized_and_sequences_have_small_row_groups(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("corpusmill.tasks.sequences.ROW_GROUP_BYTES", 1_000)
    letters = {letter: number for number, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    tokenizer = Tokenizer(models.BPE(vocab=letters, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    lake = Lake(settings.lake)
    made(lake, ROWS)
    run(settings, "synthesized_duplicates", "web_rephrased", PARAMETERS)
    sequences = {
        "documents": MADE,
        "duplicates": "synthesized/web_rephrased/duplicates",
        "tokenizer": str(tmp_path / "tokenizer.json"),
        "sequence_length": 64,
        "seed": 0,
    }
    run(settings, "sequences", "web_rephrased", sequences)
    packed = lake.read("tokenized/web_rephrased/sequences")["doc_ids"].to_pylist()
    assert {doc_id for ids in packed for doc_id in ids} == {"first", "other"}
    files = lake.files("tokenized/web_rephrased/sequences")
    assert max(pq.ParquetFile(file.path).metadata.num_row_groups for file in files) > 1
