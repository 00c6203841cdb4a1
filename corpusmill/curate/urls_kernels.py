"""Writing canonical URLs, by a numba kernel over Arrow's offsets and UTF-8 bytes. What is canonical stands in `urls`.

A row gets one of the states below. Rows that need another look (ODD) have a host that is not plain ASCII, or characters
that browsers drop or turn; `urls` cleans those one by one and brings them back.
"""

import numpy as np
from numba import njit

NOT_WEB, CANONICAL, ODD = range(3)
"""No http or https URL with a host; written; to be cleaned first."""

_HEX = b"0123456789ABCDEF"
_UNRESERVED = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
_KEPT = b"!$&'()*+,;=:@/?[]"
"""Reserved characters that stand for themselves in a path or query (RFC 3986, section 2.2)."""
_HOST = b"abcdefghijklmnopqrstuvwxyz0123456789-._"
_SESSION = b";jsessionid="
_START = b"http://"


def character_kinds() -> np.ndarray:
    """Return for each byte: 1 unreserved, 2 kept as it is, 0 to be percent-encoded; and 4 more where a host may have it."""
    kinds = np.zeros(256, np.uint8)
    kinds[list(_UNRESERVED)] = 1
    kinds[list(_KEPT)] = 2
    kinds[list(_HOST)] |= 4
    return kinds


@njit(cache=True, nogil=True)
def write_canonical(data, offsets, is_clean, kinds, names, name_ends, is_prefix, pages, page_ends, out):  # type: ignore[no-untyped-def]
    """Write the canonical URLs one behind the other; return their offsets and the rows' states.

    Rows that are clean are never ODD for what they hold. `out` must hold 3 bytes for each byte of `data` and 16 more a
    row. `names` are the parameters to leave out and `pages` the index pages, each a run of bytes with ends; a name that
    `is_prefix` leaves out all that begin with it.
    """
    num_rows = len(offsets) - 1
    ends = np.zeros(num_rows + 1, np.int64)
    states = np.zeros(num_rows, np.uint8)
    at = 0
    for row in range(num_rows):
        start, end = _trimmed(data, offsets[row], offsets[row + 1])
        begin = at
        state = NOT_WEB
        if not is_clean and _is_odd(data, start, end):
            state = ODD
            start = -1
        else:
            start = _authority(data, start, end)
        if start >= 0:
            state, at, start = _write_host(data, start, end, kinds, out, at)
        if state == CANONICAL:
            at, start = _write_path(data, start, end, kinds, pages, page_ends, out, at)
            at = _write_query(data, start, end, kinds, names, name_ends, is_prefix, out, at)
        else:
            at = begin
        states[row] = state
        ends[row + 1] = at
    return ends, states


@njit(cache=True, nogil=True)
def _trimmed(data, start, end):  # type: ignore[no-untyped-def]
    while start < end and data[start] <= 32:
        start += 1
    while start < end and data[end - 1] <= 32:
        end -= 1
    return start, end


@njit(cache=True, nogil=True)
def _is_odd(data, start, end):  # type: ignore[no-untyped-def]
    """Return whether a URL has tabs, line ends, backslashes before its query, or an IPv6 host."""
    is_path = True
    for at in range(start, end):
        byte = data[at]
        if byte == 63 or byte == 35:
            is_path = False
        if byte == 9 or byte == 10 or byte == 13 or (byte == 92 and is_path):
            return True
        if byte == 91 and at > start and (data[at - 1] == 47 or data[at - 1] == 64) and is_path:
            return True
    return False


@njit(cache=True, nogil=True)
def _authority(data, start, end):  # type: ignore[no-untyped-def]
    """Return where user, host and port begin; -1 where the URL is not of the web."""
    at = start
    for number in range(4):
        if at < end and (data[at] | 32) == _START[number]:
            at += 1
    if at - start == 4:
        if at < end and (data[at] | 32) == 115:
            at += 1
        if at >= end or data[at] != 58:
            return -1
        at += 1
    elif at != start:
        return -1
    is_web = at + 2 < end and data[at] == 47 and data[at + 1] == 47
    return at + 2 if is_web else -1


@njit(cache=True, nogil=True)
def _write_host(data, start, end, kinds, out, at):  # type: ignore[no-untyped-def]
    """Write `http://host[:port]` and return the state, the end of what is written and where the path begins."""
    behind = start
    host = start
    while behind < end and data[behind] != 47 and data[behind] != 63 and data[behind] != 35:
        if data[behind] == 64:
            host = behind + 1
        behind += 1
    last = behind
    if host < behind and data[host] == 91:
        while last > host and data[last - 1] != 93:
            last -= 1
    else:
        last = host
        while last < behind and data[last] != 58:
            last += 1
    given = _port(data, last, behind)
    if given < 0:
        return NOT_WEB, at, behind
    for number in range(len(_START)):
        out[at + number] = _START[number]
    at += len(_START)
    state, written = _write_name(data, host, last, kinds, out, at)
    if state == CANONICAL and given and given != 80 and given != 443:
        written = _write_number(given, out, written)
    return state, written, behind


