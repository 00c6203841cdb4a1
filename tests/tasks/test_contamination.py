"""Benchmarks from a folder, and what of them stands in a dataset's texts: the tasks on the plain engine."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpusmill.lake.errors import GateFailedError, PartitionMissingError, TableMissingError
from corpusmill.lake.tables import Lake
from corpusmill.settings import Settings, settings_from_table
from corpusmill.tasks.task import execute, is_current

QUESTION = "Janet's ducks lay 16 eggs per day and she eats three for breakfast. How many eggs are left for the market?"
SWAP = "Write a function to swap two numbers."


def settings_for(folder: Path, **options: Any) -> Settings:
    sources = {
        "web": {"uri": "web", "format": "jsonl"},
        "benchmarks": {"uri": "benchmarks", "format": "jsonl", "options": options},
    }
    return settings_from_table({"spark": {"engine": "plain"}, "sources": sources}, base=folder)


def put(folder: Path, name: str, *rows: Any) -> None:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


def arguments(settings: Settings, dataset: str, partition: str, **parameters: Any) -> dict[str, Any]:
    return {"settings": settings.to_json(), "dataset": dataset, "partition": partition, "parameters": parameters}


def run(task: str, given: dict[str, Any]) -> dict[str, Any]:
    return execute(task, given, lambda message, numbers: None)


def put_benchmarks(folder: Path) -> None:
    put(folder, "benchmarks/math/gsm8k.jsonl", {"question": QUESTION, "answer": "not searched"}, {"question": "What?"})
    rows = pa.table({"benchmark": ["mbpp"], "task_id": [7], "text": [SWAP]})
    pq.write_table(rows, folder / "benchmarks" / "code.parquet")


def test_items_are_read_from_jsonl_and_parquet(tmp_path: Path) -> None:
    put_benchmarks(tmp_path)
    settings = settings_for(tmp_path)
    result = run("benchmark_items", arguments(settings, "benchmarks", "all"))
    rows = Lake(settings.lake).read("curated/benchmarks/items").select(["benchmark", "item", "text", "answer"])
    assert [tuple(row.values()) for row in rows.to_pylist()] == [
        ("mbpp", "7", SWAP, None),
        ("math/gsm8k", "0", QUESTION, None),
        ("math/gsm8k", "1", "What?", None),
    ]
    assert (result["metrics"]["benchmarks"], result["metrics"]["unsearchable"]) == (2, 1)
    assert result["tables"]["unsearchable"][0]["reason"] == "too_short"


def test_columns_are_named_by_the_sources_options(tmp_path: Path) -> None:
    put(tmp_path, "benchmarks/b.jsonl", {"id": "x", "q": "one", "text": "two", "solution": "three"})
    settings = settings_for(tmp_path, text_columns=["q"], answer_columns=["solution"])
    run("benchmark_items", arguments(settings, "benchmarks", "all"))
    row = Lake(settings.lake).read("curated/benchmarks/items").to_pylist()[0]
    assert (row["item"], row["text"], row["answer"]) == ("x", "one", "three")


def test_a_file_without_items_keeps_readers_away(tmp_path: Path) -> None:
    put(tmp_path, "benchmarks/a.jsonl", {"text": QUESTION}, {"text": "a \ud800 b"})
    put(tmp_path, "benchmarks/empty.jsonl")
    (tmp_path / "benchmarks/garbled.parquet").write_bytes(b"PAR1 but not")
    raw = pa.Array.from_buffers(pa.string(), 2, pa.array([SWAP.encode(), b"\xff"]).buffers())
    pq.write_table(pa.table({"text": raw}), tmp_path / "benchmarks/raw.parquet")
    result = run("benchmark_items", arguments(settings_for(tmp_path), "benchmarks", "all"))
    assert result["counts"]["failed"] == {"empty_file": 1, "garbled_parquet": 1, "invalid_utf8": 1}
    assert result["counts"]["kept"] == 3
    assert not result["gates"]["all_items_read"]["passed"]


def test_a_benchmark_whose_name_is_no_utf8_is_named(tmp_path: Path) -> None:
    put(tmp_path, "benchmarks/caf\udce9.jsonl", {"text": QUESTION})
    with pytest.raises(ValueError, match=r"the name of 'caf\\\\xe9.jsonl' is not UTF-8, or no path: rename the file"):
        run("benchmark_items", arguments(settings_for(tmp_path), "benchmarks", "all"))


def test_an_item_that_cannot_be_read_is_counted_and_keeps_readers_away(tmp_path: Path) -> None:
    put(tmp_path, "benchmarks/b.jsonl", {"text": QUESTION}, {"text": None}, ["no object"])
    put(tmp_path, "web/2024/a.jsonl", {"text": "hello"})
    settings = settings_for(tmp_path)
    result = run("benchmark_items", arguments(settings, "benchmarks", "all"))
    assert result["counts"] == {"rows_in": 3, "kept": 1, "dropped": {}, "failed": {"no_text": 1, "not_an_object": 1}}
    run("records", arguments(settings, "web", "2024"))
    run("extract", arguments(settings, "web", "2024", method="plain"))
    with pytest.raises(GateFailedError, match="all_items_read: 2 of 3 items cannot be read"):
        run("contamination", arguments(settings, "web", "2024"))


WRONG = {
    "no file": ({}, "wanted JSONL or Parquet files below .*benchmarks, got none"),
    "unknown option": (
        {"text_column": "q"},
        r"unknown option text_column of \[sources.benchmarks\]; known are text_columns",
    ),
}


@pytest.mark.parametrize(("options", "message"), WRONG.values(), ids=WRONG)
def test_a_wrong_benchmark_source_is_refused(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    if options:
        put_benchmarks(tmp_path)
    with pytest.raises(ValueError, match=message):
        run("benchmark_items", arguments(settings_for(tmp_path, **options), "benchmarks", "all"))


def test_what_stands_in_which_document(tmp_path: Path) -> None:
    put_benchmarks(tmp_path)
    settings = settings_for(tmp_path)
    texts = ["clean", f"Quiz: {QUESTION}", f"# {SWAP}\n# {QUESTION.upper()}"]
    put(tmp_path, "web/2024/a.jsonl", *({"text": text} for text in texts))
    put(tmp_path, "web/2024/b.jsonl", {"text": "clean as well"}, {"text": None})
    for task, given in (
        ("benchmark_items", arguments(settings, "benchmarks", "all")),
        ("records", arguments(settings, "web", "2024")),
        ("extract", arguments(settings, "web", "2024", method="plain")),
    ):
        run(task, given)
    searched = arguments(settings, "web", "2024")
    result = run("contamination", searched)
    assert result["counts"] == {"rows_in": 4, "kept": 2, "dropped": {"contaminated": 2}, "failed": {}}
    assert result["tables"]["found"] == [{"benchmark": "math/gsm8k", "matches": 2}, {"benchmark": "mbpp", "matches": 1}]
    assert result["samples"][0]["text"] == QUESTION[:-1]
    lake = Lake(settings.lake)
    found = lake.read("curated/web/contamination")
    assert [(row["benchmark"], row["start"]) for row in found.to_pylist()] == [
        ("math/gsm8k", 6),
        ("mbpp", 2),
        ("math/gsm8k", 42),
    ]
    assert is_current("contamination", searched)
    put(tmp_path, "benchmarks/math/gsm8k.jsonl", {"question": "Another question about ducks."})
    run("benchmark_items", arguments(settings, "benchmarks", "all"))
    assert not is_current("contamination", searched)
    assert run("contamination", searched)["counts"]["dropped"] == {"contaminated": 1}
    assert lake.read("curated/web/contamination")["benchmark"].to_pylist() == ["mbpp"]


def test_without_benchmarks_the_task_says_what_is_missing(tmp_path: Path) -> None:
    put(tmp_path, "web/2024/a.jsonl", {"text": "hello"})
    settings = settings_for(tmp_path)
    run("records", arguments(settings, "web", "2024"))
    run("extract", arguments(settings, "web", "2024", method="plain"))
    with pytest.raises((PartitionMissingError, TableMissingError), match="curated/benchmarks/items"):
        run("contamination", arguments(settings, "web", "2024"))
