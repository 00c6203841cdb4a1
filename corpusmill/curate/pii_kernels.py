"""Where personal data can stand: one numba pass over Arrow's bytes that names the few places worth a closer look.

A candidate is a stretch of bytes with the class of look that it needs; the modules beside this one take that look in Python.
Linear whatever the text holds: every byte belongs to one run of letters and digits, one stretch of numbers and at most one
assigned value, and each of these is passed once. A stretch of more than `_MAX_STRETCH` bytes is a table of numbers, where
only cards (by their check digit) and numbers with two hyphens or full stops are candidates.

All kernels are in this file because numba's cache notices a change only in the file that it compiles.
"""

import numba
import numpy as np

EMAIL, IPV4, IPV6, NUMBER, TOKEN, KEY, ASSIGNED, PRIVATE_KEY = range(8)
"""Classes of candidates. `1 << class` in `wanted` asks for one."""
ROW, START, END, CHARACTER, CLASS = range(5)
"""Columns of the result: row, span in bytes of the data, start in characters of the row's text, class."""

_PLAIN, _DIGIT, _AT, _COLON, _EQUALS, _QUOTE, _HYPHEN = range(7)
_MAX_STRETCH = 64
_MIN_DIGITS = 7
_MIN_ROOM, _BYTES_PER_CANDIDATE = 1024, 512  # web text has one in 7,000 bytes
_LOCAL_BYTES, _LABEL_BYTES, _DOMAIN_BYTES = 64, 63, 255  # RFC 5321, section 4.5.3.1; RFC 1035, section 2.3.4
_IPV6_BYTES = 39
_MIN_SECRET, _MAX_SECRET = 8, 512
_MIN_KEY = 20
_MAX_BEFORE_DIGIT = 40  # one key in 560 has no digit in its first 40 characters: (52 / 62) ** 36 behind the prefix
_KEY_BLOCK_BYTES = 32_768  # an RSA key of 16,384 bits takes 13,000


def _is_one_of(characters: str) -> np.ndarray:
    table = np.zeros(256, np.bool_)
    table[[ord(character) for character in characters]] = True
    return table


_DIGITS = "0123456789"
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_IS_WORD = _is_one_of(_LETTERS + _DIGITS + "_")
_IS_LETTER = _is_one_of(_LETTERS)
_IS_LOCAL = _is_one_of(_LETTERS + _DIGITS + "._%+-")
_IS_LABEL = _is_one_of(_LETTERS + _DIGITS + "-")
_IS_HEX_OR_COLON = _is_one_of(_DIGITS + "abcdefABCDEF:")
_IS_KEY = _is_one_of(_LETTERS + _DIGITS + "_-.")
_IS_SECRET = _is_one_of(_LETTERS + _DIGITS + "_-.+/=~!@#$%^&*?")
_IS_BASE64 = _is_one_of(_LETTERS + _DIGITS + "+/=\r\n\\")


_KEY_STARTS = np.array(
    sorted(
        int.from_bytes(start.encode(), "little")
        for start in (
            *("AKIA", "ASIA", "AIza", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "gith", "glpa", "npm_"),
            *("xoxa", "xoxb", "xoxe", "xoxp", "xoxr", "xoxs", "sk_l", "sk_t", "rk_l", "rk_t", "eyJh", "eyJ0", "eyJr"),
        )
    ),
    np.uint32,
)
_BEGIN = np.frombuffer(b"-----BEGIN ", np.uint8)
_END_LINE = np.frombuffer(b"-----END ", np.uint8)
_PRIVATE = np.frombuffer(b"PRIVATE KEY", np.uint8)


