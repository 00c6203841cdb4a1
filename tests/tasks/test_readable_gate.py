"""A snapshot that nothing can be read of: its rows stay with their failures, and nobody takes it for an empty one."""

import json

import pytest

from corpusmill.counts import Counts
from corpusmill.lake.errors import GateFailedError
from corpusmill.settings import settings_from_table
from corpusmill.tasks.task import _readable, execute

GOOD, BAD = json.dumps({"text": "The river runs to a grey sea."}), "{}"


@pytest.fixture
def make(tmp_path):
    """Writes the one page of the snapshot, and runs a task on it."""
    settings = settings_from_table(
        {"spark": {"engine": "plain"}, "sources": {"web": {"uri": str(tmp_path / "pages"), "format": "jsonl"}}},
        base=tmp_path,
    )

    def run(task, *lines, **parameters):
        page = tmp_path / "pages" / "2024" / "a.jsonl"
        page.parent.mkdir(parents=True, exist_ok=True)
        if lines:
            page.write_text("\n".join(lines))
        asked = {"settings": settings.to_json(), "dataset": "web", "partition": "2024", "parameters": parameters}
        return execute(task, asked, lambda message, numbers: None)

    return run


def test_a_snapshot_of_which_all_rows_failed_is_refused_to_readers(make):
    result = make("records", BAD, BAD)
    assert result["counts"] == {"rows_in": 2, "kept": 0, "dropped": {}, "failed": result["counts"]["failed"]}
    [reason] = result["counts"]["failed"]
    told = (
        f"none of 2 rows can be read: 2: {reason} 2. Mend the source or its settings, or let the dataset's module say"
    )
    assert result["gates"]["readable"]["message"].startswith(told)
    with pytest.raises(GateFailedError, match="none of 2 rows can be read"):
        make("extract", method="plain")


def test_a_dataset_may_say_otherwise_and_is_made_again_for_it(make):
    assert not make("records", BAD)["gates"]["readable"]["passed"]
    allowed = make("records", may_fail_whole=True)
    assert (allowed["reused"], allowed["gates"]) == (False, {})
    assert make("extract", method="plain", may_fail_whole=True)["counts"]["rows_in"] == 0


def test_one_row_that_can_be_read_is_enough(make):
    assert make("records", BAD, GOOD)["gates"]["readable"] == {"passed": True, "message": "held", "numbers": {}}
    assert make("extract", method="plain")["gates"]["readable"]["passed"]


@pytest.mark.parametrize(
    ("counts", "passes"),
    [
        (Counts(), True),
        (Counts(rows_in=3, dropped={"withdrawn": 2}, failed={"garbled": 1}), True),
        (Counts(rows_in=3, dropped={"withdrawn": 1}, failed={"garbled": 2}), False),
        (Counts(rows_in=3, kept=1, failed={"garbled": 2}), True),
    ],
    ids=["nothing came in", "most was withdrawn", "most failed", "one is kept"],
)
def test_only_failures_count(counts, passes):
    assert _readable(counts).passed == passes
