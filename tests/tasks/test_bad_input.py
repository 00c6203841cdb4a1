"""A mistake in a source is told by name, with what to do, and nothing is committed."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from corpusmill.dedup.parameters import FINEWEB
from corpusmill.engines.shard import ShardContext
from corpusmill.lake.errors import PartitionMissingError, TableMissingError
from corpusmill.lake.store import Store, StoreSettings
from corpusmill.lake.tables import Lake
from corpusmill.settings import Settings, settings_from_table
from corpusmill.tasks import records
from corpusmill.tasks.expected import MISHAPS
from corpusmill.tasks.task import UNPARTITIONED, execute
from tests.servers.seaweedfs import S3Server
from tests.servers.throttle import throttling_proxy


def settings_for(folder: Path, *, form: str, **options: Any) -> Settings:
    source = {"uri": "web", "format": form, "options": options}
    return settings_from_table({"spark": {"engine": "plain"}, "sources": {"web": source}}, base=folder)


def run(settings: Settings, task: str = "records", **parameters: Any) -> dict[str, Any]:
    partition = UNPARTITIONED if task == "resolve" else "2024"
    arguments = {"settings": settings.to_json(), "dataset": "web", "partition": partition, "parameters": parameters}
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


def test_a_typo_in_the_options_is_told_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="unknown read option text_colum"):
        settings_for(tmp_path, form="jsonl", text_colum="text")


def test_files_that_are_not_read_are_counted_and_named(tmp_path: Path) -> None:
    for name in ("a.jsonl", "b.jsonl", "drafts/c.jsonl", "d.warc.gz", "notes.txt"):
        put(tmp_path, name, '{"text": "hello"}\n')
    settings = settings_for(tmp_path, form="jsonl", exclude=["drafts/*"])
    said: list[str] = []
    arguments = {"settings": settings.to_json(), "dataset": "web", "partition": "2024", "parameters": {}}
    result = execute("records", arguments, lambda message, numbers: said.append(message))
    assert (result["counts"]["rows_in"], result["metrics"]["files_left_out"]) == (2, 3)
    told = "3 of 5 files are not read, by format, include or exclude: d.warc.gz, drafts/c.jsonl, notes.txt"
    assert any(told in line for line in said), said


def test_a_stage_whose_input_was_never_made(tmp_path: Path) -> None:
    with pytest.raises((PartitionMissingError, TableMissingError), match="sources/web/records"):
        run(settings_for(tmp_path, form="jsonl"), task="extract", method="plain")


def test_one_broken_line_is_a_failed_row_and_the_rest_is_kept(tmp_path: Path) -> None:
    put(tmp_path, "a.jsonl", '{"text": "one"}\n{"text": \n{"text": "three"}\n')
    result = run(settings_for(tmp_path, form="jsonl"))
    assert (result["counts"]["rows_in"], result["counts"]["kept"]) == (3, 2)
    assert sum(result["counts"]["failed"].values()) == 1


@pytest.mark.parametrize("character", ["😀", "你", "\x07"], ids=ascii)
def test_a_page_whose_sample_is_long_as_json_is_read(tmp_path: Path, character: str) -> None:
    words = character * 300
    put(
        tmp_path,
        f"{'é' * 60}/{words[:40] if character != chr(7) else 'x'}.html",
        f"<title>{words}</title><p>{words}</p>",
    )
    settings = settings_for(tmp_path, form="html")
    run(settings)
    assert run(settings, task="extract", method="plain")["counts"]["kept"] == 1
    assert run(settings, task="extract", method="fast")["counts"]["rows_in"] == 1


def test_a_snapshot_without_a_readable_text_goes_the_whole_way_where_its_dataset_lets_it(tmp_path: Path) -> None:
    put(tmp_path, "a.jsonl", '{"text": null}\n' * 3)
    settings = settings_for(tmp_path, form="jsonl")
    run(settings)
    allowed = {"method": "plain", "records_per_shard": 2, "may_fail_whole": True}
    extracted = run(settings, task="extract", **allowed)["counts"]
    assert (extracted["kept"], extracted["failed"]) == (0, {"null_text": 3})
    steps = {
        "judge": {"judge": "web"},
        "sign": FINEWEB.to_json(),
        "resolve": FINEWEB.to_json(),
        "duplicates": {"max_removed_share": 0.5},
        "documents": {},
    }
    for task, parameters in steps.items():
        assert run(settings, task=task, **parameters)["counts"]["rows_in"] == 0, task


HOSTILE: dict[str, tuple[Any, str | None, str | None]] = {
    "null": (None, None, "null_text"),
    "empty": ("", None, "empty_text"),
    "whitespace": (" \n\t\u3000", None, "empty_text"),
    "a number": (7, None, "text_not_a_string"),
    "too long": ("x" * 5000, None, "payload_too_large"),
    "a lone surrogate": ("a \ud800 b", "a \ufffd b", None),
    "a byte order mark": ("\ufeffa", "a", None),
    "NULs": ("a\x00b", "ab", None),
    "line ends of all kinds": ("a\r\nb\rc\u2028d", "a\nb\nc\u2028d", None),
    "right to left": ("مرحبا \u200fبالعالم", "مرحبا \u200fبالعالم", None),
    "East Asian": ("你好，世界 안녕", "你好，世界 안녕", None),
    "beyond the first plane": ("😀𐍈", "😀𐍈", None),
    "the same": ("equal", "equal", None),
    "the same again": ("equal", "equal", None),
}
"""Story, what the line holds, and the text or the failure that comes of it."""


def test_hostile_texts_go_the_whole_way_or_are_counted(tmp_path: Path) -> None:
    lines = [json.dumps({"text": text, "u": f"http://a/{story}\ud800\x00"}) for story, (text, _, _) in HOSTILE.items()]
    put(tmp_path, "a.jsonl", "\n".join(lines))
    settings = settings_for(tmp_path, form="jsonl", max_payload_bytes=4000, url_column="u", meta_columns=["u"])
    listed = run(settings)["counts"]
    extracted = run(settings, task="extract", method="plain")["counts"]
    assert listed["rows_in"] == len(HOSTILE)
    assert listed["failed"] == {"payload_too_large": 1}
    assert extracted["failed"] == {"empty_text": 2, "null_text": 1, "text_not_a_string": 1}
    rows = Lake(settings.lake).read("curated/web/extracted").to_pylist()
    found = {row["locator"]: (row["text"], row["failure"]) for row in rows}
    expected = {
        f"a.jsonl#line={number}": (text, failure)
        for number, (_, text, failure) in enumerate(HOSTILE.values())
        if failure != "payload_too_large"
    }
    assert found == expected
    assert len({row["doc_id"] for row in rows}) == len(rows)
    judged = run(settings, task="judge", judge="web", rules={"languages": [], "min_words": 0})["counts"]
    assert judged["rows_in"] == extracted["kept"] == judged["kept"] + sum(judged["dropped"].values())


@pytest.mark.parametrize("others", [0, 1])
def test_a_warc_of_zero_pages_counts_no_row(tmp_path: Path, others: int) -> None:
    put(tmp_path, "a.warc", "WARC/1.0\r\nWARC-Type: warcinfo\r\nContent-Length: 4\r\n\r\na: b\r\n\r\n")
    settings = settings_for(tmp_path, form="warc")
    if not others:
        with pytest.raises(ValueError, match="snapshot '2024' of web holds no warc record in 1 files"):
            run(settings)
        return
    put(tmp_path, "b.warc", "WARC/1.0\r\nWARC-Type: conversion\r\nContent-Length: 4\r\n\r\npage\r\n\r\n")
    assert run(settings)["counts"]["rows_in"] == 1


@pytest.mark.s3
def test_a_storage_that_refuses_fails_the_run_and_the_next_one_finds_all(
    tmp_path: Path, s3_server: S3Server, s3_root: str
) -> None:
    Store(StoreSettings(root=s3_root, endpoint=s3_server.endpoint)).write("2024/a.jsonl", b'{"text": "hello"}\n' * 3)
    with throttling_proxy(s3_server.endpoint, refuse_of=10**9) as proxy:
        proxy.num_requests = 1
        source = {"uri": s3_root, "format": "jsonl"}
        table = {"lake": {"endpoint": proxy.endpoint}, "spark": {"engine": "plain"}, "sources": {"web": source}}
        settings = settings_from_table(table, base=tmp_path)
        run(settings)
        proxy.refusal, proxy.refuse_of = (403, b"<Error><Code>AccessDenied</Code></Error>"), 1
        with pytest.raises(MISHAPS, match=r"1 of 1 shards failed.*a\.jsonl"):
            run(settings, task="extract", method="plain")
        assert Lake(settings.lake).partition("curated/web/extracted", "2024") is None
        proxy.refuse_of = 10**9
        assert run(settings, task="extract", method="plain")["counts"]["kept"] == 3
