"""Writing the path and the query of canonical URLs, by numba kernels. What is canonical stands in `urls`.

`rules` is (kinds, names, name_ends, is_prefix, pages, page_ends): the kind of each byte, the parameters to leave out and
the index pages, each a run of bytes with ends; a name that `is_prefix` leaves out all that begin with it.
"""

import numpy as np
from numba import njit

_HEX = b"0123456789ABCDEF"
_SESSION = b";jsessionid="


@njit(cache=True, nogil=True)
def write_path(data, start, end, rules, out, at):  # type: ignore[no-untyped-def]
    """Write the path without dot segments, session, index page and slash behind it; return both ends."""
    behind = start
    while behind < end and data[behind] != 63 and data[behind] != 35:
        behind += 1
    path = at
    out[at] = 47
    at = _write_encoded(data, start + 1, behind, rules[0], out, at + 1) if start < behind else at + 1
    at = _cut_session(out, path, at)
    at = _remove_dots(out, path, at)
    before = at + 1
    while at < before:
        before = at
        at = _cut_page(out, path, at, rules)
        while at > path + 1 and out[at - 1] == 47:
            at -= 1
    return at, behind


@njit(cache=True, nogil=True)
def _write_encoded(data, start, end, kinds, out, at):  # type: ignore[no-untyped-def]
    """Write bytes in normal percent-encoding: `%7e` is ~, `%3a` is %3A, a % that encodes nothing is %25, a blank %20."""
    place = start
    while place < end:
        byte = data[place]
        place += 1
        if byte == 37:
            value = _hex(data, place, end)
            if value >= 0:
                place += 2
                byte = np.uint8(value)
                kind = kinds[byte] & 1
            else:
                kind = np.uint8(0)
        else:
            kind = kinds[byte] & 3
        if kind:
            out[at] = byte
            at += 1
        else:
            out[at] = 37
            out[at + 1] = _HEX[byte >> 4]
            out[at + 2] = _HEX[byte & 15]
            at += 3
    return at


@njit(cache=True, nogil=True)
def _hex(data, at, end):  # type: ignore[no-untyped-def]
    """Return the value of two hexadecimal digits, -1 where there are none."""
    value = 0
    if at + 2 > end:
        return -1
    for place in range(at, at + 2):
        byte = data[place]
        if 48 <= byte <= 57:
            value = value * 16 + byte - 48
        elif 97 <= (byte | 32) <= 102:
            value = value * 16 + (byte | 32) - 87
        else:
            return -1
    return value


@njit(cache=True, nogil=True)
def _cut_session(out, start, end):  # type: ignore[no-untyped-def]
    """Return the path's end without `;jsessionid=...`, which servers append to its last segment."""
    for at in range(start, end - len(_SESSION)):
        number = 0
        while number < len(_SESSION) and (out[at + number] | 32) == (_SESSION[number] | 32):
            number += 1
        if number == len(_SESSION):
            return at
    return end


@njit(cache=True, nogil=True)
def _remove_dots(out, start, end):  # type: ignore[no-untyped-def]
    """Take `.` and `..` segments out of the path `out[start:end]` (RFC 3986, section 5.2.4); return its new end."""
    at = start
    place = start
    while place < end:
        behind = place + 1
        while behind < end and out[behind] != 47:
            behind += 1
        length = behind - place
        is_dot = length == 2 and out[place + 1] == 46
        is_up = length == 3 and out[place + 1] == 46 and out[place + 2] == 46
        if is_up:
            while at > start:
                at -= 1
                if out[at] == 47:
                    break
        elif not is_dot:
            for number in range(length):
                out[at + number] = out[place + number]
            at += length
        place = behind
    if at == start:
        out[at] = 47
        at += 1
    return at


@njit(cache=True, nogil=True)
def _cut_page(out, start, end, rules):  # type: ignore[no-untyped-def]
    pages, page_ends = rules[4], rules[5]
    last = end
    while last > start and out[last - 1] != 47:
        last -= 1
    first = 0
    for page in range(len(page_ends)):
        if _is_equal(out, last, end, pages, first, page_ends[page]):
            return last
        first = page_ends[page]
    return end


@njit(cache=True, nogil=True)
def _is_equal(left, start, end, right, first, last):  # type: ignore[no-untyped-def]
    """Return whether two runs of bytes are equal, the left one in lower case."""
    if end - start != last - first:
        return False
    for number in range(end - start):
        byte = left[start + number]
        if (byte | 32 if 65 <= byte <= 90 else byte) != right[first + number]:
            return False
    return True


@njit(cache=True, nogil=True)
def write_query(data, start, end, rules, out, at):  # type: ignore[no-untyped-def]
    """Write the parameters that stay, sorted by their bytes, behind a `?`; nothing where none does."""
    if start >= end or data[start] != 63:
        return at
    behind = start
    while behind < end and data[behind] != 35:
        behind += 1
    scratch = np.empty(3 * (behind - start), np.uint8)
    size = _write_encoded(data, start + 1, behind, rules[0], scratch, 0)
    starts = np.empty(size + 1, np.int64)
    stops = np.empty(size + 1, np.int64)
    count = 0
    first = 0
    for place in range(size + 1):
        if place < size and scratch[place] != 38:
            continue
        if place > first and not _is_left_out(scratch, first, place, rules):
            starts[count] = first
            stops[count] = place
            count += 1
        first = place + 1
    _sort(scratch, starts, stops, count)
    for number in range(count):
        out[at] = 38 if number else 63
        at += 1
        for place in range(starts[number], stops[number]):
            out[at] = scratch[place]
            at += 1
    return at


@njit(cache=True, nogil=True)
def _is_left_out(query, start, end, rules):  # type: ignore[no-untyped-def]
    names, name_ends, is_prefix = rules[1], rules[2], rules[3]
    stop = start
    while stop < end and query[stop] != 61:
        stop += 1
    first = 0
    for name in range(len(name_ends)):
        length = name_ends[name] - first
        cut = min(stop, start + length) if is_prefix[name] else stop
        if _is_equal(query, start, cut, names, first, name_ends[name]):
            return True
        first = name_ends[name]
    return False


@njit(cache=True, nogil=True)
def _sort(data, starts, stops, count):  # type: ignore[no-untyped-def]
    """Sort runs of bytes by heap sort, as a URL of 100 kB may have 50,000 of them."""
    for root in range(count // 2 - 1, -1, -1):
        _sift(data, starts, stops, root, count)
    for last in range(count - 1, 0, -1):
        starts[0], starts[last] = starts[last], starts[0]
        stops[0], stops[last] = stops[last], stops[0]
        _sift(data, starts, stops, 0, last)


@njit(cache=True, nogil=True)
def _sift(data, starts, stops, root, count):  # type: ignore[no-untyped-def]
    while 2 * root + 1 < count:
        child = 2 * root + 1
        if child + 1 < count and _is_less(data, starts, stops, child, child + 1):
            child += 1
        if not _is_less(data, starts, stops, root, child):
            return
        starts[root], starts[child] = starts[child], starts[root]
        stops[root], stops[child] = stops[child], stops[root]
        root = child


@njit(cache=True, nogil=True)
def _is_less(data, starts, stops, one, other):  # type: ignore[no-untyped-def]
    length = min(stops[one] - starts[one], stops[other] - starts[other])
    for number in range(length):
        left, right = data[starts[one] + number], data[starts[other] + number]
        if left != right:
            return left < right
    return stops[one] - starts[one] < stops[other] - starts[other]
