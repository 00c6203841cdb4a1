"""Lists read from their pages are those that Arrow reads; what is not known is said to be so; no changed byte is misread."""

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpusmill.lake.list_pages import UnusualPagesError, decode_lists

DRAW = np.random.default_rng(7)


def lists(sizes, values) -> pa.Table:
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    column = pa.ListArray.from_arrays(pa.array(offsets), pa.array(values[: offsets[-1]], pa.int32()))
    schema = pa.schema([pa.field("tokens", pa.list_(pa.int32()), nullable=False)])
    return pa.table({"tokens": column}, schema=schema)


def written(table: pa.Table, **settings) -> tuple[np.ndarray, dict]:
    """Return a column chunk's bytes and what its footer says of it."""
    file = io.BytesIO()
    pq.write_table(table, file, **{"compression": "none", "write_page_checksum": True, **settings})
    about = pq.read_metadata(io.BytesIO(file.getvalue())).row_group(0).column(0)
    begin = about.dictionary_page_offset if about.has_dictionary_page else about.data_page_offset
    chunk = np.frombuffer(file.getvalue(), np.uint8)[begin : begin + about.total_compressed_size]
    return chunk, {"codec": about.compression, "num_values": about.num_values, "num_rows": len(table)}


STORIES = {
    "tokens as text has them": (DRAW.integers(1, 300, 500), np.exp(DRAW.random(200_000) * 11).astype(int)),
    "one number in each row": (np.ones(3000, int), DRAW.integers(0, 5, 3000)),
    "rows of one and of many": (DRAW.choice([1, 1, 1, 900], 300), DRAW.integers(0, 70_000, 300_000)),
    "one row": ([5000], DRAW.integers(0, 3, 5000)),
    "one number": ([1], np.array([-7])),
    "the same number everywhere": ([10, 3000, 1], np.full(4000, 9)),
    "stretches of the same number": (np.full(60, 100), np.repeat(DRAW.integers(-9, 9, 60), 100)),
    "the largest and the smallest numbers": ([3, 4], np.array([2**31 - 1, -(2**31), 0, -1, 1, 5, 6])),
}


@pytest.mark.parametrize("settings", [{}, {"compression": "zstd"}, {"use_dictionary": False}], ids=str)
@pytest.mark.parametrize("story", STORIES)
def test_lists_are_those_that_arrow_reads(story, settings):
    sizes, values = STORIES[story]
    table = lists(sizes, values)
    for page_bytes in (200, 1 << 20):
        chunk, about = written(table, data_page_size=page_bytes, **settings)
        found = decode_lists(chunk, **about)
        assert found.values_V.tolist() == values[: sum(sizes)].tolist()
        assert found.starts_R.tolist() == [0, *np.cumsum(sizes).tolist()]


def test_a_dictionary_that_grew_too_large_goes_on_in_plain_pages():
    sizes, values = np.full(200, 500), DRAW.permutation(100_000)
    chunk, about = written(lists(sizes, values), dictionary_pagesize_limit=50_000, data_page_size=4000)
    out = np.empty(100_000, np.int32)
    assert decode_lists(chunk, **about, out=out).values_V is out
    assert out.tolist() == values.tolist()


@pytest.mark.parametrize(
    ("rows", "settings"),
    [
        ([[1, 2], []], {}),
        ([[1, None], [3]], {}),
        ([[1, 2], [3]], {"data_page_version": "2.0"}),
        ([[1, 2], [3]], {"use_dictionary": False, "column_encoding": "DELTA_BINARY_PACKED"}),
    ],
)
def test_what_only_arrow_reads_is_told(rows, settings):
    schema = pa.schema([pa.field("tokens", pa.list_(pa.int32()), nullable=False)])
    chunk, about = written(pa.table({"tokens": rows}, schema=schema), **settings)
    with pytest.raises(UnusualPagesError):
        decode_lists(chunk, **about)


@pytest.mark.parametrize("settings", [{}, {"compression": "zstd"}, {"use_dictionary": False}], ids=str)
def test_no_changed_byte_is_misread(settings):
    """Checksums are of the pages; a header has none, and must make no number of another one."""
    sizes, values = [30, 1, 100, 7], DRAW.integers(0, 90, 138)
    chunk, about = written(lists(sizes, values), data_page_size=200, **settings)
    refused = 0
    for place in range(len(chunk)):
        for bit in range(8):
            changed = chunk.copy()
            changed[place] ^= 1 << bit
            changed.flags.writeable = False
            try:
                found = decode_lists(changed, **about)
            except (OSError, UnusualPagesError):
                refused += 1
            else:
                assert (found.values_V.tolist(), found.starts_R.tolist()) == (
                    values.tolist(),
                    [0, *np.cumsum(sizes).tolist()],
                )
    assert refused > 7 * len(chunk)


def test_bytes_that_are_cut_off_are_refused():
    sizes, values = STORIES["rows of one and of many"]
    chunk, about = written(lists(sizes, values))
    for size in (0, 1, 10, len(chunk) // 2, len(chunk) - 1):
        with pytest.raises(OSError):
            decode_lists(chunk[:size], **about)
