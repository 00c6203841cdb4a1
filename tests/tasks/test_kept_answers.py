"""Answers in the lake that were damaged since: what they held is asked again, the rest stands, and no run ends for it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.synthesis_lake import DATASET, PARTITION, RECIPE, SEEDS, add_seeds
from corpusmill.document import COMPLETIONS
from corpusmill.engines.inference import ChatRequest, EngineDeadError
from corpusmill.lake.errors import StaleAttemptError
from corpusmill.lake.tables import Lake
from corpusmill.settings import Settings, settings_from_table
from corpusmill.tasks.task import execute
from tests.tasks import toy_decline

NUM_SEEDS, CHUNK = 60, 10
TABLE = f"synthesized/{DATASET}/completions"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    inference = {"engine": "scripted", "script": "tests.tasks.toy_decline:good", "chunk_requests": CHUNK}
    table = {"state_folder": str(tmp_path), "spark": {"engine": "plain"}, "inference": inference}
    made = settings_from_table(table, base=tmp_path)
    add_seeds(made, NUM_SEEDS)
    run(made, "requests")
    return made


def run(settings: Settings, task: str, told: list[str] | None = None, **more: Any) -> dict[str, Any]:
    parameters = {"seeds": SEEDS, "variant": "plain", "recipe": RECIPE.to_json()}
    if task == "completions":
        parameters["supervision"] = {"chunk_seeds": CHUNK}
    given = {"settings": settings.to_json(), "dataset": DATASET, "partition": PARTITION, "parameters": parameters}
    return execute(task, given | more, lambda message, numbers: (told if told is not None else []).append(message))


def files(folder: Path, pattern: str) -> list[Path]:
    return sorted(folder.glob(f"**/{pattern}"))


def flip(data: bytes) -> bytes:
    """Change some bytes of the first pages."""
    return data[:60] + bytes(byte ^ 0xFF for byte in data[60:90]) + data[90:]


DAMAGES: list[Callable[[bytes], bytes]] = [
    lambda data: b"",
    lambda data: data[: len(data) // 2],
    lambda data: b"no Parquet at all",
    flip,
]


def test_case_4_damaged_waves_and_decisions_cost_no_more_than_what_they_held(settings, tmp_path, monkeypatch):
    with monkeypatch.context() as dying:
        dying.setattr(toy_decline, "dies_at", 57)
        with pytest.raises(EngineDeadError):
            run(settings, "completions")
    waves = files(tmp_path, "answers/*.parquet")
    kept = files(tmp_path, "staging/**/decisions/*.json")
    assert len(waves) > len(DAMAGES)
    for wave, damage in zip(waves, DAMAGES, strict=False):
        wave.write_bytes(damage(wave.read_bytes()))
    (waves[0].parent / "notes.txt").write_text("not ours")
    kept[0].write_bytes(kept[0].read_bytes()[:20])
    told: list[str] = []
    made = run(settings, "completions", told)
    assert made["counts"] == {"rows_in": NUM_SEEDS, "kept": NUM_SEEDS, "dropped": {}, "failed": {}}
    num_standing = CHUNK * (len(waves) - len(DAMAGES))
    assert made["metrics"]["requests_asked"] == NUM_SEEDS - num_standing
    assert sum("what it held is asked again" in line for line in told) == len(DAMAGES)
    assert sum("it is decided anew" in line for line in told) == 1


def test_waves_stand_in_for_a_damaged_commit_and_without_them_it_is_asked_again(settings, tmp_path):
    run(settings, "completions")
    assert remade_after(settings, flip_file)["metrics"]["requests_asked"] == 0
    assert remade_after(settings, Path.unlink)["metrics"]["requests_asked"] == 0
    for wave in files(tmp_path, "answers/*.parquet"):
        wave.unlink()
    assert remade_after(settings, Path.unlink)["metrics"]["requests_asked"] == NUM_SEEDS


def remade_after(settings: Settings, damage: Callable[[Path], Any]) -> dict[str, Any]:
    """Damage the committed file, and make the completions again."""
    [committed] = Lake(settings.lake).files(TABLE, [PARTITION])
    damage(Path(committed.path))
    made = run(settings, "completions", again=damage is flip_file)
    assert (made["reused"], made["counts"]["kept"]) == (False, NUM_SEEDS)
    return made


def flip_file(file: Path) -> None:
    file.write_bytes(flip(file.read_bytes()))


def test_maintenance_knows_the_decisions_that_a_commit_keeps(settings, tmp_path):
    run(settings, "completions")
    state = Lake(settings.lake).partition(TABLE, PARTITION)
    assert [key for key in state.objects if key.endswith("-decisions.json")] == [
        str(file.relative_to(Path(settings.lake.store.root))) for file in files(tmp_path, "*-decisions.json")
    ]


@pytest.mark.parametrize("garbage", [b"\xff no JSON", b"[1]"])
def test_decisions_that_are_garbage_since_their_commit_are_made_anew(settings, tmp_path, garbage):
    run(settings, "completions")
    decisions = Lake(settings.lake).read(f"synthesized/{DATASET}/decisions", partitions=[PARTITION])
    assert decisions.num_rows == NUM_SEEDS // CHUNK
    [kept] = files(tmp_path, "*-decisions.json")
    kept.write_bytes(garbage)
    with pytest.raises(ValueError, match=f"completions {PARTITION} again, which decides anew"):
        run(settings, "decisions", again=True)
    told: list[str] = []
    made = run(settings, "completions", told)
    assert (made["reused"], made["metrics"]["requests_asked"]) == (False, 0)
    assert any("cannot read what was decided" in line and "making the partition again" in line for line in told)
    anew = Lake(settings.lake).read(f"synthesized/{DATASET}/decisions", partitions=[PARTITION])
    assert anew.drop_columns(["numbers"]).equals(decisions.drop_columns(["numbers"]))
    assert run(settings, "completions")["reused"]


def test_a_run_that_another_overtook_asks_at_most_what_was_under_way(settings, tmp_path, monkeypatch):
    """The other run begins while page 23 is asked."""
    asked = []

    def good(request: ChatRequest) -> str:
        asked.append(toy_decline.page(request))
        if asked[-1] == 23:
            Lake(settings.lake).begin(TABLE, PARTITION, COMPLETIONS)
        return said(request)

    said = toy_decline.good
    monkeypatch.setattr(toy_decline, "good", good)
    with pytest.raises(StaleAttemptError):
        run(settings, "completions")
    waves = files(tmp_path, "answers/*.parquet")
    num_asked = len(asked)
    assert asked.index(23) < num_asked == CHUNK * len(waves) <= asked.index(23) + CHUNK
    assert run(settings, "completions")["metrics"]["requests_asked"] == NUM_SEEDS - num_asked
