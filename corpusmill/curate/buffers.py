"""Arrow text columns as numpy arrays of offsets and bytes, without a copy where Arrow already has them in one piece."""

import numpy as np
import pyarrow as pa


def text_buffers(column: pa.ChunkedArray | pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Return (bytes, offsets) of a text column; text i is `bytes[offsets[i]:offsets[i + 1]]`, a null is empty.

    Offsets are int64. For ["ab", null, "c"]: bytes "abc", offsets [0, 2, 2, 3].
    """
    array = _one_piece(column) if isinstance(column, pa.ChunkedArray) else column
    if not pa.types.is_large_string(array.type):
        array = array.cast(pa.large_string())
    if array.null_count:
        array = array.fill_null("")
    _, offset_buffer, data_buffer = array.buffers()
    offsets = np.frombuffer(offset_buffer, np.int64, len(array) + 1, array.offset * 8) if offset_buffer else np.zeros(1)
    data = np.frombuffer(data_buffer, np.uint8) if data_buffer else np.zeros(0, np.uint8)
    return data, offsets.astype(np.int64, copy=False)


def _one_piece(column: pa.ChunkedArray) -> pa.Array:
    """Return the column as one array; `combine_chunks` would copy a single piece too."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
