"""Does a source file parse? Only for languages whose parser is at hand: Python, JSON and TOML; others are not judged."""

import ast
import json
import tomllib
import warnings
from collections.abc import Callable


def parses(text: str, language: str | None) -> bool | None:
    """Return whether the text is a program of its language, or None when nobody here can say."""
    parser = _PARSERS.get(language or "")
    if parser is None:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parser(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _parse_python(text: str) -> None:
    ast.parse(text)


_PARSERS: dict[str, Callable[[str], object]] = {"Python": _parse_python, "JSON": json.loads, "TOML": tomllib.loads}
