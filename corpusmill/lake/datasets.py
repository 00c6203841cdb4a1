"""A table's files as an Arrow dataset: what DuckDB, polars and pandas scan lazily.

Filters on `partition_key` skip whole files, filters on other columns skip row groups. Readahead is bounded by bytes:
Arrow's default reads 2 million rows ahead, which for documents is more than a machine's memory.
"""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from corpusmill.lake.partitions import DataFileRef
from corpusmill.lake.schemas import PARTITION_KEY
from corpusmill.lake.store import Store

_BATCH_BYTES = 16 << 20
_MAX_BATCH_ROWS = 8_192
_EXPANSION = 5
"""Text takes about this many times more memory than compressed disk."""


class BoundedDataset(ds.FileSystemDataset):
    """A dataset whose scans read one batch of one file ahead, so that a slow reader does not fill memory."""

    batch_rows: int = _MAX_BATCH_ROWS

    def scanner(self, **options: Any) -> ds.Scanner:
        bounded = {
            "batch_size": self.batch_rows,
            "batch_readahead": 1,
            "fragment_readahead": 1,
            "cache_metadata": False,
        }
        return super().scanner(**{**bounded, **options})


def files_to_dataset(store: Store, files: Sequence[DataFileRef], schema: pa.Schema) -> BoundedDataset:
    """Return the files as a dataset of exactly this schema; no file is opened. Old files give nulls for new columns."""
    filesystem, _ = store.filesystem(store.root)
    options = ds.ParquetFragmentScanOptions(page_checksum_verification=True)
    parquet = ds.ParquetFileFormat(default_fragment_scan_options=options)
    fragments = [
        parquet.make_fragment(
            store.filesystem(file.path)[1],
            filesystem,
            partition_expression=ds.field(PARTITION_KEY) == file.partition,
        )
        for file in files
    ]
    dataset = BoundedDataset(fragments, schema, parquet, filesystem)
    num_rows = sum(file.num_rows for file in files)
    row_bytes = _EXPANSION * sum(file.num_bytes for file in files) / max(num_rows, 1)
    dataset.batch_rows = int(min(max(_BATCH_BYTES / max(row_bytes, 1), 1), _MAX_BATCH_ROWS))
    return dataset
