"""Single values read from their pages are those that Arrow reads, and a changed byte is refused."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpusmill.document import LOOKED_UP
from corpusmill.lake.files import ShardWriter
from corpusmill.lake.pages import has_pages, read_footer, read_pages, read_values
from corpusmill.lake.store import Store, StoreSettings

NUM_ROWS = 3000


def texts() -> list[str | None]:
    draw = np.random.default_rng(5)
    lengths = draw.integers(0, 4000, NUM_ROWS)
    found: list[str | None] = [
        f"{number} " + "".join(chr(97 + x) for x in draw.integers(0, 26, n)) for number, n in enumerate(lengths)
    ]
    for number in (*range(40, 60), 0, 7, NUM_ROWS - 1):
        found[number] = None
    found[8], found[9] = "", "\u6587\u5b57" * 30_000
    return found


def write(folder: Path, values: list[str | None], *, nullable: bool = True) -> str:
    field = pa.field("text", pa.large_string(), nullable=nullable, metadata=LOOKED_UP)
    schema = pa.schema(
        [pa.field("doc_id", pa.string(), nullable=False), pa.field("tags", pa.list_(pa.string())), field]
    )
    rows = {"doc_id": [f"{n:05d}" for n in range(len(values))], "tags": [["a", "b"]] * len(values), "text": values}
    store = Store(StoreSettings(root=str(folder)))
    with ShardWriter(store, directory="data", name="one", schema=schema, partition="p") as writer:
        writer.write(pa.table(rows, schema=schema).slice(0, 1000))
        writer.end_row_group()
        writer.write(pa.table(rows, schema=schema).slice(1000))
    return str(writer.files[0].path)


@pytest.mark.parametrize("nullable", [True, False])
def test_values_are_those_that_arrow_reads(tmp_path, nullable):
    values = texts() if nullable else [text or "" for text in texts()]
    path = write(tmp_path, values, nullable=nullable)
    with pa.OSFile(path) as source, pq.ParquetFile(source) as parquet:
        assert has_pages(parquet, "text")
        assert not has_pages(parquet, "doc_id")
        assert parquet.read(columns=["text"])["text"].to_pylist() == values
        groups = read_pages(source, parquet, "text", footer=read_footer(source))
        assert len(groups) == 2
        start = 0
        for group, pages in enumerate(groups):
            num_rows = parquet.metadata.row_group(group).num_rows
            assert len(pages.offsets) > num_rows / 50
            for chosen in (np.arange(num_rows), np.arange(3, num_rows, 97), np.array([0, num_rows - 1]), np.arange(0)):
                found = read_values(source, pages, chosen, is_nullable=nullable)
                assert [None if text is None else text.decode() for text in found] == [
                    values[start + r] for r in chosen
                ]
            start += num_rows


def test_a_changed_byte_is_refused(tmp_path):
    path = write(tmp_path, texts())
    with pa.OSFile(path) as source, pq.ParquetFile(source) as parquet:
        pages = read_pages(source, parquet, "text", footer=read_footer(source))[0]
    data = bytearray(Path(path).read_bytes())
    data[int(pages.offsets[5] + pages.sizes[5]) - 3] ^= 1
    with pa.BufferReader(bytes(data)) as source:
        assert read_values(source, pages, pages.first_rows[4:5], is_nullable=True)
        with pytest.raises(OSError, match="checksum"):
            read_values(source, pages, pages.first_rows[5:6], is_nullable=True)
