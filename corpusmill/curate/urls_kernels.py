"""Writing canonical URLs, by a numba kernel over Arrow's offsets and UTF-8 bytes. What is canonical stands in `urls`.

A row gets one of the states below. Rows that need another look (ODD) have a host that is not plain ASCII, or characters
that browsers drop or turn; `urls` cleans those one by one and brings them back.
"""

import numpy as np
from numba import njit

from corpusmill.curate.urls_path_kernels import write_path, write_query

NOT_WEB, CANONICAL, ODD = range(3)
"""No http or https URL with a host; written; to be cleaned first."""

_UNRESERVED = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
_KEPT = b"!$&'()*+,;=:@/?[]"
"""Reserved characters that stand for themselves in a path or query (RFC 3986, section 2.2)."""
_HOST = b"abcdefghijklmnopqrstuvwxyz0123456789-._"
_START = b"http://"


def character_kinds() -> np.ndarray:
    """Return for each byte: 1 unreserved, 2 kept as it is, 0 to be percent-encoded; and 4 more where a host may have it."""
    kinds = np.zeros(256, np.uint8)
    kinds[list(_UNRESERVED)] = 1
    kinds[list(_KEPT)] = 2
    kinds[list(_HOST)] |= 4
    return kinds


@njit(cache=True, nogil=True)
def write_canonical(data, offsets, is_clean, rules, out):  # type: ignore[no-untyped-def]
    """Write the canonical URLs one behind the other; return their offsets and the rows' states.

    Rows that are clean are never ODD for what they hold. `out` must hold 3 bytes for each byte of `data` and 16 more a
    row. `rules` are those of `urls_path_kernels`.
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
            state, at, start = _write_host(data, start, end, rules[0], out, at)
        if state == CANONICAL:
            at, start = write_path(data, start, end, rules, out, at)
            at = write_query(data, start, end, rules, out, at)
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
