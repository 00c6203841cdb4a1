"""Lists of numbers out of the pages of a Parquet column, without Arrow's way over levels and builders.

What our writer makes is read: an int32 list without nulls or empty lists, pages of version 1, plain or by dictionary,
uncompressed or zstd. All else raises UnusualPagesError, and Arrow reads it. Every page's checksum is checked. Costs: about
2 ns a number, a quarter of Arrow's.

Legend: V = numbers of a column chunk, R = its rows.
"""

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import pyarrow as pa

from corpusmill.lake.pages import CompactReader

CODECS = ("UNCOMPRESSED", "ZSTD")
"""How a column may be compressed, as its footer spells it."""
MAX_LEVELS = (2, 1)
"""Definition and repetition level of a list that is never null, with items that may be."""

_DATA_PAGE, _DICTIONARY_PAGE = 0, 2
_KIND, _UNPACKED_BYTES, _BODY_BYTES, _CRC = 1, 2, 3, 4
_DATA_HEADER, _DICTIONARY_HEADER = _HEADERS = 5, 7
_MOST_HEADER_BYTES = 512
"""No header of a page of numbers is longer, statistics included."""
_PLAIN, _PLAIN_DICTIONARY, _RLE, _RLE_DICTIONARY = 0, 2, 3, 8
_MAX_WIDTH = 24
"""Bits of a dictionary's index that are read: 2^24 numbers are more than any vocabulary."""

Numbers = np.ndarray[Any, np.dtype[np.int32]]
Bytes = np.ndarray[Any, np.dtype[np.uint8]]


class UnusualPagesError(Exception):
    """The pages are of a kind that only Arrow reads here."""


@dataclass(frozen=True, kw_only=True)
class Lists:
    """The rows of a column."""

    values_V: Numbers
    starts_R: np.ndarray[Any, np.dtype[np.int64]]
    """Where each row's numbers begin, and after the last one how many there are."""


def decode_lists(chunk: Bytes, *, codec: str, num_values: int, num_rows: int, out: Numbers | None = None) -> Lists:
    """Return the lists of a column chunk, their numbers in `out` where it is given.

    Raises UnusualPagesError or, where the bytes are not what was written, OSError.
    """
    values_V = np.empty(num_values, np.int32) if out is None else out
    starts_R = np.empty(num_rows + 1, np.int64)
    dictionary = None
    done = rows = 0
    for page in _pages(chunk):
        body = _decompressed(page, codec)
        if page.is_dictionary:
            dictionary = _dictionary(body, page)
            continue
        if done + page.num_values > num_values:
            raise OSError(f"wanted {num_values:,} numbers, got more")
        rows = _add_row_starts(body, page, done, starts_R, rows)
        _fill(body, page, dictionary, values_V[done : done + page.num_values])
        done += page.num_values
    if (done, rows) != (num_values, num_rows):
        raise OSError(f"wanted {num_values:,} numbers in {num_rows:,} rows, got {done:,} in {rows:,}")
    starts_R[num_rows] = done
    return Lists(values_V=values_V, starts_R=starts_R)


@dataclass(frozen=True, kw_only=True)
class _Page:
    body: Bytes
    uncompressed_bytes: int
    num_values: int
    encoding: int
    is_dictionary: bool


def _pages(chunk: Bytes) -> Iterator[_Page]:
    at = 0
    while at < len(chunk):
        header, begin = _page_header(chunk, at)
        at = begin + header[_BODY_BYTES]
        body = chunk[begin:at]
        if len(body) != header[_BODY_BYTES] or (_CRC in header and zlib.crc32(body.data) != header[_CRC] % (1 << 32)):
            raise OSError("a page's checksum does not fit its bytes")
        is_dictionary = header[_KIND] == _DICTIONARY_PAGE
        about = header[_DICTIONARY_HEADER if is_dictionary else _DATA_HEADER]
        levels = (_RLE, _RLE) if is_dictionary else (about.get(3), about.get(4))
        if header[_KIND] not in (_DATA_PAGE, _DICTIONARY_PAGE) or levels != (_RLE, _RLE):
            raise UnusualPagesError(f"a page of kind {header[_KIND]} with levels in encodings {levels}")
        num_values, encoding = about.get(1, -1), about.get(2, -1)
        if num_values < 0:
            raise OSError(f"a page of {num_values} numbers")
        yield _Page(
            body=body,
            uncompressed_bytes=header[_UNPACKED_BYTES],
            num_values=num_values,
            encoding=encoding,
            is_dictionary=is_dictionary,
        )


