"""Words as the verifiers count them: runs of letters and digits, and single characters of scripts without blanks."""

import re

_WORD = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]|[^\W_]+(?:['’][^\W\d_]+)?")


def words(text: str) -> list[str]:
    """Return the words of a text in lower case, in order."""
    return _WORD.findall(text.casefold())


def shingles(tokens: list[str], size: int) -> set[tuple[str, ...]]:
    """Return the runs of `size` words; of a text shorter than that, its one run of all words."""
    if len(tokens) < size:
        return {tuple(tokens)} if tokens else set()
    return {tuple(tokens[at : at + size]) for at in range(len(tokens) - size + 1)}
