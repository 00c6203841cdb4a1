"""However a lake came to be as it is, its resolution is that of a lake made of the same snapshots at once."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa
import pytest

from corpusmill.dedup.parameters import DedupParameters
from corpusmill.document import REMOVALS, text_hash
from corpusmill.tasks.removals import add_removals
from tests.dedup.planted import edited, words
from tests.tasks.dedup_lake import DATASET, DedupLake
from tests.tasks.signed_lake import SIGNATURES, doc_id, put_signatures, resolve_at_once

NAMES = ("s0", "s1", "s2", "s3", "s4")
TIGHT = {"max_bucket": 4, "num_representatives": 2, "max_comparisons": 5}
FIRST = DedupParameters(num_bands=20, rows_per_band=4)


@dataclass(frozen=True, kw_only=True)
class State:
    """What a lake was told: its resolution follows from this alone."""

    texts: dict[str, list[str]] = field(default_factory=dict)
    parameters: DedupParameters = FIRST
    removals: tuple[tuple[str, str], ...] = ()


def draw_texts(dice: random.Random) -> list[str]:
    """Return texts of clusters that snapshots share, some too short for a shingle, in any number, also none."""
    clusters = [edited(base, 60, replaced) for base in range(4) for replaced in (0, 0, 2, 5, 9)]
    crowd = [edited(50, 120, replaced % 12) for replaced in range(20)]
    alone = [words(900_000 + 100 * dice.randrange(50), 40) for _ in range(3)]
    every = [*clusters, *crowd, *alone, "too short", "too short"]
    return dice.sample(every, dice.choice([0, 1, 5, 15, 15, 15]))


def put_snapshot(state: State, dice: random.Random) -> State:
    """Add a snapshot of any age, or change one."""
    return replace(state, texts={**state.texts, dice.choice(NAMES): draw_texts(dice)})


def remove_snapshot(state: State, dice: random.Random) -> State:
    gone = dice.choice(sorted(state.texts))
    left = {name: texts for name, texts in state.texts.items() if name != gone}
    return replace(state, texts=left) if left else state


def withdraw(state: State, dice: random.Random) -> State:
    """Withdraw a document by its id or its text."""
    texts = [text for every in state.texts.values() for text in every]
    if not texts:
        return state
    return replace(state, removals=(*state.removals, (dice.choice(["doc_id", "text_hash"]), dice.choice(texts))))


def change_parameters(state: State, dice: random.Random) -> State:
    drawn = dice.choice(
        [
            {"rank": dice.choice(["oldest", "newest", "longest"]), "quality_statistic": None},
            {"rank": "quality", "quality_statistic": "score"},
            {"rank": "oldest", "quality_statistic": None, "scope": dice.choice(["all", "snapshot", "source"])},
            {"validation_share": dice.choice([0.0, 0.3])},
            {"threshold": dice.choice([0.5, 0.7, 0.9])},
            {"num_bands": dice.choice([10, 20])},
            TIGHT,
        ]
    )
    return replace(state, parameters=replace(state.parameters, **drawn))


STEPS: tuple[Callable[[State, random.Random], State], ...] = (
    put_snapshot,
    put_snapshot,
    put_snapshot,
    remove_snapshot,
    withdraw,
    change_parameters,
)


def history(seed: int, length: int) -> Iterator[State]:
    dice = random.Random(seed)
    state = put_snapshot(State(), dice)
    yield state
    for _ in range(length):
        state = dice.choice(STEPS)(state, dice)
        yield state


def bring_to(lake: DedupLake, before: State, state: State) -> None:
    """Do to the lake what a person would."""
    lake.parameters = state.parameters.to_json()
    for name in sorted(before.texts.keys() - state.texts.keys()):
        lake.lake.remove(SIGNATURES, name)
    for name, texts in state.texts.items():
        if before.texts.get(name) != texts or before.parameters != state.parameters:
            put_signatures(lake, name, texts, state.parameters)
    rows = [removal(state, *named) for named in state.removals[len(before.removals) :]]
    if rows:
        add_removals(lake.lake, DATASET, pa.Table.from_pylist(rows, schema=REMOVALS))


def removal(state: State, kind: str, text: str) -> dict[str, str]:
    if kind == "text_hash":
        return {"text_hash": text_hash(text), "reason": "asked for"}
    name = min(name for name, texts in state.texts.items() if text in texts)
    return {"doc_id": doc_id(name, state.texts[name].index(text)), "reason": "asked for"}


@pytest.mark.parametrize("seed", range(3))
def test_the_way_to_a_state_does_not_show_in_its_resolution(tmp_path: Path, seed: int) -> None:
    lake = DedupLake(tmp_path, FIRST.to_json())
    before = State()
    for number, state in enumerate(history(seed, 12)):
        bring_to(lake, before, state)
        result = lake.resolve()
        expected = resolve_at_once(lake, state.parameters)
        assert lake.resolution().equals(expected.table), f"step {number}: {state}"
        scalars = {name: result["metrics"][name] for name in expected.statistics.scalars}
        assert scalars == expected.statistics.scalars
        tables = {name: result["tables"][name] for name in expected.statistics.tables}
        assert tables == expected.statistics.tables
        before = state


@pytest.mark.parametrize("ranked", [{"rank": "longest"}, {"rank": "quality", "quality_statistic": "score"}])
def test_a_removal_holds_whatever_the_rank(tmp_path: Path, ranked: dict[str, str]) -> None:
    parameters = replace(FIRST, **ranked)
    texts = {"s0": [edited(0, 60, 0), edited(0, 60, 2)], "s1": [edited(0, 60, 2), edited(1, 60, 0)]}
    lake = DedupLake(tmp_path, parameters.to_json())
    bring_to(lake, State(), State(texts=texts, parameters=parameters, removals=(("text_hash", edited(0, 60, 2)),)))
    assert lake.resolve()["metrics"]["documents_withdrawn"] == 2
    assert lake.resolution().num_rows == 0
