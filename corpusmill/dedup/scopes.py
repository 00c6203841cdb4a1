"""Where duplicates are looked for: among all documents, or only among those of one snapshot or of one source.

Documents of different scopes are kept apart by what is compared first: their text hashes get the scope's name at the
end, their minima and sample keys are crossed with its hash. So no bucket grows by documents of another scope.
"""

import hashlib

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

SCOPES = ("all", "snapshot", "source")


def scope_columns(scope: str) -> tuple[str, ...]:
    """Return the columns of a signatures table that name a document's scope."""
    return () if scope == "all" else (scope,)


def within_scope(signatures: pa.Table, scope: str) -> pa.Table:
    """Return `signatures` such that what is equal in two rows is equal only where both are of one scope.

    Rows without a text or without a signature have none afterwards either.
    """
    if scope == "all":
        return signatures
    if scope not in signatures.column_names:
        raise ValueError(
            f"scope {scope!r} needs the column {scope}, which the signatures lack; make them again with it"
        )
    names = pc.fill_null(signatures[scope].cast(pa.string()), "").combine_chunks().dictionary_encode()
    salts = np.array([_salt(name) for name in names.dictionary.to_pylist()], np.uint32)
    salt_N = salts[names.indices.to_numpy()] if len(names) else np.empty(0, np.uint32)
    changed: dict[str, pa.Array] = {}
    if "text_hash" in signatures.column_names:
        changed["text_hash"] = _apart(signatures["text_hash"], names)
    if "signature" in signatures.column_names:
        changed["signature"] = _crossed(signatures["signature"], salt_N)
    if "sample_key" in signatures.column_names:
        changed["sample_key"] = _crossed_keys(signatures["sample_key"].combine_chunks(), salt_N)
    for name, column in changed.items():
        signatures = signatures.set_column(signatures.schema.get_field_index(name), name, column)
    return signatures


def _salt(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "little")


def _apart(text_hashes: pa.ChunkedArray, names: pa.DictionaryArray) -> pa.ChunkedArray:
    apart = pc.binary_join_element_wise(text_hashes.cast(pa.string()), names.cast(pa.string()), "/")
    return pc.if_else(pc.equal(text_hashes, ""), text_hashes, apart)


def _crossed_keys(keys: pa.Array, salt_N: np.ndarray) -> pa.Array:
    crossed = keys.fill_null(0).to_numpy() ^ (salt_N.astype(np.int64) * 0x100000001)
    return pa.array(crossed, pa.int64(), mask=keys.is_null().to_numpy(zero_copy_only=False))


def _crossed(signatures: pa.ChunkedArray, salt_N: np.ndarray) -> pa.Array:
    """Return the signatures with every minimum crossed (exclusive or) with the salt of its row."""
    array = signatures.cast(pa.binary()).combine_chunks()
    offsets = np.frombuffer(array.buffers()[1], np.int32)[array.offset : array.offset + len(array) + 1]
    data = np.frombuffer(array.buffers()[2] or b"", "<u4")[offsets[0] // 4 : offsets[-1] // 4]
    crossed = data ^ np.repeat(salt_N, np.diff(offsets) // 4)
    moved = pa.py_buffer(np.ascontiguousarray(offsets - offsets[0]))
    validity = pc.is_valid(array).buffers()[1] if array.null_count else None
    return pa.Array.from_buffers(pa.binary(), len(array), [validity, moved, pa.py_buffer(crossed.tobytes())])
