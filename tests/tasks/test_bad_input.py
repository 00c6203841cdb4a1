"""A mistake in a source is told by name, with what to do, and nothing is committed."""

from pathlib import Path
from typing import Any

import pytest

from corpusmill.lake.errors import PartitionMissingError, TableMissingError
from corpusmill.lake.tables import Lake
from corpusmill.settings import Settings, settings_from_table
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
