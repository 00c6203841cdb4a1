"""Behaviour: what the tests of a program said before the rewrite, they must say after it.

Running them is a sandbox's part; here two outcomes are compared. An outcome maps the name of a test to what came of it,
`passed` or anything else.
"""

from collections.abc import Mapping

from corpusmill.synthesize.verify.case import Case

PASSED = "passed"


def behaves_as_before(case: Case) -> str | None:
    """Stand in the recipe for the run in the sandbox, which sees all documents at once after every other verifier."""
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
