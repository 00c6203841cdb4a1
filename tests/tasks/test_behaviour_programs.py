"""Rewritten programs in other languages than Python are compiled and run: their tests and their output decide."""

import pytest

from corpusmill.engines.sandbox import SandboxError
from corpusmill.engines.sandbox_languages import toolchain
from corpusmill.tasks.behaviour import check_behaviour

RUST = """pub fn double(x: i32) -> i32 { 2 * x }
#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn of_two() { assert_eq!(double(2), 4); }
    #[test]
    fn of_three() { assert_eq!(double(3), 6); }
}
"""
LOST = "    #[test]\n    fn of_three() { assert_eq!(double(3), 6); }\n"
SCRIPT = "const words = ['b', 'a'];\nwords.sort();\nconsole.log(words.join());\n"
DOUBLE = "function double(x) { return 2 * x; }\n"
TEST = "if (double(4) !== 8) throw new Error();"


def judged(language: str, before: str, changes: dict[tuple[str, str], str | None], **given) -> None:
    """Judge every change of a program, all together."""
    try:
        toolchain(language)
    except SandboxError as error:
        pytest.skip(str(error))
    after = [before.replace(*change) for change in changes]
    given = {name: [value] * len(after) if name == "tests" else value for name, value in given.items()}
    assert check_behaviour([before] * len(after), after, language=language, **given) == list(changes.values())


def test_rust_is_judged_by_its_own_tests():
    changes = {
        ("2 * x", "x + x"): None,
        ("2 * x", "3 * x"): "behaves_differently",
        ("2 * x", "2 * y"): "does_not_compile",
        (LOST, ""): "test_lost",
    }
    judged("rust", RUST, changes)


def test_a_test_that_comes_with_the_seed_decides():
    judged("javascript", DOUBLE, {("2 * x", "x + x"): None, ("2 * x", "3 * x"): "behaves_differently"}, tests=TEST)
    judged("javascript", DOUBLE, {("2 * x", "x + x"): "baseline_fails"}, tests=TEST.replace("8", "9"))


def test_what_is_printed_decides_where_there_is_no_test():
    changes = {("words.sort();", "words.reverse();"): None, ("words.sort();", ""): "behaves_differently"}
    judged("javascript", SCRIPT, changes)
    silent = {("console.log(words.join());", ""): "behaves_differently"}
    judged("javascript", SCRIPT, silent)
    judged("javascript", DOUBLE, {("2 * x", "3 * x"): None})
    judged("javascript", DOUBLE, {("2 * x", "3 * x"): "no_tests"}, require_tests=True)