def _decompressed(page: _Page, codec: str) -> Bytes:
    if codec == "UNCOMPRESSED":
        return page.body
    try:
        raw = pa.Codec(codec.lower()).decompress(pa.py_buffer(page.body), page.uncompressed_bytes)
    except OSError as error:
        raise OSError(f"a page cannot be decompressed: {error}") from error
    return np.frombuffer(raw, np.uint8)


def _dictionary(body: Bytes, page: _Page) -> Numbers:
    if page.encoding not in (_PLAIN, _PLAIN_DICTIONARY):
        raise UnusualPagesError(f"a dictionary in encoding {page.encoding}")
    if len(body) < 4 * page.num_values:
        raise OSError(f"wanted {page.num_values:,} numbers in the dictionary, got {len(body):,} bytes")
    return np.frombuffer(body[: 4 * page.num_values].tobytes(), np.int32)


def _add_row_starts(body: Bytes, page: _Page, done: int, starts_R: Any, rows: int) -> int:
    """Write where rows start in the page; return how many rows there are now."""
    repetition, definition, _ = _sections(body)
    # Levels below the highest are nulls and empty lists: they have no number of their own.
    if _count_equal(definition, MAX_LEVELS[0].bit_length(), MAX_LEVELS[0], page.num_values) != page.num_values:
        raise UnusualPagesError("nulls or empty lists")
    rows = int(_find_zeros(repetition, page.num_values, done, starts_R[:-1], rows))
    if rows < 0:
        raise OSError("a page's levels are not those of its rows")
    return rows


def _fill(body: Bytes, page: _Page, dictionary: Numbers | None, out: Numbers) -> None:
    _, _, values = _sections(body)
    if page.encoding == _PLAIN:
        if len(values) != 4 * len(out):
            raise OSError(f"wanted {len(out):,} plain numbers, got {len(values):,} bytes")
        out[:] = np.ndarray(len(out), "<i4", buffer=values)
        return
    if page.encoding not in (_PLAIN_DICTIONARY, _RLE_DICTIONARY) or dictionary is None:
        raise UnusualPagesError(f"numbers in encoding {page.encoding}")
    width = int(values[0]) if len(values) else 0
    if width > _MAX_WIDTH:
        raise UnusualPagesError(f"indexes of {width} bits")
    if not _look_up(values[1:], width, dictionary, out):
        raise OSError("a page's indexes are not those of its dictionary")


def _sections(body: Bytes) -> tuple[Bytes, Bytes, Bytes]:
    """Return repetition levels, definition levels and values; each kind of levels has its size in four bytes before it."""
    found, at = [], 0
    for _ in range(2):
        size = int.from_bytes(body[at : at + 4].tobytes(), "little")
        found.append(body[at + 4 : at + 4 + size])
        at += 4 + size
    if at > len(body):
        raise OSError("a page is shorter than its levels")
    return found[0], found[1], body[at:]


def _page_header(chunk: Bytes, at: int) -> tuple[dict[int, Any], int]:
    """Return the fields of a header by their numbers in parquet.thrift, and where it ends."""
    reader = CompactReader(chunk[at : at + _MOST_HEADER_BYTES].tobytes())
    try:
        read = reader.struct()
    except (IndexError, TypeError) as error:
        raise OSError("a page has no header that can be read") from error
    header: dict[int, Any] = _integers(read)
    for number in _HEADERS:
        within = read.get(number)
        header[number] = _integers(within) if isinstance(within, dict) else {}
    sizes = [header.get(number, -1) for number in (_KIND, _UNPACKED_BYTES, _BODY_BYTES)]
    if min(sizes) < 0:
        raise OSError(f"a page has a header with kind and sizes {sizes}")
    return header, at + reader.at


