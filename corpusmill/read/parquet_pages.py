"""The sizes of a Parquet column's pages, read from their headers: what decoding will cost, before it is paid.

A page of 1.6 GB that compresses to 40 MB is a legal file and kills a worker. pyarrow shows no page sizes, so this reads
the page headers themselves (thrift's compact protocol, parquet.thrift `PageHeader`). Costs one small read a page.
"""

import pyarrow.parquet as pq

from corpusmill.read.source_file import InputFile

_HEADER_BYTES = 1 << 14
"""More than a page header needs unless its statistics hold very long values."""

_STOP, _TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 0, 1, 2, 3, 7, 8, 9, 10, 11, 12


class PageHeaderError(Exception):
    """The bytes are no Parquet page header."""


def largest_page_bytes(file: InputFile, chunk: pq.ColumnChunkMetaData) -> int:
    """Return the uncompressed size of the column chunk's largest page; raises PageHeaderError."""
    start = chunk.data_page_offset
    if chunk.has_dictionary_page and 0 < chunk.dictionary_page_offset < start:
        start = chunk.dictionary_page_offset
    end = start + chunk.total_compressed_size
    largest = 0
    while start < end:
        file.seek(start)
        header = _Reader(bytes(file.read(_HEADER_BYTES)))
        uncompressed, compressed = header.page_sizes()
        largest = max(largest, uncompressed)
        start += header.position + compressed
    return largest


class _Reader:
    """Just enough of thrift's compact protocol to pass over a struct."""

    def __init__(self, data: bytes) -> None:
        self.position = 0
        self._data = data

    def page_sizes(self) -> tuple[int, int]:
        """Read a PageHeader; return its fields 2 and 3, the page's uncompressed and compressed size."""
        sizes: dict[int, int] = {}
        field = 0
        while (kind := self._byte()) != _STOP:
            field = field + (kind >> 4) if kind >> 4 else self._signed()
            if field in (2, 3):
                sizes[field] = self._signed()
            else:
                self._skip(kind & 0x0F)
        if set(sizes) != {2, 3} or min(sizes.values()) < 0:
            raise PageHeaderError(f"a Parquet page header without sizes: {sizes}")
        return sizes[2], sizes[3]

    def _byte(self) -> int:
        if self.position >= len(self._data):
            raise PageHeaderError("a Parquet page header is cut or longer than 16 KiB")
        self.position += 1
        return self._data[self.position - 1]

    def _unsigned(self) -> int:
        value = shift = 0
        while (byte := self._byte()) & 0x80:
            value |= (byte & 0x7F) << shift
            shift += 7
        return value | byte << shift

    def _signed(self) -> int:
        value = self._unsigned()
        return (value >> 1) ^ -(value & 1)

    def _skip(self, kind: int) -> None:
        if kind in (_TRUE, _FALSE):
            return
        if kind == _BYTE:
            self._byte()
        elif kind == _DOUBLE:
            self.position += 8
        elif kind == _BINARY:
            length = self._unsigned()
            self.position += length
        elif kind in (_LIST, _SET):
            self._skip_list()
        elif kind == _STRUCT:
            while (inner := self._byte()) != _STOP:
                if not inner >> 4:
                    self._signed()
                self._skip(inner & 0x0F)
        elif kind == _MAP:
            raise PageHeaderError("a Parquet page header with a map")
        else:
            self._signed()

    def _skip_list(self) -> None:
        head = self._byte()
        size = head >> 4 if head >> 4 < 15 else self._unsigned()
        for _ in range(size):
            # A list spells each boolean as a byte of its own.
            self._skip(_BYTE if head & 0x0F in (_TRUE, _FALSE) else head & 0x0F)
