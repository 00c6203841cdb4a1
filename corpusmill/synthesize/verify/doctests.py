"""Doctests as text: the rewrite keeps every example with its expected output, so that they still test the same thing.

Whether they pass is found out by running them (`behaves_as_before`); here nothing runs.
"""

import doctest
from collections import Counter

from corpusmill.synthesize.verify.case import Case
from corpusmill.synthesize.verify.python_source import docstrings, parse

_PARSER = doctest.DocTestParser()
Example = tuple[str, str, str]


def same_doctests(case: Case) -> str | None:
    """Refuse when an example of the seed is gone, stands elsewhere or expects something else. New ones are welcome."""
    before, after = _examples(case.seed), _examples(case.output)
    return None if after is not None and not (before or Counter()) - after else "doctest_changed"


def _examples(source: str) -> Counter[Example] | None:
    """Count (name, code, expected output); None when the source or one of its doctests cannot be read."""
    tree = parse(source)
    if tree is None:
        return None
    found: Counter[Example] = Counter()
    for name, text in docstrings(tree).items():
        try:
            found.update((name, example.source, example.want) for example in _PARSER.get_examples(text.expandtabs()))
        except ValueError:
            return None
    return found
