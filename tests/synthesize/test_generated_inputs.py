"""Calls for a program, read from its doctests and signatures. Nothing runs here; `tests/tasks/test_behaviour.py` runs them."""

import ast

import pytest

from corpusmill.synthesize.verify.inputs import Call, generated_calls

DOCUMENTED = """def area(width, height):
    '''
    >>> side = 3
    >>> area(side, 2)
    6
    >>> area(-1, 2)
    Traceback (most recent call last):
    ValueError
    >>> area(9, 9)  # doctest: +SKIP
    '''
    return width * height
"""


def test_examples_are_changed_in_one_constant_after_what_stands_before_them():
    calls = [call for call in generated_calls(DOCUMENTED) if call.expression.startswith("area(side")]
    assert calls == [Call(expression=f"area(side, {n})", setup=("side = 3\n",)) for n in (3, 1, 4, 0)]


def test_values_of_doctests_are_given_to_arguments_without_annotation():
    texts = {(call.expression, call.setup) for call in generated_calls(DOCUMENTED)}
    assert ("(area(_a0, _a1),)", ("_a0 = -1", "_a1 = 2")) in texts
    assert not any("9" in expression for expression, _ in texts)


@pytest.mark.parametrize(
    ("signature", "first"),
    [
        ("x: int", ("_a0 = 3",)),
        ("x: 'int'", ("_a0 = 3",)),
        ("x: str | None", ("_a0 = 'abc'",)),
        ("x: Optional[float]", ("_a0 = 2.5",)),
        ("x: list[list[int]]", ("_a0 = [[3, 0, 1, -2], [0], [], [1, 0, 3, 0, 1]]",)),
        ("x: typing.Sequence[str]", ("_a0 = ['abc', '', 'Hello World', 'aba']",)),
        ("x: dict[str, int]", ("_a0 = {}",)),
        ("x: tuple[int, str]", ("_a0 = (3, 'abc')",)),
        ("x: tuple[int, ...]", ("_a0 = tuple([3, 0, 1, -2])",)),
        ("x: set[int]", ("_a0 = set([3, 0, 1, -2])",)),
        ("x=5", ("_a0 = 5",)),
        ("x: int = 5", ("_a0 = 5",)),
        ("x: int, /, y: bool, *, z: str = 'q'", ("_a0 = 3", "_a1 = True", "_a2 = 'q'")),
    ],
)
def test_values_fit_the_annotation(signature, first):
    calls = generated_calls(f"def f({signature}): return x")
    assert calls[0].setup == first
    for call in calls:
        for text in (*call.setup, call.expression):
            ast.parse(text)


def test_arguments_that_can_change_are_looked_at_afterwards():
    expressions = {call.expression for call in generated_calls("def f(x: list[int], *, n: int): pass")}
    assert expressions == {"(f(_a0, n=_a1), _a0,)"}


@pytest.mark.parametrize(
    "source",
    [
        "def f(x): pass",
        "def f(x: Thing): pass",
        "def f(x: Callable[[int], int]): pass",
        "def f(): pass",
        "def _f(x: int): pass",
        "def (",
        "x = 1",
        "",
    ],
)
def test_what_nothing_is_known_about_is_not_called(source):
    assert generated_calls(source) == []


def test_the_same_text_gives_the_same_calls_each_once_and_at_most_so_many():
    calls = generated_calls(DOCUMENTED, max_calls=5)
    assert len(calls) == 5 == len(set(calls))
    assert calls == generated_calls(DOCUMENTED, max_calls=5)
    assert set(calls) < set(generated_calls(DOCUMENTED))
