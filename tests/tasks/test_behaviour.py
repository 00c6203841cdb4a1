"""Rewritten programs are run: the original's tests decide, then generated inputs, then what is printed."""

import pytest

from corpusmill.tasks.behaviour import check_behaviour

DOUBLE = '''def double(x):
    """
    >>> double(2)
    4
    """
    return 2 * x
'''


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        (DOUBLE, DOUBLE.replace("2 * x", "x + x"), None),
        (DOUBLE, DOUBLE.replace("2 * x", "3 * x"), "behaves_differently"),
        (DOUBLE, DOUBLE.replace("2 * x", "undefined"), "behaves_differently"),
        (DOUBLE, "def other():\n    pass\n", "behaves_differently"),
        (DOUBLE, "def broken(:\n", "behaves_differently"),
        (DOUBLE.replace("    4\n", "    5\n"), DOUBLE, "baseline_fails"),
        ("import nowhere\n" + DOUBLE, DOUBLE, "baseline_fails"),
        ("x = 1\n", "x = 2\n", None),
    ],
)
def test_behaviour(before: str, after: str, reason: str | None) -> None:
    assert check_behaviour([before], [after]) == [reason]


SIGN = """def sign(number: int) -> int:
    if number < 0:
        return -1
    return 1 if number > 0 else 0
"""
IN_PLACE = """def put_in_order(numbers: list[int]) -> None:
    numbers.sort()
"""
STACK = """class Stack:
    '''
    >>> stack = Stack()
    >>> stack.push(3)
    >>> stack.total(2)
    5
    '''
    def __init__(self):
        self.items = []
    def push(self, item):
        self.items.append(item)
    def total(self, more):
        return sum(self.items) + more
"""
SCRIPT = """def _show(text):
    print(text)
if __name__ == "__main__":
    _show("hello")
"""
CHANCE = """import random
def draw(limit: int) -> float:
    return random.random() + limit
"""
COIN = """import random
def flip(sides: int) -> bool:
    return random.random() < 0.5
def flips(times: int) -> list:
    return [flip(2) for _ in range(times % 3)]
if __name__ == "__main__":
    print(flip(2))
"""
SEEDED = """import random
def draw(limit: int) -> float:
    random.seed(limit)
    return random.random()
"""
SHAPE = """class Shape:
    def __init__(self, side):
        self.side = side
def square(side: float) -> Shape:
    return Shape(side)
def letters(text: str) -> set[str]:
    return set(text)
def up_to(count: int):
    yield from range(count)
"""


CHANGES = [
    (SIGN, ("number > 0 else 0", "number >= 1 else 0"), None),
    (SIGN, ("number < 0", "number <= 0"), "behaves_differently"),
    (SIGN, ("    if", "    if number > 9: raise ValueError(number)\n    if"), "behaves_differently"),
    (SIGN, ("    if", "    while number == 7: pass\n    if"), "behaves_differently"),
    (SIGN, ("return -1", "print(number)\n        return -1"), "behaves_differently"),
    (SIGN, ("    if", "    import nowhere\n    if"), "behaves_differently"),
    (IN_PLACE, ("numbers.sort()", "numbers[:] = sorted(numbers)"), None),
    (IN_PLACE, ("numbers.sort()", "numbers = sorted(numbers)"), "behaves_differently"),
    (STACK, ("sum(self.items) + more", "more + sum(self.items)"), None),
    (STACK, ("sum(self.items) + more", "self.items[0] + 2"), "behaves_differently"),
    (SCRIPT, ("_show(text)", "_show(words)"), "behaves_differently"),
    (SCRIPT, ("def _show(text):\n    print(text)", "def _show(words):\n    print(words)"), None),
    (SCRIPT, ('"hello"', '"Hello"'), "behaves_differently"),
    (CHANCE, ("random.random()", "(1 - random.random())"), None),
    (COIN, ("random.random() < 0.5", "random.random() >= 0.5"), None),
    (SEEDED, ("return random.random()", "drawn = random.random()\n    return drawn"), None),
    (SEEDED, ("return random.random()", "return 1 - random.random()"), "behaves_differently"),
    (SHAPE, ("return Shape(side)", "found = Shape(side)\n    return found"), None),
    (SHAPE, ("self.side = side", "self.side = side + 1"), "behaves_differently"),
    (SHAPE, ("set(text)", "set(reversed(text))"), None),
    (SHAPE, ("set(text)", "set(text[1:])"), "behaves_differently"),
    (SHAPE, ("range(count)", "range(count + 1)"), "behaves_differently"),
]


@pytest.fixture(scope="module")
def reasons() -> list[str | None]:
    """All changes are judged together, as a batch is."""
    return check_behaviour([before for before, _, _ in CHANGES], [before.replace(*how) for before, how, _ in CHANGES])


@pytest.mark.parametrize("number", range(len(CHANGES)))
def test_generated_inputs_and_printed_words(number: int, reasons: list[str | None]) -> None:
    before, change, reason = CHANGES[number]
    assert change[0] in before
    assert reasons[number] == reason


TEST = "assert sign(-5) == -1\nassert sign(8) == 1\n"


@pytest.mark.parametrize(
    ("after", "test", "reason"),
    [
        (SIGN.replace("number < 0", "0 > number"), TEST, None),
        (SIGN.replace("return -1", "return 1"), TEST, "behaves_differently"),
        (SIGN, TEST + "assert sign(0) == 1\n", "baseline_fails"),
        (SIGN.replace("return 1 if number > 0 else 0", "return (number > 0) * 1"), None, None),
    ],
)
def test_tests_that_come_with_the_seed(after: str, test: str | None, reason: str | None) -> None:
    assert check_behaviour([SIGN], [after], tests=[test]) == [reason]


def test_what_cannot_be_compared_is_refused_where_proof_is_wanted() -> None:
    before = ["x = 1\n", CHANCE, SIGN, "import nowhere\n", "def f(thing):\n    return thing\n"]
    assert check_behaviour(before, before) == [None] * 5
    wanted = ["no_tests", "no_tests", None, "no_tests", "no_tests"]
    assert check_behaviour(before, before, require_tests=True) == wanted


def test_every_pair_gets_its_own_verdict() -> None:
    good, bad = DOUBLE.replace("2 * x", "x + x"), DOUBLE.replace("2 * x", "3 * x")
    before = [DOUBLE, SIGN, DOUBLE, SCRIPT, DOUBLE]
    after = [bad, SIGN.replace("-1", "-2"), good, SCRIPT.replace("hello", "bye"), good]
    reasons = ["behaves_differently", "behaves_differently", None, "behaves_differently", None]
    assert check_behaviour(before, after) == reasons
