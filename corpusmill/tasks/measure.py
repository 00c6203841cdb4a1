"""The exact Jaccard of candidate pairs, in shards of about as many shingles; pairs are ordered by the worse one's text file.

Memory: the shingle sets of one shard's documents, 8 bytes a shingle.
"""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from corpusmill.dedup.parameters import DedupParameters
from corpusmill.dedup.texts import stored_texts
from corpusmill.dedup.verify import measure_pairs
from corpusmill.engines.shard import ShardContext
from corpusmill.lake.pages import open_parquet
from corpusmill.lake.store import Store

SHINGLES_PER_SHARD = 30_000_000
SIDES = ("worse", "better")
TOLD = ("doc_id", "text_file", "num_shingles")
"""What a document's shingle set is read by."""
COMPARED = pa.schema(
    [
        pa.field("worse", pa.int64(), nullable=False),
        pa.field("better", pa.int64(), nullable=False),
        pa.field("bands", pa.int64(), nullable=False),
        pa.field("worse_doc_id", pa.string(), nullable=False),
        pa.field("worse_text_file", pa.string(), nullable=False),
        pa.field("worse_num_shingles", pa.int32(), nullable=False),
        pa.field("better_doc_id", pa.string(), nullable=False),
        pa.field("better_text_file", pa.string(), nullable=False),
        pa.field("better_num_shingles", pa.int32(), nullable=False),
    ]
)
MEASURED = pa.schema([*list(COMPARED)[:3], pa.field("jaccard", pa.float64(), nullable=False)])


def write_compared(store: Store, key: str, compared: pa.Table) -> int:
    """Write pairs, a row group for each shard; return how many."""
    ordered = compared.sort_by([("worse_text_file", "ascending"), ("worse", "ascending"), ("better", "ascending")])
    shingles = np.cumsum(sum(ordered.column(f"{side}_num_shingles").to_numpy().astype(np.int64) for side in SIDES))
    shard = shingles // SHINGLES_PER_SHARD
    bounds = [0, *(np.flatnonzero(shard[1:] != shard[:-1]) + 1).tolist(), len(ordered)]
    with store.open_output(key) as out, pq.ParquetWriter(out, COMPARED, write_page_checksum=True) as writer:
        for start, end in pairwise(bounds):
            writer.write_table(ordered.slice(start, end - start), row_group_size=end - start)
    return len(bounds) - 1


def measure_shard(
    inputs: Mapping[str, Any], parameters: Mapping[str, Any], context: ShardContext
) -> Iterator[pa.Table]:
    """Yield the pairs of one row group of the object `compared` with their exact Jaccard."""
    with context.store.open_input(inputs["compared"]) as source, open_parquet(source) as file:
        pairs = file.read_row_group(inputs["row_group"])
    documents, numbers = _documents(pairs)
    measured = measure_pairs(
        np.searchsorted(numbers, pairs.column("worse").to_numpy()),
        np.searchsorted(numbers, pairs.column("better").to_numpy()),
        documents=documents,
        parameters=DedupParameters.from_json(parameters),
        read_texts=stored_texts(context.store),
        map_calls=map,
    )
    found = pairs.select(["worse", "better", "bands"])
    yield found.append_column("jaccard", pa.array(measured, pa.float64())).cast(MEASURED)


def _documents(pairs: pa.Table) -> tuple[pa.Table, np.ndarray]:
    """Return the documents of some pairs, each once, in order of their numbers."""
    every = pa.concat_tables(
        [pa.table([pairs.column(f"{side}_{name}") for name in TOLD], names=list(TOLD)) for side in SIDES]
    )
    both = np.concatenate([pairs.column(side).to_numpy() for side in SIDES])
    numbers, firsts = np.unique(both, return_index=True)
    return every.take(firsts).combine_chunks(), numbers
