"""Lakes of packed sequences for the benchmarks of the stream: tokens drawn like those of text, in tables of real files."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa

from corpusmill.document import SEQUENCES
from corpusmill.lake.files import ShardWriter
from corpusmill.lake.store import LakeSettings, StoreSettings
from corpusmill.lake.tables import Lake
from corpusmill.mix.inventory import Inventory
from corpusmill.mix.mixture import Component, Mixture
from corpusmill.mix.pack import ROW_GROUP_BYTES
from corpusmill.mix.plan import PLAN, Plan, plan_to_table
from corpusmill.mix.solve import plan
from corpusmill.stream.inventory import PLAN_TABLE, read_inventory, tag_components, tag_plan

MIX = "streamed"
VOCABULARY = 49_152
PIECES = 4
_TABLE_SEQUENCES = 2_048


def make_lake(
    folder: Path,
    sizes: Mapping[str, int],
    *,
    sequence_length: int,
    budget_tokens: int | None = None,
    settings: LakeSettings | None = None,
) -> LakeSettings:
    """Write a component of as many full sequences for each of `sizes` and the plan of a mix that reads each equally often."""
    settings = settings or LakeSettings(store=StoreSettings(root=str(folder / "lake")))
    lake = Lake(settings)
    for number, (name, num_sequences) in enumerate(sizes.items()):
        _write_component(lake, name, num_sequences, sequence_length=sequence_length, seed=number)
    inventory = read_inventory(lake, [f"tokenized/{name}/sequences" for name in sizes])
    commit_plan(lake, make_plan(inventory, sizes, sequence_length=sequence_length, budget_tokens=budget_tokens))
    lake.close()
    return settings


def make_plan(
    inventory: Inventory, sizes: Mapping[str, int], *, sequence_length: int, budget_tokens: int | None = None
) -> Plan:
    """Return the plan of a mix with weights by size; with a budget, epochs have no cap."""
    components = tuple(
        Component(
            name=name,
            table=f"tokenized/{name}/sequences",
            weight=float(size),
            max_epochs=1.0 if budget_tokens is None else 1e9,
        )
        for name, size in sizes.items()
    )
    return plan(
        Mixture(name=MIX, components=components, sequence_length=sequence_length, seed=1, budget_tokens=budget_tokens),
        inventory,
    )


def commit_plan(lake: Lake, made: Plan) -> None:
    attempt = lake.begin(PLAN_TABLE, made.mix, PLAN)
    with ShardWriter(
        lake.store, directory=attempt.directory, name=attempt.attempt, schema=PLAN, partition=made.mix
    ) as writer:
        writer.write(plan_to_table(made))
    lake.commit(attempt, writer.files)
    tag_components(lake, made)
    tag_plan(lake, made)


def _write_component(lake: Lake, name: str, num_sequences: int, *, sequence_length: int, seed: int) -> None:
    attempt = lake.begin(f"tokenized/{name}/sequences", "s1", SEQUENCES)
    with ShardWriter(
        lake.store,
        directory=attempt.directory,
        name=attempt.attempt,
        schema=SEQUENCES,
        partition="s1",
        row_group_bytes=ROW_GROUP_BYTES,
    ) as writer:
        for first in range(0, num_sequences, _TABLE_SEQUENCES):
            held = min(_TABLE_SEQUENCES, num_sequences - first)
            writer.write(_sequences(name, first, held, sequence_length=sequence_length, seed=seed))
    state = {"num_tokens": num_sequences * sequence_length, "tokenizer": "t1", "sequence_length": sequence_length}
    lake.commit(attempt, writer.files, state)


def _sequences(name: str, first: int, held: int, *, sequence_length: int, seed: int) -> pa.Table:
    random = np.random.default_rng([seed, first])
    # Zipf's law: the number of a token is roughly uniform in its logarithm.
    tokens = np.exp(random.random(held * sequence_length, np.float32) * np.float32(np.log(VOCABULARY - 1)))
    piece = sequence_length // PIECES
    pieces = held * PIECES
    columns = [
        pa.array(np.arange(first, first + held)),
        _lists(pa.array(tokens.astype(np.int32)), held, sequence_length),
        _lists(pa.array([f"{name}-{first + n // PIECES}-{n % PIECES}" for n in range(pieces)]), held, PIECES),
        _lists(pa.array(np.full(pieces, piece, np.int32)), held, PIECES),
        _lists(pa.array(np.zeros(pieces, np.int64)), held, PIECES),
    ]
    return pa.Table.from_arrays(columns, schema=SEQUENCES)


def _lists(values: pa.Array, num_lists: int, size: int) -> pa.Array:
    return pa.ListArray.from_arrays(pa.array(np.arange(num_lists + 1, dtype=np.int32) * size), values)