def find_candidates(data: np.ndarray, offsets: np.ndarray, wanted: int) -> np.ndarray:
    """Return a row of int64 per candidate, in the order of the texts; see ROW to CLASS.

    Text i is `data[offsets[i]:offsets[i + 1]]`, valid UTF-8. Where there are more candidates than texts ever have, the pass
    is made again with room for them.
    """
    found = np.empty((_MIN_ROOM + data.size // _BYTES_PER_CANDIDATE, 5), np.int64)
    count = _fill(data, offsets, wanted, found)
    if count > len(found):
        found = np.empty((count, 5), np.int64)
        _fill(data, offsets, wanted, found)
    return found[:count]


@numba.njit(cache=True)
def _fill(data, offsets, wanted, found):  # type: ignore[no-untyped-def]
    """Write candidates while there is room and return how many there are."""
    kinds = _byte_kinds(wanted)
    count = 0
    for row in range(offsets.size - 1):
        first = count
        begin = offsets[row]
        text = data[begin : offsets[row + 1]]
        count = _scan(text, kinds, wanted, found, count)
        last = min(count, found.shape[0])
        _number_characters(text, found, first, last)
        for index in range(first, last):
            found[index, ROW] = row
            found[index, START] += begin
            found[index, END] += begin
    return count


@numba.njit(cache=True)
def _number_characters(text, found, first, last):  # type: ignore[no-untyped-def]
    """Fill in the column of characters from the starts in bytes, which may step back a little."""
    position = 0
    characters = 0
    for index in range(first, last):
        start = found[index, START]
        if start < position:
            characters -= _count(text, start, position)
        else:
            characters += _count(text, position, start)
        position = start
        found[index, CHARACTER] = characters


@numba.njit(cache=True)
def _count(text, start, end):  # type: ignore[no-untyped-def]
    count = 0
    for byte in text[start:end]:
        count += byte & 0xC0 != 0x80
    return count


@numba.njit(cache=True)
def _add(found, count, start, end, look):  # type: ignore[no-untyped-def]
    if count < found.shape[0]:
        found[count, START] = start
        found[count, END] = end
        found[count, CLASS] = look
    return count + 1


@numba.njit(cache=True)
def _byte_kinds(wanted):  # type: ignore[no-untyped-def]
    """Return what each byte begins; letters begin nothing, which lets most of a text pass at a byte a nanosecond."""
    kinds = np.full(256, _PLAIN, np.uint8)
    if wanted & (1 << IPV4 | 1 << NUMBER | 1 << TOKEN | 1 << KEY):
        kinds[48:58] = _DIGIT
    if wanted >> EMAIL & 1:
        kinds[64] = _AT
    if wanted >> IPV6 & 1:
        kinds[58] = _COLON
    if wanted >> PRIVATE_KEY & 1:
        kinds[45] = _HYPHEN
    if wanted >> ASSIGNED & 1:
        kinds[34] = kinds[39] = _QUOTE
        kinds[61] = _EQUALS
    return kinds


@numba.njit(cache=True)
def _scan(text, kinds, wanted, found, count):  # type: ignore[no-untyped-def]
    size = text.size
    position = 0
    numbers_done = 0
    looks_done = 0
    colons_done = 0
    values_done = 0
    end_line = -1
    while True:
        position = _skip_plain(text, kinds, position)
        if position == size:
            return count
        kind = kinds[text[position]]
        if kind == _DIGIT:
            start, end, digits, underscores = _run(text, position)
            if wanted >> KEY & 1 and start >= looks_done:
                key_start = _key_start(text, start, looks_done)
                if key_start >= 0:
                    looks_done = _key_end(text, end)
                    if looks_done - key_start >= _MIN_KEY:
                        count = _add(found, count, key_start, looks_done, KEY)
            if not underscores:
                if wanted >> TOKEN & 1 and _is_token(text, start, end, digits):
                    count = _add(found, count, start, end, TOKEN)
                if start == position:
                    count, numbers_done = _look_at_number(text, start, end, numbers_done, wanted, found, count)
            position = end
            continue
        if kind == _AT:
            start, end = _email(text, position)
            if end:
                count = _add(found, count, start, end, EMAIL)
        elif kind == _COLON:
            if position >= colons_done:
                start, end, colons_done = _ipv6(text, position)
                if end:
                    count = _add(found, count, start, end, IPV6)
        elif kind == _HYPHEN:
            if _is_at(text, position, _BEGIN) and _names_private_key(text, position):
                if end_line < position:
                    end_line = _next(text, position, _END_LINE)
                end = _block_end(text, position, end_line)
                count = _add(found, count, position, end, PRIVATE_KEY)
                position = end
                continue
        elif position >= values_done:
            start, end, values_done = _assigned(text, position, kind)
            if end:
                count = _add(found, count, start, end, ASSIGNED)
        position += 1


@numba.njit(cache=True)
def _skip_plain(text, kinds, position):  # type: ignore[no-untyped-def]
    while position < text.size and kinds[text[position]] == _PLAIN:
        position += 1
    return position


@numba.njit(cache=True)
def _run(text, position):  # type: ignore[no-untyped-def]
    """Return (start, end, digits, underscores) of the run of word bytes around its first digit, at `position`."""
    underscores = 0
    start = position
    while start > 0 and _IS_WORD[text[start - 1]]:
        start -= 1
        underscores += text[start] == 95
    digits = 0
    end = position
    while end < text.size and _IS_WORD[text[end]]:
        digits += text[end] < 58
        underscores += text[end] == 95
        end += 1
    return start, end, digits, underscores


@numba.njit(cache=True)
def _is_digit(byte):  # type: ignore[no-untyped-def]
    return 48 <= byte < 58


@numba.njit(cache=True)
def _look_at_number(text, position, end, numbers_done, wanted, found, count):  # type: ignore[no-untyped-def]
    """Add what begins at a digit: an IPv4 address, and the stretch of numbers that nobody has passed yet."""
    if wanted >> IPV4 & 1 and end < text.size and text[end] == 46:
        address_end = _ipv4_end(text, position)
        if address_end:
            count = _add(found, count, position, address_end, IPV4)
    if not wanted >> NUMBER & 1 or position < numbers_done:
        return count, numbers_done
    stop, digits = _stretch(text, position)
    if stop - position > _MAX_STRETCH:
        count = _pieces(text, position, stop, found, count)
    elif digits >= _MIN_DIGITS or (digits == 6 and _ends_like_nino(text, position, stop)):
        start = position
        while start > 0 and position - start < 2 and (text[start - 1] == 40 or text[start - 1] == 43):
            start -= 1
        count = _add(found, count, start, stop, NUMBER)
    return count, stop


@numba.njit(cache=True)
def _stretch(text, position):  # type: ignore[no-untyped-def]
    """Return (end, digits) of numbers with at most two separators between them: a space (plain or U+00A0), `. - / ( )`."""
    digits = 0
    gap = 0
    end = position
    while position < text.size:
        byte = text[position]
        if _is_digit(byte):
            digits += 1
            gap = 0
            end = position + 1
        elif byte == 0xC2 and position + 1 < text.size and text[position + 1] == 0xA0:
            gap += 1
            position += 1
        elif byte == 32 or 45 <= byte <= 47 or byte == 40 or byte == 41:
            gap += 1 if byte != 32 or text[position - 1] != 32 else 3
        else:
            break
        if gap > 2:
            break
        position += 1
    return end, digits


@numba.njit(cache=True)
def _ends_like_nino(text, start, end):  # type: ignore[no-untyped-def]
    """Return whether six digits stand between a capital and A to D, each after a space or none."""
    before = start - 2 if start > 1 and text[start - 1] == 32 else start - 1
    after = end + 1 if end < text.size and text[end] == 32 else end
    return before >= 0 and 65 <= text[before] < 91 and after < text.size and 65 <= text[after] < 69


@numba.njit(cache=True)
def _pieces(text, start, stop, found, count):  # type: ignore[no-untyped-def]
    """Add the parts between spaces that look like a phone number (`555-123-4567`) or pass as a card (Luhn's check digit)."""
    position = start
    while position < stop:
        end = position
        digits = 0
        while end < stop and text[end] != 32 and text[end] != 0xC2:
            digits += _is_digit(text[end])
            end += 1
        separators = end - position - digits
        is_card = separators == 0 and 12 <= digits <= 19 and _is_luhn(text[position:end])
        if is_card or (separators > 1 and 9 <= digits <= 19 and _is_digit(text[end - 1])):
            count = _add(found, count, position, end, NUMBER)
        position = max(end, position) + 1
    return count


@numba.njit(cache=True)
def _is_luhn(digits):  # type: ignore[no-untyped-def]
    total = np.int64(0)
    for index in range(digits.size):
        value = np.int64(digits[digits.size - 1 - index]) - 48
        total += value if index % 2 == 0 else 2 * value - 9 * (value > 4)
    return total % 10 == 0


@numba.njit(cache=True)
def _ipv4_end(text, position):  # type: ignore[no-untyped-def]
    """Return the end of four numbers up to 255 with full stops that no other number or word touches, or 0."""
    if position > 0 and text[position - 1] == 46:
        return 0
    for part in range(4):
        value = 0
        first = position
        while position < text.size and _is_digit(text[position]) and position - first < 4:
            value = value * 10 + text[position] - 48
            position += 1
        if position == first or position - first > 3 or value > 255:
            return 0
        if part < 3:
            if position == text.size or text[position] != 46:
                return 0
            position += 1
    is_touched = position < text.size and _IS_WORD[text[position]]
    goes_on = position + 1 < text.size and text[position] == 46 and _is_digit(text[position + 1])
    return 0 if is_touched or goes_on else position


@numba.njit(cache=True)
def _ipv6(text, position):  # type: ignore[no-untyped-def]
    """Return (start, end, position up to which all was seen); end is 0 where no address of 2000::/3 can stand.

    Registries give out 2000::/3 only, so the first group has four digits and begins with 2 or 3: `a::b` and `12:30:45` end
    here.
    """
    start = position
    while start > 0 and position - start < 5 and _IS_HEX_OR_COLON[text[start - 1]] and text[start - 1] != 58:
        start -= 1
    end = position
    while end < text.size and _IS_HEX_OR_COLON[text[end]]:
        end += 1
    has_group = position - start == 4 and (text[start] == 50 or text[start] == 51)
    is_touched = (start > 0 and _IS_WORD[text[start - 1]]) or (end < text.size and _IS_WORD[text[end]])
    if not has_group or is_touched or end - start > _IPV6_BYTES + 1:
        return 0, 0, end
    return start, end, end


@numba.njit(cache=True)
def _email(text, at):  # type: ignore[no-untyped-def]
    """Return the span of the address around an `@`; (0, 0) where there is none.

    `a.b@c.org.` gives `a.b@c.org`: the local part begins with a letter or digit, the domain ends with a label of letters.
    """
    start = at
    while start > 0 and at - start <= _LOCAL_BYTES and _IS_LOCAL[text[start - 1]]:
        start -= 1
    if at - start > _LOCAL_BYTES or start == at or text[at - 1] == 46:
        return 0, 0
    while start < at and (not _IS_WORD[text[start]] or text[start] == 95):
        start += 1
    end = _domain_end(text, at + 1)
    return (start, end) if start < at and end else (0, 0)


@numba.njit(cache=True)
def _domain_end(text, start):  # type: ignore[no-untyped-def]
    """Return the end of the domain name at `start` with at least two labels, the last of 2 or more letters, or 0."""
    end = 0
    position = start
    while position < text.size and position - start <= _DOMAIN_BYTES:
        first = position
        letters = 0
        while position < text.size and _IS_LABEL[text[position]] and position - first <= _LABEL_BYTES:
            letters += _IS_LETTER[text[position]]
            position += 1
        length = position - first
        if length == 0 or length > _LABEL_BYTES or text[first] == 45 or text[position - 1] == 45:
            break
        is_touched = position < text.size and text[position] == 95
        if first > start and letters == length and length >= 2 and not is_touched:
            end = position
        if position == text.size or text[position] != 46:
            break
        position += 1
    return end


@numba.njit(cache=True)
def _is_token(text, start, end, digits):  # type: ignore[no-untyped-def]
    """Return whether a run of letters and digits has the form of a bank account, a person's number or a coin address."""
    length = end - start
    begins_with_letter = _IS_LETTER[text[start]]
    if length == 4 and digits == 2 and begins_with_letter and _IS_LETTER[text[start + 1]]:
        return end + 4 < text.size and text[end] == 32 and _IS_WORD[text[end + 1]]
    if length == 9:
        return digits >= 6 and 65 <= text[end - 1] < 91
    if length < 15 or digits == length:
        return False
    is_account = begins_with_letter and _IS_LETTER[text[start + 1]]
    is_account = is_account and _is_digit(text[start + 2]) and _is_digit(text[start + 3])
    is_number = (length == 15 and digits >= 13) or (length == 16 and _IS_LETTER[text[end - 1]] and begins_with_letter)
    is_coin = 25 <= length <= 90 and (text[start] == 49 or text[start] == 51)
    is_coin = is_coin or (length >= 42 and length <= 90 and (text[start] == 98 or text[start] == 66))
    return (is_account and length <= 34) or is_number or is_coin


@numba.njit(cache=True)
def _key_start(text, run, limit):  # type: ignore[no-untyped-def]
    """Return where the key that a run belongs to begins, or -1; hyphens may part it, as in `xoxb-12` and `AIzaSy-1`."""
    start = run
    limit = max(limit, run - _MAX_BEFORE_DIGIT)
    while start > limit and (_IS_WORD[text[start - 1]] or text[start - 1] == 45):
        start -= 1
    if start + 4 > text.size:
        return -1
    value = np.uint32(text[start]) | np.uint32(text[start + 1]) << np.uint32(8)
    value = value | np.uint32(text[start + 2]) << np.uint32(16) | np.uint32(text[start + 3]) << np.uint32(24)
    for known in _KEY_STARTS:
        if value == known:
            return start
    return -1


@numba.njit(cache=True)
def _key_end(text, end):  # type: ignore[no-untyped-def]
    while end < text.size and _IS_KEY[text[end]]:
        end += 1
    return end


@numba.njit(cache=True)
def _assigned(text, position, kind):  # type: ignore[no-untyped-def]
    """Return (start, end, position up to which all was seen) of a value with a digit and no space after `=` or `:`.

    It stands in quotes, or bare behind `=`; the end is 0 where there is none.
    """
    if kind == _QUOTE:
        before = position - 1
        while before >= 0 and text[before] == 32 and position - before < 4:
            before -= 1
        if before < 0 or (text[before] != 58 and text[before] != 61):
            return 0, 0, position
    elif position == 0 or not _IS_WORD[text[position - 1]]:
        return 0, 0, position
    digits = 0
    start = position + 1
    end = start
    while end < text.size and end - start <= _MAX_SECRET and _IS_SECRET[text[end]]:
        digits += _is_digit(text[end])
        end += 1
    is_closed = kind != _QUOTE or (end < text.size and text[end] == text[position])
    is_value = is_closed and digits > 0 and _MIN_SECRET <= end - start <= _MAX_SECRET
    return start, end if is_value else 0, end


@numba.njit(cache=True)
def _is_at(text, position, wanted):  # type: ignore[no-untyped-def]
    size = min(wanted.size, text.size - position)
    index = 0
    while index < size and text[position + index] == wanted[index]:
        index += 1
    return index == wanted.size


@numba.njit(cache=True)
def _next(text, position, wanted):  # type: ignore[no-untyped-def]
    """Return where `wanted` is next, or the size of the text."""
    while position + wanted.size <= text.size:
        if text[position] == 45 and _is_at(text, position, wanted):
            return position
        position += 1
    return text.size


@numba.njit(cache=True)
def _names_private_key(text, position):  # type: ignore[no-untyped-def]
    """Return whether a line of `-----BEGIN` names a private key, as `-----BEGIN RSA PRIVATE KEY-----` does."""
    start = position + _BEGIN.size
    while start < position + _BEGIN.size + 20 and not _is_at(text, start, _PRIVATE):
        start += 1
    return start < position + _BEGIN.size + 20


@numba.njit(cache=True)
def _block_end(text, start, end_line):  # type: ignore[no-untyped-def]
    """Return the end of a key's block: of its END line, or of its base64 where that line is cut off."""
    is_whole = end_line < text.size and end_line - start <= _KEY_BLOCK_BYTES
    label = end_line + _END_LINE.size if is_whole else start + _BEGIN.size
    end = label
    while end < text.size and end - label < _MAX_STRETCH and text[end] != 10 and text[end] != 45:
        end += 1
    while end < text.size and text[end] == 45:
        end += 1
    while not is_whole and end < text.size and _IS_BASE64[text[end]]:
        end += 1
    return end
