"""A table's files as an Arrow dataset: what DuckDB, polars and pandas scan lazily.

Filters on `partition_key` skip whole files, filters on other columns skip row groups. Readahead is bounded by bytes:
Arrow's default reads 2 million rows ahead, which for documents is more than a machine's memory. Arrow decodes a row
group whole and begins the next one while fewer than a batch's rows wait, so a batch has fewer rows than a row group.
"""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from corpusmill.lake.partitions import DataFileRef
from corpusmill.lake.schemas import PARTITION_KEY
from corpusmill.lake.store import Store

_BATCHES_PER_ROW_GROUP = 4
_MAX_BATCH_ROWS = 8_192


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
    dataset.batch_rows = _batch_rows(files)
    return dataset


def _batch_rows(files: Sequence[DataFileRef]) -> int:
    """Return the rows of a quarter of the row group with the fewest, hence longest, rows. The writer bounds its bytes.

    How well a file compresses says nothing: a text that repeats takes a thousand times more memory than disk. A file of
    one row group has no next one, however few its rows are.
    """
    groups = [file.num_rows // file.num_row_groups for file in files if file.num_row_groups > 1]
    return max(min([*groups, _BATCHES_PER_ROW_GROUP * _MAX_BATCH_ROWS]) // _BATCHES_PER_ROW_GROUP, 1)
