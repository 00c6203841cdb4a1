"""Single values of a string column of a Parquet file: only the pages that hold them are read.

Arrow reads whole column chunks. What is looked up here is written in small pages with an index of them (LOOKED_UP): a few
thousandths of a file's texts then cost a few hundredths of its bytes. Knows of the format what such a column needs: Thrift's
compact protocol, the offset index, and data pages of version 1, plain and compressed by Zstandard.
"""

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numba import njit

_TAIL_BYTES = 16 << 10
"""Read from a file's end at once: most footers fit. Arrow itself reads 64 KB, which many small files are mostly made of."""
_MARK_BYTES = 8
_ROW_GROUPS, _COLUMNS, _OFFSET_INDEX, _OFFSET_INDEX_LENGTH = 4, 1, 4, 5
_PLAIN = 0
_STOP, _TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 0, 1, 2, 3, 7, 8, 9, 10, 12


@dataclass(frozen=True, kw_only=True)
class Pages:
    """Where the pages of one column in one row group lie."""

    offsets: np.ndarray
    sizes: np.ndarray
    """With their headers."""
    first_rows: np.ndarray
    """Of the row group."""


def open_parquet(source: pa.NativeFile) -> pq.ParquetFile:
    """Open a Parquet file, with the checksums of its pages verified, of which only a few columns or pages are read."""
    return parse_parquet(source, read_footer(source))


def parse_parquet(source: pa.NativeFile, footer: bytes) -> pq.ParquetFile:
    """Open a Parquet file as `open_parquet` does, whose footer is read."""
    mark = len(footer).to_bytes(4, "little") + b"PAR1"
    metadata = pq.read_metadata(pa.BufferReader(b"PAR1" + footer + mark))
    return pq.ParquetFile(source, metadata=metadata, page_checksum_verification=True)


def read_footer(source: pa.NativeFile) -> bytes:
    """Return the footer of a Parquet file; raises ArrowInvalid where the file does not end as one."""
    size = source.size()
    source.seek(max(0, size - _TAIL_BYTES))
    tail = source.read()
    length = int.from_bytes(tail[-_MARK_BYTES:-4], "little")
    if tail[-4:] != b"PAR1" or length + 2 * _MARK_BYTES - 4 > size:
        raise pa.ArrowInvalid("it does not end as a Parquet file does")
    if length + _MARK_BYTES > len(tail):
        source.seek(size - length - _MARK_BYTES)
        tail = source.read(length + _MARK_BYTES)
    return bytes(tail[-_MARK_BYTES - length : -_MARK_BYTES])


def has_pages(parquet: pq.ParquetFile, column: str) -> bool:
    """Say whether single values of a string column can be read: it has an index and pages that are plain."""
    if not parquet.num_row_groups:
        return False
    chunk = parquet.metadata.row_group(0).column(_leaf(parquet, column))
    return bool(chunk.has_offset_index and chunk.compression == "ZSTD" and not chunk.has_dictionary_page)


def read_pages(source: pa.NativeFile, parquet: pq.ParquetFile, column: str, *, footer: bytes) -> list[Pages]:
    """Return the pages of a column in every row group; reads the index."""
    leaf = _leaf(parquet, column)
    chunks = [group[_COLUMNS][leaf] for group in CompactReader(footer).struct()[_ROW_GROUPS]]
    return [_page_index(source, chunk[_OFFSET_INDEX], chunk[_OFFSET_INDEX_LENGTH]) for chunk in chunks]


def read_values(source: pa.NativeFile, pages: Pages, rows: np.ndarray, *, is_nullable: bool) -> list[bytes | None]:
    """Return the values of some rows of a row group, sorted; raises OSError where a page is not what was written."""
    found: list[bytes | None] = []
    numbers = np.searchsorted(pages.first_rows, rows, side="right") - 1
    for number in np.unique(numbers).tolist():
        source.seek(int(pages.offsets[number]))
        values = _page_values(source.read(int(pages.sizes[number])), is_nullable=is_nullable)
        first = int(pages.first_rows[number])
        found += [values[row - first] for row in rows[numbers == number].tolist()]
    return found


