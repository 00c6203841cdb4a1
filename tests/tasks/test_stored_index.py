"""The contamination index in the lake: built once, opened from there, made again where it is missing or damaged."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpusmill.curate.contamination import find_contamination
from corpusmill.curate.contamination_build import ITEMS
from corpusmill.curate.contamination_index import ContaminationIndex
from corpusmill.curate.contamination_rules import ContaminationRules
from corpusmill.lake.store import Store, StoreSettings
from corpusmill.tasks.stored_index import index_key, open_index

SWAP = "Write a function to swap two numbers."
FILES = ("data/items.parquet",)
RULES = ContaminationRules()
KEY = index_key(FILES, RULES)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = Store(StoreSettings(root=str(tmp_path)))
    items = [{"benchmark": "mbpp", "item": "7", "text": SWAP, "answer": None}]
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(items, schema=ITEMS), sink)
    made.write(FILES[0], sink.getvalue().to_pybytes())
    return made


def found(index: ContaminationIndex) -> list[str]:
    documents = pa.table({"doc_id": ["a", "b"], "text": pa.array(["A river.", f"# {SWAP}"], pa.large_string())})
    return find_contamination(documents, index)["doc_id"].to_pylist()


def test_it_is_built_once_and_then_opened(store: Store) -> None:
    assert found(open_index(store, FILES, RULES)) == ["b"]
    kept = store.read(KEY)
    store.delete(FILES)
    assert found(open_index(store, FILES, RULES)) == ["b"], "from what was kept, as the items are gone"
    assert store.read(KEY) == kept


@pytest.mark.parametrize("place", [0, 100, -1])
def test_a_damaged_one_is_made_again(store: Store, place: int) -> None:
    open_index(store, FILES, RULES)
    kept = store.read(KEY)
    damaged = bytearray(kept)
    damaged[place] ^= 1
    for data in (bytes(damaged), kept[:200], b""):
        store.write(KEY, data)
        assert found(open_index(store, FILES, RULES)) == ["b"]
        assert store.read(KEY) == kept


def test_other_rules_and_other_items_are_another_index() -> None:
    others = [index_key(FILES, ContaminationRules(min_share=0.9)), index_key(("data/new.parquet",), RULES)]
    assert len({KEY, *others}) == 3