def _integers(fields: dict[int, Any]) -> dict[int, int]:
    """Return the fields that are what a header has: bytes that changed may spell one of another kind."""
    return {number: value for number, value in fields.items() if isinstance(value, int)}


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _run(data: Any, at: int) -> tuple[int, int]:
    """Return the header of a run and where it goes on; a header beyond the end is 0, which is no run."""
    value = shift = 0
    while at < len(data) and shift < 35:
        byte = int(data[at])
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at
    return 0, at


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _repeated(data: Any, at: int, width: int) -> int:
    """Return the value of a run of equal ones: as many whole bytes as it needs, the lowest first."""
    value = 0
    for step in range((width + 7) // 8):
        if at + step < len(data):
            value |= int(data[at + step]) << (8 * step)
    return value


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _packed(data: Any, at: int, width: int, number: int) -> int:
    """Return one of the values of a run that are packed bit by bit, the lowest first; bytes beyond the end count as 0."""
    bit = number * width
    value, byte = 0, at + (bit >> 3)
    for step in range(5):
        if byte + step < len(data):
            value |= int(data[byte + step]) << (8 * step)
    return (value >> (bit & 7)) & ((1 << width) - 1)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _count_equal(data: Any, width: int, wanted: int, num_values: int) -> int:
    at = seen = found = 0
    while seen < num_values:
        header, at = _run(data, at)
        if header < 2:
            return -1
        if header & 1:
            size = min((header >> 1) * 8, num_values - seen)
            for number in range(size):
                found += _packed(data, at, width, number) == wanted
            at += (header >> 1) * width
        else:
            size = min(header >> 1, num_values - seen)
            found += size * (_repeated(data, at, width) == wanted)
            at += (width + 7) // 8
        seen += size
    return found


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _find_zeros(data: Any, num_values: int, first: int, out: Any, filled: int) -> int:
    """Write the places of levels 0, counted from `first`; return how many `out` has then, -1 where they cannot be right."""
    at = seen = 0
    while seen < num_values:
        header, at = _run(data, at)
        if header < 2:
            return -1
        if header & 1:
            size = min((header >> 1) * 8, num_values - seen)
            for number in range(size):
                if _packed(data, at, 1, number) == 0:
                    if filled == len(out):
                        return -1
                    out[filled] = first + seen + number
                    filled += 1
            at += header >> 1
        else:
            size = min(header >> 1, num_values - seen)
            if _repeated(data, at, 1) == 0:
                if filled + size > len(out):
                    return -1
                for number in range(size):
                    out[filled + number] = first + seen + number
                filled += size
            at += 1
        seen += size
    return filled


def _look_up(data: Bytes, width: int, dictionary: Numbers, out: Numbers) -> bool:
    """Write the dictionary's number for each index; returns whether all are there."""
    # With a number for every index that the width can spell, nothing needs to be checked on the way.
    table = np.zeros(1 << width, np.int32)
    table[: len(dictionary)] = dictionary[: 1 << width]
    if len(data) < 8:
        data = np.frombuffer(data.tobytes() + bytes(8), np.uint8)
    # Eight bytes from every byte on: an index is a shift and a mask of one of them.
    words = np.ndarray(len(data) - 7, "<u8", buffer=data, strides=(1,))
    return bool(_look_up_words(data, words, width, len(dictionary), table, out))


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _look_up_words(data: Any, words: Any, width: int, held: int, table: Any, out: Any) -> bool:
    """Write the table's number for each index; returns whether all are there and less than `held`."""
    at = seen = 0
    mask = np.int64((1 << width) - 1)
    # Negative as soon as one of the differences is: cheaper than the largest index.
    room = np.int64(0)
    while seen < len(out):
        header, at = _run(data, at)
        if header < 2:
            return False
        if header & 1:
            size = min((header >> 1) * 8, len(out) - seen)
            whole = min(size, max(0, (len(words) - at) * 8 // max(1, width)))
            words_here, out_here = words[at:], out[seen : seen + size]
            for number in range(whole):
                bit = number * width
                index = np.int64(words_here[bit >> 3] >> np.uint64(bit & 7)) & mask
                room |= held - 1 - index
                out_here[number] = table[index]
            for number in range(whole, size):
                index = np.int64(_packed(data, at, width, number))
                room |= held - 1 - index
                out_here[number] = table[index]
            at += (header >> 1) * width
        else:
            size = min(header >> 1, len(out) - seen)
            index = np.int64(_repeated(data, at, width)) & mask
            room |= held - 1 - index
            out[seen : seen + size] = table[index]
            at += (width + 7) // 8
        seen += size
    return bool(room >= 0)
