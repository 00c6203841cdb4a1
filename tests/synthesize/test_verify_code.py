"""Verifiers of code: nothing runs here, and what changes the program is told from what only explains it."""

import pytest

from corpusmill.synthesize.verify.behaviour import behaviour_reason
from corpusmill.synthesize.verify.case import Case
from corpusmill.synthesize.verify.registry import VERIFIERS

CODE = '''\
import math

LIMIT: int = 3


def area(radius, *, scale=1.0):
    """
    >>> area(1.0) > 3
    True
    """
    return math.pi * radius**2 * scale


class Shape:
    def name(self):
        pass
'''
EXPLAINED = CODE.replace(
    '    """\n    >>>', '    """Area of a circle of this radius, times scale.\n\n    >>>', 1
).replace("        pass", '        """The name; subclasses have one, so none stands here."""')


def reason(verifier, output, seed=CODE, **parameters):
    return VERIFIERS[verifier](Case(seed=seed, output=output), **parameters)


def test_the_examples_differ():
    assert EXPLAINED.count('"""') == CODE.count('"""') + 2 and EXPLAINED != CODE


@pytest.mark.parametrize("verifier", ["compiles", "same_interface", "same_program", "same_doctests", "documented"])
def test_a_good_rewrite_passes(verifier):
    assert reason(verifier, EXPLAINED) is None


BROKEN = {
    "compiles: unclosed bracket": ("compiles", "print((1)", "does_not_compile"),
    "compiles: return outside of a function": ("compiles", "return 1", "does_not_compile"),
    "compiles: nothing": ("compiles", " \n", "does_not_compile"),
    "compiles: null byte": ("compiles", "a = 1\0", "does_not_compile"),
    "compiles: deeper than the parser": ("compiles", "(" * 5000 + ")" * 5000, "does_not_compile"),
    "program: another operator": ("same_program", CODE.replace("**2", "**3"), "program_changed"),
    "program: another name": ("same_program", CODE.replace("radius", "r"), "program_changed"),
    "program: an import less": ("same_program", CODE.replace("import math\n", ""), "program_changed"),
    "program: not Python": ("same_program", "Sure! " + CODE, "does_not_compile"),
    "interface: a function less": ("same_interface", CODE.replace("def area", "def _area"), "public_name_lost"),
    "interface: a method less": ("same_interface", CODE.replace("def name", "def title"), "public_name_lost"),
    "interface: a variable less": ("same_interface", CODE.replace("LIMIT", "_LIMIT"), "public_name_lost"),
    "interface: another default": ("same_interface", CODE.replace("scale=1.0", "scale=2.0"), "signature_changed"),
    "interface: no longer by keyword": ("same_interface", CODE.replace("*, scale", "scale"), "signature_changed"),
    "interface: a base more": ("same_interface", CODE.replace("class Shape", "class Shape(list)"), "signature_changed"),
    "interface: not Python": ("same_interface", "def", "does_not_compile"),
    "doctests: another expectation": ("same_doctests", CODE.replace("True", "False"), "doctest_changed"),
    "doctests: gone": ("same_doctests", CODE.replace(">>> area(1.0) > 3\n    True", "x"), "doctest_changed"),
    "doctests: not Python": ("same_doctests", "def", "doctest_changed"),
    "documented: unchanged": ("documented", CODE, "not_documented"),
    "documented: less": ("documented", "x = 1", "not_documented"),
}  # fmt: skip


@pytest.mark.parametrize(("verifier", "output", "expected"), BROKEN.values(), ids=BROKEN)
def test_a_broken_rewrite_has_its_reason(verifier, output, expected):
    assert reason(verifier, output) == expected


FINE = {
    "program: comments and blank lines": ("same_program", "# why\n" + CODE.replace("\n\n\n", "\n\n")),
    "program: quotes": ("same_program", CODE.replace('"""', "'''")),
    "interface: annotations": ("same_interface", CODE.replace("radius,", "radius: float,")),
    "interface: a function more": ("same_interface", CODE + "\ndef more():\n    pass\n"),
    "interface: under if": ("same_interface", CODE.replace("LIMIT: int = 3", "if math:\n    LIMIT = 3")),
    "doctests: one more": ("same_doctests", CODE.replace("    True\n", "    True\n    >>> 1\n    1\n")),
    "documented: by comments": ("documented", CODE + "\n# the shape of things that are to come\n"),
}  # fmt: skip


@pytest.mark.parametrize(("verifier", "output"), FINE.values(), ids=FINE)
def test_a_fine_rewrite_passes(verifier, output):
    assert reason(verifier, output) is None


def test_annotations_count_where_asked():
    annotated = CODE.replace("radius,", "radius: float,")
    assert reason("same_interface", annotated, compare_annotations=True) == "signature_changed"


BEHAVIOURS = {
    "all as before": ({"a": "passed"}, {"a": "passed", "new": "failed"}, None),
    "one fails now": ({"a": "passed", "b": "passed"}, {"a": "passed", "b": "failed"}, "behaves_differently"),
    "one is gone": ({"a": "passed", "b": "passed"}, {"a": "passed"}, "test_lost"),
    "it failed before": ({"a": "failed"}, {"a": "passed"}, "baseline_fails"),
    "nothing to prove": ({}, {}, None),
}


@pytest.mark.parametrize(("before", "after", "expected"), BEHAVIOURS.values(), ids=BEHAVIOURS)
def test_behaviour(before, after, expected):
    assert behaviour_reason(before, after) == expected


def test_no_tests_where_some_are_required():
    assert behaviour_reason({}, {}, require_tests=True) == "no_tests"


def test_code_is_run_by_nobody_here():
    with pytest.raises(ValueError, match="give `accept` a check_code"):
        reason("behaves_as_before", CODE)
