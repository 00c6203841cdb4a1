"""A recipe of several steps, killed with kill -9 in and between waves, and changed in parts: what is asked again."""

import io
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from corpusmill.lake.names import staging_directory
from corpusmill.synthesize.generators.function import FunctionGenerator
from corpusmill.synthesize.recipe import Recipe
from corpusmill.synthesize.sampling import Sampling
from tests.killed.stops import Stop
from tests.tasks.chain_lake import COMPLETIONS, DOCUMENTS_TABLE, PARTITION, RECIPE, SCRIPT, TEXTS, ChainLake

WAVE = 3


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> ChainLake:
    made = ChainLake(tmp_path_factory.mktemp("undisturbed"), wave=WAVE)
    made.put(*TEXTS)
    made.run()
    return made


def test_every_seed_has_its_verdict_and_every_ask_its_row(undisturbed: ChainLake) -> None:
    accepted = dict.fromkeys(f"d{place}" for place in range(8))
    assert undisturbed.verdicts() == {**accepted, "d4": "plan/assistant_talk", "d6": "failed/empty_answer"}
    (first, *_) = undisturbed.lake.read(DOCUMENTS_TABLE).to_pylist()
    assert first["text"] == "About it\n\nThe walls of the mill are old.\n\nThe doors of the mill are old."
    result = undisturbed.run("completions")
    # Plans of all, sections of all but the refused, titles of all but the broken, too.
    assert result["counts"] == {"rows_in": 8 + 14 + 6, "kept": 27, "dropped": {}, "failed": {"empty_answer": 1}}
    assert [(row["step"], row["asked"], row["failed"]) for row in result["tables"]["steps"]] == [
        ("plan", 8, 0), ("sections", 14, 1), ("title", 6, 0),
    ]  # fmt: skip
    rows = undisturbed.lake.read(COMPLETIONS).to_pylist()
    assert [row["step"] for row in rows[:8]] == ["plan", "sections", "sections", "title"] * 2
    assert set(undisturbed.asked()) == {row["request_id"] for row in rows}
    assert len(undisturbed.asked()) == len(rows)


def in_wave(number: int, place: int) -> Stop:
    """Stop before an ask of a wave."""
    return Stop(when="before", function=SCRIPT, about="ChatRequest", call=number * WAVE + place)


def wave_kept(number: int) -> Stop:
    """Stop between two waves."""
    return Stop(
        when="after", function="corpusmill.lake.store:Store.create", about=f"staging/{COMPLETIONS}/", call=number
    )


@pytest.mark.slow
def test_case_19_killed_between_and_in_waves_equals_undisturbed(undisturbed: ChainLake, tmp_path: Path) -> None:
    disturbed = ChainLake(tmp_path, wave=WAVE)
    disturbed.put(*TEXTS)
    disturbed.run("requests")
    disturbed.kill(wave_kept(2))
    assert (len(disturbed.waves()), len(disturbed.asked())) == (2, 2 * WAVE)
    disturbed.kill(in_wave(3, place=2))
    lost = disturbed.asked()[5 * WAVE :]
    assert (len(disturbed.waves()), len(lost)) == (5, 1)
    disturbed.run()
    assert disturbed.contents() == undisturbed.contents()
    assert Counter(disturbed.asked()) == Counter([*undisturbed.asked(), *lost])


def changed(name: str, **changes: object) -> Recipe:
    """Return the recipe with one step changed."""
    steps = [replace(step, **changes) if step.name == name else step for step in RECIPE.generator.steps]
    return replace(RECIPE, generator=replace(RECIPE.generator, steps=tuple(steps)))


CHANGES = {
    "the last temperature": (changed("title", sampling=Sampling(max_tokens=8, temperature=0.5)), {"title": 6}),
    "a prompt in the middle, with the same answers": (changed("sections", system="You write."), {"sections": 14}),
    "a check, so that one more chain goes on": (changed("plan", checks=()), {"sections": 1, "title": 1}),
    "a verifier": (replace(RECIPE, verifiers=()), {}),
}


@pytest.mark.parametrize(("recipe", "asked"), CHANGES.values(), ids=CHANGES)
def test_case_21_a_changed_step_asks_only_what_changed(tmp_path: Path, recipe: Recipe, asked: dict[str, int]) -> None:
    lake = ChainLake(tmp_path, wave=100)
    lake.put(*TEXTS)
    lake.run("requests", "completions")
    before = lake.asked()
    lake.recipe = recipe
    lake.run("requests", "completions")
    rows = lake.lake.read(COMPLETIONS)
    steps = dict(zip(rows["request_id"].to_pylist(), rows["step"].to_pylist(), strict=True))
    assert Counter(steps[request_id] for request_id in lake.asked()[len(before) :]) == asked


def test_case_21_a_changed_document_asks_only_about_itself(tmp_path: Path) -> None:
    lake = ChainLake(tmp_path, wave=100)
    lake.put(*TEXTS)
    lake.run()
    num_asked = len(lake.asked())
    lake.put(*TEXTS[:2], "The pond of the village is deep.", *TEXTS[3:])
    result = lake.run()
    assert len(lake.asked()) - num_asked == 1 + 2 + 1
    assert result["counts"]["rows_in"] == len(TEXTS)
    assert lake.lake.partition(COMPLETIONS, PARTITION).num_rows == num_asked


def test_the_size_of_a_wave_changes_nothing(undisturbed: ChainLake, tmp_path: Path) -> None:
    wide = ChainLake(tmp_path, wave=100)
    wide.put(*TEXTS)
    wide.run()
    assert wide.contents() == undisturbed.contents()
    assert len(wide.waves()) < len(undisturbed.waves())


def test_answers_of_a_lake_from_before_there_were_steps_stand(undisturbed: ChainLake, tmp_path: Path) -> None:
    """Those about one document are committed, those about the next one lie in the wave of a run that was killed."""
    old = undisturbed.lake.read(COMPLETIONS).drop_columns(["partition_key", "step"])
    lake = ChainLake(tmp_path, wave=100)
    lake.put(*TEXTS[:3])
    lake.run("requests")
    lake.commit(COMPLETIONS, PARTITION, old.slice(0, 4))
    wave = io.BytesIO()
    pq.write_table(old.slice(4, 4), wave)
    lake.lake.store.create(
        f"{staging_directory(COMPLETIONS, PARTITION)}/answers/00000099-000000-old.parquet", wave.getvalue()
    )
    lake.run("completions", "accept")
    assert len(lake.asked()) == 4
    assert lake.lake.read(COMPLETIONS)["step"].to_pylist() == ["plan", "sections", "sections", "title"] * 3
    assert set(lake.verdicts().values()) == {None}


def test_a_recipe_that_asks_nothing_goes_the_whole_way(tmp_path: Path) -> None:
    shorten = FunctionGenerator(function="tests.synthesize.toy_functions:shorten")
    lake = ChainLake(tmp_path, recipe=replace(RECIPE, generator=shorten, verifiers=()))
    lake.put(*TEXTS[:2], "No end")
    assert lake.run("requests", "completions")["counts"] == {"rows_in": 0, "kept": 0, "dropped": {}, "failed": {}}
    assert lake.run("accept")["counts"] == {"rows_in": 3, "kept": 2, "dropped": {"function/refused": 1}, "failed": {}}
    assert lake.asked() == [] == lake.waves()
