"""Real programs, rewritten well and broken in known ways: what needs no run is told without one.

The programs lie beside the project (`../shared/data`); absent, these tests are skipped.
"""

import ast
import gzip
import itertools
import json
from pathlib import Path

import pytest

from assets.synthesized.code_rephrased import RECIPES
from corpusmill.synthesize.verify.case import Case
from corpusmill.synthesize.verify.registry import EXECUTES, refusal

PROGRAMS = Path(__file__).parents[3] / "shared" / "data" / "code_thealgorithms" / "python.jsonl.gz"
GATES = [(item.verifier, item.parameters) for item in RECIPES["documented"].verifiers if item.verifier != EXECUTES]
NOTE = "# What follows was read with care, and this note says so in a few plain words.\n"


@pytest.fixture(scope="module")
def programs() -> list[str]:
    if not PROGRAMS.exists():
        pytest.skip(f"{PROGRAMS} is not there")
    with gzip.open(PROGRAMS, "rt", encoding="utf-8") as file:
        return [json.loads(line)["content"] for line in itertools.islice(file, 0, None, 5)]


def reasons(programs, rewrite) -> list[str | None]:
    rewritten = [(program, rewrite(program)) for program in programs]
    cases = [Case(seed=program, output=output) for program, output in rewritten if output != program]
    return [refusal(case, GATES) for case in cases]


def swap(program: str, old: type[ast.AST], new: ast.AST) -> str:
    """The first operator of one kind is another; comments are lost on the way, as a model might lose them."""
    tree = ast.parse(program)
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, old):
            node.op = new
            return NOTE + ast.unparse(tree)
    return program


def test_documenting_is_accepted(programs):
    assert set(reasons(programs, lambda program: NOTE + program)) == {None}


BREAKS = {
    "plus is minus": lambda program: swap(program, ast.Add, ast.Sub()),
    "times is plus": lambda program: swap(program, ast.Mult, ast.Add()),
    "the last statement is gone": lambda program: NOTE + ast.unparse(ast.Module(ast.parse(program).body[:-1], [])),
    "cut in the middle": lambda program: NOTE + program[: len(program) // 2],
    "doctests gone": lambda program: NOTE + program.replace(">>> ", ""),
    "an expected value changed": lambda program: NOTE + program.replace("\n    True\n", "\n    False\n", 1),
    "talk before it": lambda program: "Sure! Here is the code.\n" + program,
    "nothing done": lambda program: program + "\n",
}


@pytest.mark.parametrize("rewrite", BREAKS.values(), ids=BREAKS)
def test_every_broken_program_is_refused(programs, rewrite):
    broken = [program for program in programs if rewrite(program) not in (program, NOTE + program)]
    assert len(broken) > 10
    assert None not in reasons(broken, rewrite)
