"""The validation split: documents that no model trains on, chosen by the hash of their text before anything is removed.

A text is on one side whatever its source, snapshot or id, so exact copies are never parted, and the same share is taken
of every source. A document whose text changes may change sides.
"""

import pyarrow as pa
import pyarrow.compute as pc

_FIRST, _LAST = 16, 29
"""The hex digits of a text hash that decide: 13 of them, 52 bits."""

MAX_SHARE = 0.5


def check_share(share: float) -> None:
    """Raise ValueError for a share that leaves too little to train on."""
    if not 0 <= share <= MAX_SHARE:
        raise ValueError(f"validation_share must lie in [0, {MAX_SHARE}], got {share}")


def is_validation(text_hashes: pa.ChunkedArray | pa.Array, share: float) -> pa.ChunkedArray | pa.Array:
    """Return which documents belong to the validation split; one without a text (a null or empty hash) does not.

    Hex digits of equal number sort as the numbers do: with a share of .25, a hash whose digits begin with 3f is below
    4000000000000 and belongs to the split, one that begins with 40 does not.
    """
    check_share(share)
    bound = f"{int(share * 16 ** (_LAST - _FIRST)):0{_LAST - _FIRST}x}"
    digits = pc.utf8_slice_codeunits(text_hashes, _FIRST, _LAST)
    is_below = pc.and_(pc.less(digits, bound), pc.not_equal(digits, ""))
    return pc.fill_null(is_below, False)
