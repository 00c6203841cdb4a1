"""What the top of a source file says: its licence, in a comment, and whether a program wrote the file."""

import re
from collections.abc import Sequence

_COMMENT = re.compile(
    r"(?:[ \t]*(?:\#(?!!|include|define|if|pragma|\[)[^\n]*|//[^\n]*|--[^\n]*|;[^\n]*|%[^\n]*)?(?:\n|$)"
    r"|[ \t]*/\*(?s:.{0,20000}?)\*/[ \t]*(?:\n|$)|[ \t]*<!--(?s:.{0,20000}?)-->[ \t]*(?:\n|$))"
)
_LICENSE = re.compile(r"copyright|licen[cs]e[ds]?\b|SPDX-License-Identifier|all rights reserved", re.IGNORECASE)
_SHEBANG = re.compile(r"#![^\n]*\n|<\?php[^\n]*\n")
_MOST_LINES = 200
"""Of a header; the longest that licences ask to put on top of a file has 40."""
_LINE_CHARACTERS = 500
"""What is looked at of a line: more than markers' lines ever have."""


def license_header(text: str) -> tuple[int, int]:
    """Return the span of the comments on top of a file when they speak of its licence, else (0, 0).

    A first line that names the interpreter stays outside, as do blank lines behind the comments.
    """
    shebang = _SHEBANG.match(text)
    start = position = shebang.end() if shebang else 0
    for _ in range(_MOST_LINES):
        found = _COMMENT.match(text, position)
        if not found or found.end() == position:
            break
        position = found.end()
    header = text[start:position].rstrip()
    return (start, start + len(header)) if _LICENSE.search(header) else (0, 0)


def count_markers(text: str, markers: Sequence[str], num_lines: int) -> int:
    """Return how many of the markers (lower case) stand in the first lines of a file."""
    top = "\n".join(text[: _LINE_CHARACTERS * num_lines].split("\n")[:num_lines]).lower()
    return sum(marker in top for marker in markers)
