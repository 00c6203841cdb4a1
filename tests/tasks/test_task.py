"""The frame around tasks: work is done once, the ledger is checked, gates refuse readers, newer attempts win."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from corpusmill.lake.errors import GateFailedError, StaleAttemptError
from corpusmill.lake.tables import Lake
from corpusmill.settings import Settings, settings_from_table
from corpusmill.tasks import task
from corpusmill.tasks.task import UNPARTITIONED, execute, is_current, kept_result
from tests.tasks import toy_shared_task

TABLE = "curated/web/words"
TOY = "tests.tasks.toy_task"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return settings_from_table({"spark": {"engine": "plain"}}, base=tmp_path)


def arguments(settings: Settings, words: list[str], **more: Any) -> dict[str, Any]:
    parameters = {"words": words, **more}
    return {"settings": settings.to_json(), "dataset": "web", "partition": "2024", "parameters": parameters}


def run(settings: Settings, words: list[str], **more: Any) -> dict[str, Any]:
    return execute(TOY, arguments(settings, words, **more), lambda message, numbers: None)


def test_a_task_commits_its_rows_and_keeps_its_result(settings: Settings) -> None:
    result = run(settings, ["a", "bc"])
    lake = Lake(settings.lake)
    assert lake.read(TABLE, partitions=["2024"])["word"].to_pylist() == ["a", "bc"]
    assert (result["num_rows"], result["metrics"], result["reused"]) == (2, {"letters": 3}, False)
    assert kept_result(lake, TABLE, "2024") == {name: value for name, value in result.items() if name != "reused"}


@pytest.mark.parametrize(
    ("words", "dropped", "line"),
    [
        (["a"], {}, f"{TABLE}: committed: rows 1"),
        (["a"], {"rude": 1}, f"{TABLE}: committed: rows 1, kept 1 of 2, dropped 1: rude 1"),
        ([], {}, f"{TABLE}: committed: rows 0"),
        (
            [],
            {"rude": 1, "short": 3, "long": 1, "odd": 2},
            f"{TABLE}: committed, and nothing of what came in was kept: rows 0, kept 0 of 7, "
            "dropped 7: short 3 + odd 2 + long 1 + ...",
        ),
    ],
)
def test_a_commit_says_what_was_kept_and_why_the_rest_was_not(
    settings: Settings, words: list[str], dropped: dict[str, int], line: str
) -> None:
    said: list[str] = []

    def report(message: str, numbers: Mapping[str, Any]) -> None:
        said.append(f"{message}: " + ", ".join(f"{name} {value}" for name, value in numbers.items() if name != "bytes"))

    execute(TOY, arguments(settings, words, dropped=dropped), report)
    assert said[-1] == line


def test_the_same_work_is_not_done_again(settings: Settings) -> None:
    first = run(settings, ["a"])
    again = run(settings, ["a"])
    assert (again["reused"], again["fence"]) == (True, first["fence"])
    assert is_current(TOY, arguments(settings, ["a"]))


def test_what_changed_while_it_was_read_is_read_again_though_it_changes_back(
    settings: Settings, tmp_path: Path
) -> None:
    source = tmp_path / "source"
    source.write_text("first")
    run(settings, ["a"], source=str(source))
    assert source.read_text() == "changed while it was read"
    source.write_text("first")
    assert not run(settings, ["a"], source=str(source))["reused"]
    assert run(settings, ["a"], source=str(source))["reused"]


@pytest.mark.parametrize("damage", ["gone", "cut"])
def test_case_9_a_partition_whose_files_are_gone_or_cut_is_made_again(settings: Settings, damage: str) -> None:
    first = run(settings, ["a"])
    (file,) = Lake(settings.lake).files(TABLE)
    Path(file.path).unlink() if damage == "gone" else Path(file.path).write_bytes(b"PAR1")
    again = run(settings, ["a"])
    assert (again["reused"], again["content_hash"]) == (False, first["content_hash"])
    assert Lake(settings.lake).read(TABLE)["word"].to_pylist() == ["a"]


def test_case_4_a_partition_is_made_anew_where_a_person_says_so(settings: Settings) -> None:
    first = run(settings, ["a"])
    (garbled,) = Lake(settings.lake).files(TABLE)
    again = execute(TOY, {**arguments(settings, ["a"]), "again": True}, lambda message, numbers: None)
    (whole,) = Lake(settings.lake).files(TABLE)
    assert (again["reused"], again["content_hash"]) == (False, first["content_hash"])
    assert whole.path != garbled.path


def test_changed_parameters_are_new_work(settings: Settings) -> None:
    run(settings, ["a"])
    assert not is_current(TOY, arguments(settings, ["b"]))
    assert run(settings, ["b"])["reused"] is False
    assert Lake(settings.lake).read(TABLE)["word"].to_pylist() == ["b"]


def test_a_lost_row_is_refused_before_the_commit(settings: Settings) -> None:
    with pytest.raises(ValueError, match="3 unaccounted for"):
        run(settings, ["a"], lost=3)
    assert Lake(settings.lake).partition(TABLE, "2024") is None


def test_a_failed_gate_is_kept_for_people_and_refused_to_readers(settings: Settings) -> None:
    result = run(settings, ["a", "b", "c"])
    assert result["gates"]["few"]["passed"] is False
    with pytest.raises(GateFailedError, match="3 words, allowed are 2"):
        Lake(settings.lake).files(TABLE, ["2024"])


def test_an_overtaken_attempt_is_refused(settings: Settings) -> None:
    run(settings, ["old"])
    with pytest.raises(StaleAttemptError):
        run(settings, ["late"], overtake=True)
    assert Lake(settings.lake).read(TABLE)["word"].to_pylist() == ["old"]


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let the first run of the shared toy be overtaken; gives a function that sets what happens at every look."""
    monkeypatch.setattr(toy_shared_task, "is_overtaken", False)
    return lambda on_look: monkeypatch.setattr(toy_shared_task, "on_look", on_look)


def run_shared(settings: Settings) -> dict[str, Any]:
    everything = {"settings": settings.to_json(), "dataset": "web", "partition": UNPARTITIONED, "parameters": {}}
    return execute("tests.tasks.toy_shared_task", everything, lambda message, numbers: None)


def test_a_run_gives_way_to_the_one_that_overtook_it_on_a_shared_table(
    settings: Settings, shared: Callable[..., None]
) -> None:
    looks = []

    def other_run_commits_later() -> None:
        looks.append("look")
        if toy_shared_task.is_overtaken and len(looks) == 4:
            assert run_shared(settings)["reused"] is False

    shared(other_run_commits_later)
    assert run_shared(settings)["reused"] is True
    assert Lake(settings.lake).read("curated/web/shared")["word"].to_pylist() == ["one"]


def test_a_run_goes_on_when_the_one_that_overtook_it_is_dead(
    settings: Settings, shared: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task, "GIVE_WAY_SECONDS", 0.0)
    result = run_shared(settings)
    assert (result["reused"], result["fence"]) == (False, 3)
