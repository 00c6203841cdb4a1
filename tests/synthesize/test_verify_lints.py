"""Lints: what is certainly wrong in a program, and was not before."""

import pytest

from corpusmill.synthesize.verify.case import Case
from corpusmill.synthesize.verify.lints import lints

GOOD = "def double(x):\n    return 2 * x\n"
CASES = {
    "as it was": (GOOD, GOOD, None),
    "an undefined name": (GOOD, "def double(x):\n    return 2 * y\n", "undefined_name"),
    "undefined before as well": ("print(y)\n", "print(y, 1)\n", None),
    "a name of a branch": ("", "import sys\nif sys.argv:\n    a = 1\nprint(a)\n", None),
    "a name that a pattern binds": ("", "match 1:\n    case {'a': a, **rest}:\n        print(a, rest)\n", None),
    "a name of an except": ("", "try:\n    pass\nexcept ValueError as error:\n    print(error)\n", None),
    "a comprehension's name": ("", "print([i for i in range(3)])\n", None),
    "a lambda's and a parameter's name": ("", "f = lambda a, *b, **c: (a, b, c)\n", None),
    "names from anywhere": ("", "from math import *\nprint(sqrt(2))\n", None),
    "names made as it runs": ("", "exec('a = 1')\nprint(a)\n", None),
    "a module's part": ("", "import os.path\nprint(os.path.sep)\n", None),
    "a builtin": ("", "print(__file__, len(''))\n", None),
    "behind a return": (GOOD, GOOD + "    print(1)\n", "unreachable_code"),
    "behind a return before as well": (GOOD + "    print(1)\n", GOOD + "    print(2)\n", None),
    "a generator of nothing": ("", "def none():\n    return\n    yield\n", None),
    "behind a break": ("", "for a in ():\n    break\n    print(a)\n", "unreachable_code"),
    "an invalid escape": ("", "a = '\\d'\n", "compiler_warning"),
    "is with a literal": ("", "a = 1\nprint(a is 1)\n", "compiler_warning"),
    "warned of before as well": ("a = 1\nprint(a is 1)\n", "a = 1\nprint(a is 1, a)\n", None),
    "no program": (GOOD, "def double(x:\n", "does_not_compile"),
}


@pytest.mark.parametrize(("seed", "output", "expected"), CASES.values(), ids=CASES)
def test_lints(seed, output, expected):
    assert lints(Case(seed=seed, output=output)) == expected