def _leaf(parquet: pq.ParquetFile, column: str) -> int:
    """Return the number of a top-level column among all leaves."""
    paths = [parquet.schema.column(number).path for number in range(len(parquet.schema))]
    return paths.index(column)


def _page_index(source: pa.NativeFile, offset: int, length: int) -> Pages:
    source.seek(offset)
    data = np.frombuffer(source.read(length), dtype=np.uint8)
    locations = _locations(data)
    return Pages(offsets=locations[:, 0], sizes=locations[:, 1], first_rows=locations[:, 2])


@njit(cache=True, nogil=True)
def _locations(data: np.ndarray) -> np.ndarray:
    """Return offset, size and first row of every page: three zigzag numbers, each after a byte that names its field."""
    at = 2
    count = np.int64(data[1] >> 4)
    if count == 15:
        count, at = _varint(data, at)
    found = np.empty((count, 3), dtype=np.int64)
    for page in range(count):
        for field in range(3):
            value, at = _varint(data, at + 1)
            found[page, field] = (value >> 1) ^ -(value & 1)
        at += 1
    return found


@njit(cache=True, nogil=True)
def _varint(data: np.ndarray, at: int) -> tuple[np.int64, int]:
    """Return the number that begins at a place, and the place after it."""
    value = np.int64(0)
    shift = 0
    while True:
        byte = np.int64(data[at])
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _page_values(data: bytes, *, is_nullable: bool) -> list[bytes | None]:
    reader = CompactReader(data)
    header = reader.struct()
    packed = data[reader.at : reader.at + header[3]]
    if len(packed) != header[3] or zlib.crc32(packed) != header[4] % (1 << 32):
        raise OSError("a page's checksum does not fit its bytes")
    page = header[5]
    assert page[2] == _PLAIN, f"encoding {page[2]}"
    body = pa.decompress(packed, decompressed_size=header[2], codec="zstd", asbytes=True)
    is_valid = np.ones(page[1], dtype=bool)
    start = 0
    if is_nullable:
        start = 4 + int.from_bytes(body[:4], "little")
        is_valid = _levels(body[4:start], page[1])
    values = _plain_strings(body, start)
    return [next(values) if valid else None for valid in is_valid.tolist()]


def _plain_strings(body: bytes, at: int) -> Iterator[bytes]:
    while at < len(body):
        end = at + 4 + int.from_bytes(body[at : at + 4], "little")
        yield body[at + 4 : end]
        at = end


def _levels(data: bytes, count: int) -> np.ndarray:
    """Return which values are there: runs of one bit, repeated or eight to a byte."""
    reader = CompactReader(data)
    found = []
    while reader.at < len(data):
        header = reader.varint()
        if header & 1:
            packed = np.frombuffer(reader.take(header >> 1), dtype=np.uint8)
            found.append(np.unpackbits(packed, bitorder="little").astype(bool))
        else:
            found.append(np.full(header >> 1, reader.take(1)[0] != 0))
    return np.concatenate(found)[:count]


class CompactReader:
    """A place in bytes of Thrift's compact protocol."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, count: int) -> bytes:
        self.at += count
        return self.data[self.at - count : self.at]

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def zigzag(self) -> int:
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def struct(self) -> dict[int, Any]:
        """Return the fields of a struct by their numbers."""
        fields: dict[int, Any] = {}
        number = 0
        while (head := self.take(1)[0]) != _STOP:
            number = number + (head >> 4) if head >> 4 else self.zigzag()
            kind = head & 0x0F
            fields[number] = kind == _TRUE if kind in (_TRUE, _FALSE) else self.value(kind)
        return fields

    def value(self, kind: int) -> Any:
        if kind == _STRUCT:
            return self.struct()
        if kind in (_LIST, _SET):
            head = self.take(1)[0]
            count = head >> 4 if head >> 4 < 15 else self.varint()
            return [self.value(head & 0x0F) for _ in range(count)]
        if kind == _BINARY:
            return self.take(self.varint())
        if kind == _DOUBLE:
            return self.take(8)
        if kind in (_BYTE, _TRUE, _FALSE):
            return self.take(1)
        return self.zigzag()
