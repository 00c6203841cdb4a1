"""Requests that are judged piece by piece: no seed is in two pieces, whatever the files' batches are."""

import pyarrow as pa
import pytest

from corpusmill.tasks.accept import whole_seeds

SEEDS = pa.table({"doc_id": ["a", "b", "b", "b", "b", "b", "c", "d", "d"], "chunk": [0, 0, 1, 2, 3, 4, 0, 0, 1]})


@pytest.mark.parametrize("size", [1, 2, 3, 4, 9, 20])
def test_pieces_hold_whole_seeds_in_their_order(size):
    pieces = list(whole_seeds(pa.Table.from_batches([batch]) for batch in SEEDS.to_batches(max_chunksize=size)))
    assert pa.concat_tables(pieces).to_pylist() == SEEDS.to_pylist()
    ids = [doc_id for piece in pieces for doc_id in piece["doc_id"].unique().to_pylist()]
    assert ids == ["a", "b", "c", "d"]
    assert max(map(len, pieces)) <= size + 5


def test_no_requests_are_no_pieces():
    assert list(whole_seeds([])) == []
