"""The content hash: what rows a table holds, whatever their order, files, chunks or column order.

Every row gets a 128-bit hash of its named values; the table's hash is their sum, so hashes of parts add up. A null differs
from an empty value, and a column of nulls counts like an absent one. A sum is no defence against an attacker who chooses
rows. Cost: one pass over Arrow's buffers, about 1 GB/s of text a core.
"""

import functools
import hashlib
from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.types as pat

_WORD = (1 << 64) - 1


def hash_table(table: pa.Table | pa.RecordBatch) -> int:
    """Return the content hash of the rows as an integer below 2**128; no rows give 0."""
    batches = table.to_batches() if isinstance(table, pa.Table) else [table]
    return combine(_hash_batch(batch) for batch in batches)


def combine(hashes: Iterable[int]) -> int:
    """Return the content hash of all rows together: both 64-bit words are summed without carrying over."""
    high = low = 0
    for value in hashes:
        high += value >> 64
        low += value & _WORD
    return (high & _WORD) << 64 | (low & _WORD)


def to_hex(value: int) -> str:
    """Return a content hash as 32 hex digits."""
    return f"{value:032x}"


def from_hex(value: str) -> int:
    """Return the content hash that 32 hex digits spell."""
    return int(value, 16)


def row_hashes(batch: pa.RecordBatch) -> np.ndarray:
    """Return the 128-bit hash of every row as two columns of uint64, high word first."""
    everything = np.ones(batch.num_rows, np.bool_)
    return _hash_fields(batch.schema.names, batch.columns, everything)


def hash_values(array: pa.Array) -> np.ndarray:
    """Return the 128-bit hash of every value as two columns of uint64; equal values of any width have equal ones."""
    from corpusmill.lake import hash_kernels

    kind = array.type
    valid_N = array.is_valid().to_numpy(zero_copy_only=False)
    hashes_N2 = _zeros(len(array))
    if pat.is_null(kind):
        return hashes_N2
    if isinstance(array, pa.ExtensionArray):
        return hash_values(array.storage)
    if pat.is_dictionary(kind):
        return hash_values(array.dictionary_decode())
    if pat.is_struct(kind):
        names = [field.name for field in kind]
        return _hash_fields(names, [array.field(index) for index in range(kind.num_fields)], valid_N)
    if pat.is_nested(kind):
        offsets_N1, items = _list_parts(array)
        hash_kernels.hash_lists(offsets_N1, hash_values(items), valid_N, not pat.is_map(kind), hashes_N2)
    elif _is_bytes(kind):
        offsets_N1, data = _byte_parts(array)
        hash_kernels.hash_bytes(offsets_N1, data, valid_N, hashes_N2)
    else:
        hash_kernels.hash_words(_words(array), valid_N, hashes_N2)
    return hashes_N2


def _hash_batch(batch: pa.RecordBatch) -> int:
    high, low = row_hashes(batch).sum(axis=0, dtype=np.uint64)
    return int(high) << 64 | int(low)


def _hash_fields(names: list[str], columns: list[pa.Array], valid_N: np.ndarray) -> np.ndarray:
    # Numba is imported on first use: most processes that open a lake never write rows.
    from corpusmill.lake import hash_kernels

    sums_N2 = _zeros(valid_N.size)
    for name, column in zip(names, columns, strict=True):
        hash_kernels.add_named(hash_values(column), *_name_words(name), sums_N2)
    hashes_N2 = _zeros(valid_N.size)
    hash_kernels.finish_rows(sums_N2, valid_N, hashes_N2)
    return hashes_N2


def _list_parts(array: pa.Array) -> tuple[np.ndarray, pa.Array]:
    """Return offsets that start at zero, and the items that they point into."""
    kind = array.type
    if pat.is_fixed_size_list(kind):
        start = array.offset * kind.list_size
        offsets_N1 = np.arange(len(array) + 1, dtype=np.int64) * kind.list_size
        return offsets_N1, array.values.slice(start, len(array) * kind.list_size)
    if not (pat.is_list(kind) or pat.is_large_list(kind) or pat.is_map(kind)):
        raise TypeError(f"the content hash does not know {kind}")
    offsets_N1 = array.offsets.to_numpy().astype(np.int64)
    start, stop = int(offsets_N1[0]), int(offsets_N1[-1])
    if pat.is_map(kind):
        columns = [array.keys.slice(start, stop - start), array.items.slice(start, stop - start)]
        items: pa.Array = pa.StructArray.from_arrays(columns, names=["key", "value"])
    else:
        items = array.values.slice(start, stop - start)
    return offsets_N1 - start, items


def _is_bytes(kind: pa.DataType) -> bool:
    return (
        pat.is_string(kind)
        or pat.is_large_string(kind)
        or pat.is_binary(kind)
        or pat.is_large_binary(kind)
        or pat.is_fixed_size_binary(kind)
        or pat.is_decimal(kind)
        or kind in (pa.string_view(), pa.binary_view())
    )


def _byte_parts(array: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    kind = array.type
    if pat.is_decimal(kind):
        array = array.cast(pa.string())
    if not pat.is_large_string(kind) and not pat.is_large_binary(kind):
        array = array.cast(pa.large_binary())
    _, offsets, data = array.buffers()
    if offsets is None or not len(array):
        return np.zeros(len(array) + 1, np.int64), np.zeros(1, np.uint8)
    offsets_N1 = np.frombuffer(offsets, np.int64, len(array) + 1, array.offset * 8)
    return offsets_N1, np.frombuffer(data, np.uint8) if data and data.size else np.zeros(1, np.uint8)


def _words(array: pa.Array) -> np.ndarray:
    """Return the values of fixed width as uint64: integers by value, floats by the bits of their float64."""
    kind = array.type
    if pat.is_boolean(kind):
        array = array.cast(pa.uint8())
    elif pat.is_float16(kind) or pat.is_float32(kind):
        array = array.cast(pa.float64())
    elif pat.is_temporal(kind):
        array = array.view(pa.int32() if kind.bit_width == 32 else pa.int64())
    elif not (pat.is_integer(kind) or pat.is_float64(kind)):
        raise TypeError(f"the content hash does not know {kind}")
    values = array.fill_null(0).to_numpy(zero_copy_only=False)
    if pat.is_floating(kind):
        values = np.where(np.isnan(values), np.nan, values)
        return values.view(np.uint64)
    return values.astype(np.int64).view(np.uint64) if values.dtype != np.uint64 else values


@functools.cache
def _name_words(name: str) -> tuple[np.uint64, np.uint64]:
    digest = hashlib.sha256(name.encode()).digest()
    return np.uint64(int.from_bytes(digest[:8], "little")), np.uint64(int.from_bytes(digest[8:16], "little"))


def _zeros(num_rows: int) -> np.ndarray:
    return np.zeros((num_rows, 2), np.uint64)
