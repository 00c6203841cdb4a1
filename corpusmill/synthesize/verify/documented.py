"""Documentation: the rewrite explains more than the seed did."""

import io
import tokenize

from corpusmill.synthesize.verify.case import Case
from corpusmill.synthesize.verify.python_source import docstrings, parse


def documented(case: Case, *, min_new_words: int = 5) -> str | None:
    """Refuse when docstrings and comments did not gain at least `min_new_words` words."""
    gained = _num_words(case.output) - _num_words(case.seed)
    return None if gained >= min_new_words else "not_documented"


def _num_words(source: str) -> int:
    tree = parse(source)
    if tree is None:
        return 0
    comments = (token.string for token in _tokens(source) if token.type == tokenize.COMMENT)
    return sum(len(text.split()) for text in [*comments, *docstrings(tree).values()])


def _tokens(source: str) -> list[tokenize.TokenInfo]:
    try:
        return list(tokenize.generate_tokens(io.StringIO(source).readline))
    except (tokenize.TokenError, SyntaxError):
        return []
