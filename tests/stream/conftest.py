"""Real lakes with small tables of packed sequences, and plans over them."""

from collections.abc import Sequence

import pyarrow as pa
import pytest

from corpusmill.document import SEQUENCES
from corpusmill.lake.files import ShardWriter, WrittenFile
from corpusmill.lake.store import LakeSettings, StoreSettings
from corpusmill.lake.tables import Lake
from corpusmill.mix.mixture import Component, Mixture
from corpusmill.mix.plan import PLAN, Plan, plan_to_table
from corpusmill.mix.solve import plan
from corpusmill.stream.inventory import PLAN_TABLE, read_inventory, tag_components, tag_plan

LENGTH = 8


def sequence_row(component: int, number: int, sequence: int) -> dict:
    """One sequence of two documents, 3 to 8 tokens; every token names its component, sequence and place."""
    size = 3 + (number * 7 + component) % 6
    return {
        "sequence": sequence,
        "tokens": [component * 1_000_000 + number * 10 + place for place in range(size)],
        "doc_ids": [f"c{component}-{number}-a", f"c{component}-{number}-b"],
        "lengths": [2, size - 2],
        "starts": [number, 5],
    }


class SmallLake:
    """A lake that tests fill; a local one unless settings say otherwise."""

    def __init__(self, folder, settings: LakeSettings | None = None) -> None:
        self.settings = settings or LakeSettings(store=StoreSettings(root=str(folder)))
        self.lake = Lake(self.settings)

    def write(self, table: str, partition: str, rows: Sequence[Sequence[dict]], *, schema=SEQUENCES, names=None):
        """Begin an attempt and write one file per item of `rows`."""
        attempt = self.lake.begin(table, partition, schema)
        files: list[WrittenFile] = []
        for number, part in enumerate(rows):
            name = f"{names[number] if names else number}-{attempt.attempt}"
            with ShardWriter(
                self.lake.store, directory=attempt.directory, name=name, schema=schema, partition=partition
            ) as writer:
                writer.write(pa.Table.from_pylist(list(part), schema=schema))
            files += writer.files
        return attempt, files

    def commit_sequences(self, table: str, partition: str, rows, *, names=None, tokenizer: str = "t1") -> None:
        attempt, files = self.write(table, partition, rows, names=names)
        num_tokens = sum(len(row["tokens"]) for part in rows for row in part)
        state = {"num_tokens": num_tokens, "tokenizer": tokenizer, "sequence_length": LENGTH}
        self.lake.commit(attempt, files, state)

    def commit_plan(self, made: Plan) -> None:
        attempt, files = self.write(PLAN_TABLE, made.mix, [plan_to_table(made).to_pylist()], schema=PLAN)
        self.lake.commit(attempt, files, {})
        tag_plan(self.lake, made)
        tag_components(self.lake, made)

    def plan(self, weights: dict[str, float], **settings) -> Plan:
        components = tuple(
            Component(name=name, table=f"tokenized/{name}/sequences", weight=weight, max_epochs=3)
            for name, weight in weights.items()
        )
        mixture = Mixture(name="demo", components=components, sequence_length=LENGTH, **settings)
        made = plan(mixture, read_inventory(self.lake, [component.table for component in components]))
        self.commit_plan(made)
        return made


@pytest.fixture
def small_lake(tmp_path):
    held = SmallLake(tmp_path / "lake")
    yield held
    held.lake.close()


@pytest.fixture
def demo(small_lake, monkeypatch):
    """Web has 30 sequences in two partitions and three files, code has 20 in one; blocks and row groups are tiny."""
    monkeypatch.setattr("corpusmill.mix.solve.BLOCK_BYTES", 4 * LENGTH * 3)
    monkeypatch.setattr("corpusmill.lake.files._ROW_GROUP_BYTES", 600)
    web = [sequence_row(1, number, number % 20) for number in range(30)]
    small_lake.commit_sequences("tokenized/web/sequences", "s1", [web[:11], web[11:20]])
    small_lake.commit_sequences("tokenized/web/sequences", "s2", [web[20:]])
    code = [sequence_row(2, number, number) for number in range(20)]
    small_lake.commit_sequences("tokenized/code/sequences", "s1", [code])
    small_lake.plan({"web": 0.7, "code": 0.3}, seed=5)
    return small_lake
