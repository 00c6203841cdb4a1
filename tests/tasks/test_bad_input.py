"""A mistake in a source is told by name, with what to do, and nothing is committed."""

import os
from pathlib import Path
from typing import Any

import pytest

from corpusmill.engines.shard import ShardContext
from corpusmill.lake.errors import PartitionMissingError, TableMissingError
from corpusmill.lake.tables import Lake
from corpusmill.settings import Settings, settings_from_table
from corpusmill.tasks import records
from corpusmill.tasks.task import execute


def settings_for(folder: Path, *, form: str, **options: Any) -> Settings:
    source = {"uri": "web", "format": form, "options": options}
    return settings_from_table({"spark": {"engine": "plain"}, "sources": {"web": source}}, base=folder)


def run(settings: Settings, task: str = "records", **parameters: Any) -> dict[str, Any]:
    arguments = {"settings": settings.to_json(), "dataset": "web", "partition": "2024", "parameters": parameters}
    return execute(task, arguments, lambda message, numbers: None)


def put(folder: Path, name: str, text: str) -> None:
    file = folder / "web" / "2024" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def test_a_snapshot_that_vanished(tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match=r"snapshot '2024' of web has no files: wanted jsonl files below .*Put the snapshot back"
    ):
        run(settings_for(tmp_path, form="jsonl"))


def test_a_snapshot_without_a_file_of_its_format(tmp_path: Path) -> None:
    put(tmp_path, "notes.txt", "hello")
    with pytest.raises(ValueError, match="2024"):
        run(settings_for(tmp_path, form="jsonl"))


def test_an_empty_file_beside_others_is_a_failed_row(tmp_path: Path) -> None:
    put(tmp_path, "a.jsonl", "")
    put(tmp_path, "b.jsonl", '{"text": "hello"}\n')
    result = run(settings_for(tmp_path, form="jsonl"))
    assert result["counts"]["failed"] == {"empty_file": 1}
    assert (result["counts"]["rows_in"], result["counts"]["kept"]) == (2, 1)


def test_a_name_that_is_no_utf8_is_a_failed_row(tmp_path: Path) -> None:
    put(tmp_path, "b.jsonl", '{"text": "hello"}\n')
    with open(os.fsencode(tmp_path) + b"/web/2024/caf\xe9.jsonl", "wb") as file:
        file.write(b'{"text": "hello"}')
    settings = settings_for(tmp_path, form="jsonl")
    result = run(settings)
    assert result["counts"]["failed"] == {"unusable_file_name": 1}
    records = Lake(settings.lake).read("sources/web/records").to_pylist()
    assert {row["file"]: row["failure"] for row in records} == {
        "2024/b.jsonl": None,
        "2024/caf\\xe9.jsonl": "unusable_file_name",
    }
    assert run(settings, task="extract", method="plain")["counts"]["kept"] == 1


def test_a_file_that_became_a_folder_is_a_failed_row(tmp_path: Path) -> None:
    put(tmp_path, "a.jsonl", '{"text": "one"}\n')
    put(tmp_path, "b.jsonl", '{"text": "two"}\n')
    settings = settings_for(tmp_path, form="jsonl")
    run(settings)
    (tmp_path / "web/2024/a.jsonl").unlink()
    put(tmp_path, "a.jsonl/c.jsonl", '{"text": "one"}\n')
    counts = run(settings, task="extract", method="plain")["counts"]
    assert (counts["kept"], counts["failed"]) == (1, {"file_is_a_folder": 1})


def test_a_snapshot_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "web").mkdir()
    (tmp_path / "web/2024").write_text('{"text": "hello"}\n')
    with pytest.raises(ValueError, match=r"snapshot '2024' of web has no files: wanted jsonl files below .*/web/2024/"):
        run(settings_for(tmp_path, form="jsonl"))


@pytest.mark.parametrize("becomes_folder", [True, False])
def test_a_file_that_goes_while_records_are_listed_is_named(tmp_path: Path, becomes_folder: bool) -> None:
    file = tmp_path / "web/2024/a.jsonl"
    if becomes_folder:
        put(tmp_path, "a.jsonl/b.jsonl", '{"text": "hello"}\n')
    settings = settings_for(tmp_path, form="jsonl")
    parameters = {
        "dataset": "web",
        "snapshot": "2024",
        "format": "jsonl",
        "options": {},
        "source": settings.source_store("web").settings.to_json(),
    }
    with pytest.raises(
        ValueError, match=f"{file} was a file when snapshot '2024' was listed, and is gone or a folder now"
    ):
        list(records.list_shard({"key": "2024/a.jsonl"}, parameters, ShardContext(Lake(settings.lake).store)))


def test_an_empty_file_is_no_snapshot(tmp_path: Path) -> None:
    put(tmp_path, "a.jsonl", "")
    with pytest.raises(ValueError, match="has no files"):
        run(settings_for(tmp_path, form="jsonl"))


def test_a_file_without_the_text_column_is_named_and_nothing_is_committed(tmp_path: Path) -> None:
    put(tmp_path, "a.jsonl", '{"body": "hello"}\n')
    put(tmp_path, "b.jsonl", '{"text": "hello"}\n')
    settings = settings_for(tmp_path, form="jsonl")
    with pytest.raises(ValueError, match=r"no line of \S+a.jsonl has the column text; its columns are body") as raised:
        run(settings)
    assert str(raised.value).endswith("Name the right one in the source's options (text_column) [1 of 2 shards]")
    assert Lake(settings.lake).partition("sources/web/records", "2024") is None


def test_a_typo_in_the_options(tmp_path: Path) -> None:
    put(tmp_path, "a.jsonl", '{"text": "hello"}\n')
    with pytest.raises(Exception, match="unknown read option text_colum"):
        run(settings_for(tmp_path, form="jsonl", text_colum="text"))


def test_a_stage_whose_input_was_never_made(tmp_path: Path) -> None:
    with pytest.raises((PartitionMissingError, TableMissingError), match="sources/web/records"):
        run(settings_for(tmp_path, form="jsonl"), task="extract", method="plain")


def test_one_broken_line_is_a_failed_row_and_the_rest_is_kept(tmp_path: Path) -> None:
    put(tmp_path, "a.jsonl", '{"text": "one"}\n{"text": \n{"text": "three"}\n')
    result = run(settings_for(tmp_path, form="jsonl"))
    assert (result["counts"]["rows_in"], result["counts"]["kept"]) == (3, 2)
    assert sum(result["counts"]["failed"].values()) == 1
