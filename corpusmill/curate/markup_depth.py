"""How deeply an HTML page nests and how many tags it has, in one pass: what a parser will have to bear."""

import numba
import numpy as np

_VOID = "area base br col embed hr img input link meta param source track wbr"
_CLOSED_BY_HTML = "p li dt dd td th tr thead tbody tfoot colgroup option optgroup rt rp html head body"
_IGNORED = f"{_VOID} {_CLOSED_BY_HTML}"
"""Void elements, and those that HTML closes by itself: unclosed ones are siblings, however many there are."""

_MAX_NAME = 10


def measure_markup(data: bytes) -> tuple[int, int]:
    """Return (nominal depth, number of tags). Depth counts opened minus closed elements at its highest point."""
    depth, tags = _measure(np.frombuffer(data, np.uint8), _IGNORED_HASHES)
    return int(depth), int(tags)


def _name_hash(name: str) -> int:
    value = 0
    for byte in name.encode():
        value = (value * 131 + byte) & 0xFFFFFFFFFFFF
    return value


_IGNORED_HASHES = np.array(sorted(_name_hash(name) for name in _IGNORED.split()), np.int64)


@numba.njit(cache=True)
def _measure(data: np.ndarray, ignored: np.ndarray) -> tuple[int, int]:
    depth = highest = tags = 0
    position = 0
    last = data.size - 1
    while position < last:
        if data[position] != 60:  # <
            position += 1
            continue
        position += 1
        is_end = data[position] == 47  # /
        if is_end:
            position += 1
        value = 0
        length = 0
        while position < data.size and length <= _MAX_NAME:
            byte = data[position] | 32
            is_letter = 97 <= byte <= 122
            if not is_letter and not (length > 0 and 48 <= data[position] <= 57):
                break
            value = (value * 131 + byte) & 0xFFFFFFFFFFFF
            length += 1
            position += 1
        if length == 0:
            continue
        tags += 1
        index = np.searchsorted(ignored, value)
        if index < ignored.size and ignored[index] == value:
            continue
        if is_end:
            depth = max(0, depth - 1)
        else:
            depth += 1
            highest = max(highest, depth)
    return highest, tags