@njit(cache=True, nogil=True)
def _port(data, start, end):  # type: ignore[no-untyped-def]
    """Return the port of `:123`, 0 where there is none, -1 where it is no port."""
    value = 0
    for at in range(start + 1, end):
        if not 48 <= data[at] <= 57 or value > 65535:
            return -1
        value = value * 10 + data[at] - 48
    if start < end and data[start] != 58:
        return -1
    return value if value <= 65535 else -1


@njit(cache=True, nogil=True)
def _write_number(value, out, at):  # type: ignore[no-untyped-def]
    out[at] = 58
    size = 1
    limit = 10
    while limit <= value:
        limit *= 10
        size += 1
    for place in range(size):
        out[at + size - place] = 48 + value % 10
        value //= 10
    return at + size + 1


@njit(cache=True, nogil=True)
def _write_name(data, start, end, kinds, out, at):  # type: ignore[no-untyped-def]
    """Write a host: lower case, without the dots behind it and the `www` label in front of it."""
    if start < end and data[start] == 91:
        return _write_literal(data, start, end, out, at)
    while end > start and data[end - 1] == 46:
        end -= 1
    for place in range(start, end):
        byte = data[place]
        if byte >= 128 or byte == 37:
            return ODD, at
        lower = byte | 32 if 65 <= byte <= 90 else byte
        if kinds[lower] & 4 == 0 or (byte == 46 and (place == start or data[place - 1] == 46)):
            return NOT_WEB, at
    start = _behind_www(data, start, end)
    for place in range(start, end):
        byte = data[place]
        out[at] = byte | 32 if 65 <= byte <= 90 else byte
        at += 1
    return (CANONICAL if start < end else NOT_WEB), at


@njit(cache=True, nogil=True)
def _write_literal(data, start, end, out, at):  # type: ignore[no-untyped-def]
    """Write an IPv6 host, which `urls` has brought into its one form."""
    for place in range(start, end):
        byte = data[place]
        if byte != 91 and byte != 93 and byte != 58 and byte != 46 and not 48 <= byte <= 57 and not 97 <= byte <= 102:
            return NOT_WEB, at
        out[at] = byte
        at += 1
    return (CANONICAL if end - start > 3 else NOT_WEB), at


@njit(cache=True, nogil=True)
def _behind_www(data, start, end):  # type: ignore[no-untyped-def]
    """Return where the host begins behind every `www.` or `www3.` that leaves a name with a dot."""
    while True:
        at = start
        while at < end and at < start + 3 and (data[at] | 32) == 119:
            at += 1
        if at != start + 3:
            return start
        while at < end and 48 <= data[at] <= 57:
            at += 1
        if at >= end or data[at] != 46:
            return start
        behind = at + 1
        while behind < end and data[behind] != 46:
            behind += 1
        if behind >= end:
            return start
        start = at + 1


@njit(cache=True, nogil=True)
def _write_path(data, start, end, kinds, pages, page_ends, out, at):  # type: ignore[no-untyped-def]
    """Write the path without dot segments, session, index page and slash behind it; return both ends."""
    behind = start
    while behind < end and data[behind] != 63 and data[behind] != 35:
        behind += 1
    path = at
    out[at] = 47
    at = _write_encoded(data, start + 1, behind, kinds, out, at + 1) if start < behind else at + 1
    at = _cut_session(out, path, at)
    at = _remove_dots(out, path, at)
    before = at + 1
    while at < before:
        before = at
        at = _cut_page(out, path, at, pages, page_ends)
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
def _cut_page(out, start, end, pages, page_ends):  # type: ignore[no-untyped-def]
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
def _write_query(data, start, end, kinds, names, name_ends, is_prefix, out, at):  # type: ignore[no-untyped-def]
    """Write the parameters that stay, sorted by their bytes, behind a `?`; nothing where none does."""
    if start >= end or data[start] != 63:
        return at
    behind = start
    while behind < end and data[behind] != 35:
        behind += 1
    scratch = np.empty(3 * (behind - start), np.uint8)
    size = _write_encoded(data, start + 1, behind, kinds, scratch, 0)
    starts = np.empty(size + 1, np.int64)
    stops = np.empty(size + 1, np.int64)
    count = 0
    first = 0
    for place in range(size + 1):
        if place < size and scratch[place] != 38:
            continue
        if place > first and not _is_left_out(scratch, first, place, names, name_ends, is_prefix):
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
def _is_left_out(query, start, end, names, name_ends, is_prefix):  # type: ignore[no-untyped-def]
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
