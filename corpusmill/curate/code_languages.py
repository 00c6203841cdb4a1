"""Which programming languages a rule may name: those that file names tell, in any case, and those of a source's own column."""

import difflib
from collections.abc import Iterable

from corpusmill.read.file_types import LANGUAGES

_BY_LOWER_CASE = {name.lower(): name for name in LANGUAGES}


def is_code_language(name: str) -> bool:
    """Return whether file names tell this language, in any case."""
    return name.lower() in _BY_LOWER_CASE


def check_code_languages(names: Iterable[str]) -> None:
    """Raise ValueError for a name that is nearly one we know; what is like none of them may stand in a source's column."""
    for name in names:
        near = difflib.get_close_matches(name.lower(), _BY_LOWER_CASE, n=1, cutoff=0.82)
        if near and near[0] != name.lower():
            raise ValueError(f"no file is of the language {name!r}; did you mean {_BY_LOWER_CASE[near[0]]!r}?")
