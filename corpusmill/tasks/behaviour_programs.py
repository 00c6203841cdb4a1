"""Whether rewritten programs of a compiled language, or of JavaScript, behave as before: their own tests, and their output.

A test that came with the seed is text that is put behind the program's; Rust's own tests stand in the program. What has
neither is run as it is, without input, and must print what the original printed in two runs. No inputs are generated.
"""

import re
from collections.abc import Sequence

from corpusmill.engines.sandbox import SandboxResult, run_programs_in
from corpusmill.engines.sandbox_languages import Language, Program, program

_RUST_TEST = re.compile(r"^test (\S+)(?: - should panic)? \.\.\. ok$", re.MULTILINE)


def check_programs(
    language: Language,
    before: Sequence[str],
    after: Sequence[str],
    *,
    tests: Sequence[str | None] | None = None,
    require_tests: bool = False,
) -> list[str | None]:
    """Return for each pair of programs why the second does not behave as the first, or None; see `check_behaviour`."""
    given = tests or [None] * len(before)
    texts = [
        source if test is None else f"{source}\n{test}\n"
        for first, second, test in zip(before, after, given, strict=True)
        for source in (first, first, second)
    ]
    results = iter(run_programs_in(language, [_program(language, text) for text in texts]))
    reasons = [
        _reason(
            (next(results), next(results), next(results)), is_tested=test is not None or _tests_itself(language, text)
        )
        for text, test in zip(before, given, strict=True)
    ]
    return [reason if reason != "no_tests" or require_tests else None for reason in reasons]


def _program(language: Language, text: str) -> Program:
    return program(language, text, compiler_arguments=("--test",) if _tests_itself(language, text) else ())


def _tests_itself(language: Language, text: str) -> bool:
    return language == "rust" and "#[test]" in text


def _reason(results: tuple[SandboxResult, SandboxResult, SandboxResult], *, is_tested: bool) -> str | None:
    first, second, after = results
    if not (first.succeeded and second.succeeded):
        return "baseline_fails"
    if after.compile_failed:
        return "does_not_compile"
    if not after.succeeded:
        return "behaves_differently"
    if is_tested:
        is_lost = set(_RUST_TEST.findall(first.stdout)) - set(_RUST_TEST.findall(after.stdout))
        return "test_lost" if is_lost else None
    if first.stdout != second.stdout or not first.stdout:
        return "no_tests"
    return None if after.stdout == first.stdout else "behaves_differently"
