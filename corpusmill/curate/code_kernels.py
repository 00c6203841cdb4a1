"""What code rules measure, by a numba kernel over Arrow's offsets and UTF-8 bytes. One pass."""

import numba
import numpy as np

STATISTICS = (
    *("characters", "lines", "mean_line_length", "max_line_length", "alphanumeric_share", "alphabetic_share"),
    "longest_encoded_run",
)
"""Columns of `measure_code`. Lengths in characters; letters above ASCII are alphabetic; an encoded run is one of base64
or hexadecimal digits without a space."""

_NEWLINE = 10


@numba.njit(cache=True)
def measure_code(data, offsets):  # type: ignore[no-untyped-def]
    """Return a float64 row of STATISTICS per text. Text i is `data[offsets[i]:offsets[i + 1]]`, valid UTF-8."""
    found = np.zeros((offsets.size - 1, 7))
    for row in range(offsets.size - 1):
        text = data[offsets[row] : offsets[row + 1]]
        characters = newlines = line = longest = letters = digits = run = longest_run = 0
        for byte in text:
            if byte & 0xC0 == 0x80:
                continue
            characters += 1
            is_letter = 65 <= (byte & 0xDF) <= 90 or byte >= 0xC0
            is_digit = 48 <= byte <= 57
            letters += is_letter
            digits += is_digit
            if byte == _NEWLINE:
                newlines += 1
                longest = max(longest, line)
                line = 0
            else:
                line += 1
            is_encoded = (is_letter and byte < 128) or is_digit or byte in (43, 47, 61)
            run = run + 1 if is_encoded else 0
            longest_run = max(longest_run, run)
        lines = newlines + (line > 0)  # behind the last newline, only a text makes a line
        found[row, 0] = characters
        found[row, 1] = lines
        found[row, 2] = (characters - newlines) / max(1, lines)
        found[row, 3] = max(longest, line)
        found[row, 4] = (letters + digits) / max(1, characters)
        found[row, 5] = letters / max(1, characters)
        found[row, 6] = longest_run
    return found
