"""Weights that change at a position of a real stream: the plan's asset makes the new version, both replay."""

from typing import Any

import pytest

from corpusmill.mix.mixture import Component, Continues, Mixture, Phase
from corpusmill.settings import settings_from_table
from corpusmill.stream.loader import MixtureStream
from corpusmill.tasks.task import execute
from tests.stream.conftest import LENGTH, SmallLake, sequence_row

WEIGHTS = {"web": 0.7, "code": 0.3}


class PlannedLake:
    """A lake whose plan and report are made by their tasks."""

    def __init__(self, folder) -> None:
        self.settings = settings_from_table({"state_folder": str(folder / "state")}, base=folder)
        self.small = SmallLake(folder, self.settings.lake)
        for number, (name, size) in enumerate([("web", 30), ("code", 20), ("stem", 12)], start=1):
            rows = [sequence_row(number, one, one) for one in range(size)]
            self.small.commit_sequences(f"tokenized/{name}/sequences", "s1", [rows])

    def run(self, task: str, weights: dict[str, float], **settings: Any) -> dict[str, Any]:
        components = tuple(
            Component(name=name, table=f"tokenized/{name}/sequences", weight=weight, max_epochs=3)
            for name, weight in weights.items()
        )
        mixture = Mixture(name="demo", components=components, sequence_length=LENGTH, seed=5, **settings)
        arguments = {"settings": self.settings.to_json(), "dataset": "mixtures", "partition": "demo"}
        parameters = {"mixture": mixture.to_json()}
        return execute(task, {**arguments, "parameters": parameters}, lambda message, numbers: None)

    def stream(self, mix: str = "demo", **settings: Any) -> MixtureStream:
        return MixtureStream(self.settings.lake, mix, **settings)


@pytest.fixture
def planned(tmp_path):
    held = PlannedLake(tmp_path)
    yield held
    held.small.lake.close()


def spelled(stream: MixtureStream) -> list[tuple]:
    return [(one.position, one.component, one.epoch, one.index, one.tokens.tolist()) for one in stream]


def test_a_run_goes_on_with_new_weights_and_both_versions_replay(planned):
    planned.run("plan", WEIGHTS)
    old = planned.stream()
    before = spelled(old)
    continues = Continues(mix_version=old.plan.version, position=23)
    planned.run("plan", {"web": 0.2, "stem": 0.8}, continues=continues, budget_tokens=100)
    new = planned.stream()
    after = spelled(new)
    assert after[:23] == before[:23]
    assert {component for _, component, *_ in after[23:]} == {"web", "stem"}
    assert spelled(planned.stream(f"demo@{old.plan.version}")) == before
    assert new.plan.continues(old.plan.version, 23)
    report = planned.run("report", {"web": 1})
    assert [row["phase"] for row in report["tables"]["phases"]] == ["main", "main@23"]


def test_a_plan_that_goes_on_from_a_version_that_is_not_there_is_refused(planned):
    planned.run("plan", WEIGHTS)
    with pytest.raises(ValueError, match="mix 'demo' has no version 'abc'; its current version is"):
        planned.run("plan", WEIGHTS, continues=Continues(mix_version="abc", position=3))


def test_phases_are_streamed_in_turn(planned):
    phases = (
        Phase(name="main", weight=3, weights={"stem": 0}),
        Phase(name="anneal", weight=1, weights={"stem": 2, "code": 0.7}),
    )
    planned.run("plan", WEIGHTS | {"stem": 0.1}, phases=phases, budget_tokens=200)
    stream = planned.stream()
    samples = spelled(stream)
    start = stream.plan.starts[1]
    assert "stem" not in {component for _, component, *_ in samples[:start]}
    assert [component for _, component, *_ in samples[start:]].count("stem") > 3
    assert spelled(planned.stream(start=start)) == samples[start:]
    report = planned.run("report", WEIGHTS)
    assert sum(row["tokens"] for row in report["tables"]["phases"]) == sum(len(one[-1]) for one in samples)
