"""Behaviour: what the tests of a program said before the rewrite, they must say after it.

Running them is a sandbox's part; here two outcomes are compared. An outcome maps the name of a test to what came of it,
`passed` or anything else. Generated inputs have no expected value: what the original gave in two runs is expected.
"""

from collections.abc import Mapping
from typing import Literal, TypeVar

from corpusmill.synthesize.verify.case import Case

PASSED = "passed"
Executed = Literal["python", "javascript", "java", "cpp", "rust", "go"]
"""Languages of which the sandbox runs programs."""
Outcome = TypeVar("Outcome")


def behaves_as_before(
    case: Case, *, language: Executed = "python", tests: str | None = None, require_tests: bool = False
) -> str | None:
    """Stand in the recipe for the run in the sandbox, which sees all documents at once after every other verifier.

    `language` is what the programs are written in, one that the sandbox runs. `tests` names the seed's column (or
    `meta.` key) that holds its test, code that runs after the program's and must not raise; the recipe has it among its
    `metadata`. `require_tests` refuses a seed as `no_tests` when nothing that it does could be compared.
    """
    raise ValueError("the verifier behaves_as_before runs code: give `accept` a check_code")


def behaviour_reason(before: Mapping[str, str], after: Mapping[str, str], *, require_tests: bool = False) -> str | None:
    """Return why the rewrite cannot be trusted, or None.

    `baseline_fails`: the original does not pass its own tests, so they prove nothing. `no_tests`: it has none, and the
    caller requires some. `test_lost`: one does not run any more. `behaves_differently`: one does not pass any more.
    """
    if require_tests and not before:
        return "no_tests"
    if any(outcome != PASSED for outcome in before.values()):
        return "baseline_fails"
    if set(before) - set(after):
        return "test_lost"
    return None if all(after[name] == PASSED for name in before) else "behaves_differently"


def comparable(first: Mapping[int, Outcome], second: Mapping[int, Outcome]) -> dict[int, Outcome]:
    """Return what the original gave in both of two runs: what chance, time or an address decides is not in it."""
    return {number: outcome for number, outcome in first.items() if second.get(number) == outcome}
