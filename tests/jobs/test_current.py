"""What a dry run says of partitions that nothing has changed for: over a real lake, without an instance."""

import json

import pytest

from corpusmill.settings import settings_from_table
from corpusmill.tasks.task import execute
from jobs.asset_graph import AssetNode
from jobs.current import AssetTask, current_partitions
from jobs.way import task_arguments

TEXT = "The river runs to a grey sea, and old boats that lie in its harbour have been painted with great care."
SNAPSHOTS = ("2024", "2025")
RECORDS, EXTRACTED, DOCUMENTS = "sources/web/records", "curated/web/extracted", "curated/web/documents"
GRAPH = {
    key: AssetNode(key=key, upstream=upstream, partition_set="web", partitions=SNAPSHOTS)
    for key, upstream in ((RECORDS, ()), (EXTRACTED, (RECORDS,)), (DOCUMENTS, (EXTRACTED,)))
}
TASKS = {
    RECORDS: AssetTask(task="records", parameters={}),
    EXTRACTED: AssetTask(task="extract", parameters={"method": "plain"}),
}


@pytest.fixture
def made(tmp_path):
    """Two snapshots of a page each, listed and extracted; gives settings and a function that writes a page."""
    settings = settings_from_table(
        {"spark": {"engine": "plain"}, "sources": {"web": {"uri": str(tmp_path / "pages"), "format": "jsonl"}}},
        base=tmp_path,
    )

    def write(snapshot: str, text: str) -> None:
        page = tmp_path / "pages" / snapshot / "a.jsonl"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(json.dumps({"text": text}))

    for snapshot in SNAPSHOTS:
        write(snapshot, TEXT)
        for key, made_by in TASKS.items():
            arguments = task_arguments(key.split("/"), snapshot, made_by.parameters, settings)
            execute(made_by.task, arguments, lambda message, numbers: None)
    return settings, write


def current(settings, keys, tasks=TASKS):
    return current_partitions(GRAPH, dict.fromkeys(keys, SNAPSHOTS), tasks, settings)


def test_a_changed_page_and_what_is_made_from_it_are_not_current(made):
    settings, write = made
    assert current(settings, [RECORDS, EXTRACTED]) == {key: {*SNAPSHOTS} for key in (RECORDS, EXTRACTED)}
    write("2025", TEXT.replace("grey", "blue"))
    assert current(settings, [RECORDS, EXTRACTED]) == {key: {"2024"} for key in (RECORDS, EXTRACTED)}
    assert current(settings, [EXTRACTED]) == {EXTRACTED: {*SNAPSHOTS}}, "its own input is the one that it was made from"


def test_changed_parameters_and_a_source_that_is_gone_are_not_current(made, tmp_path):
    settings, _ = made
    other = {**TASKS, EXTRACTED: AssetTask(task="extract", parameters={"method": "plain", "records_per_shard": 7})}
    assert current(settings, [EXTRACTED], other) == {EXTRACTED: frozenset()}
    (tmp_path / "pages").rename(tmp_path / "elsewhere")
    assert current(settings, [RECORDS]) == {RECORDS: frozenset()}


def test_what_nobody_can_know_is_left_out(made, monkeypatch):
    settings, _ = made
    assert current(settings, [RECORDS, DOCUMENTS]).keys() == {RECORDS}, "documents have no task here"
    monkeypatch.setattr("jobs.current.MOST_LOOKED_AT", 1)
    assert current(settings, [RECORDS, EXTRACTED]) == {}
