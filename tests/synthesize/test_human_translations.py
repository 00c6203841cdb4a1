"""Human translations pass the gates of translation, and the same translations with a planted fault do not.

The data lie beside the project (`../shared/data`); absent, these tests are skipped. `benchmarks/synthesis_translations.py`
measures all of it; here is a part that takes seconds.
"""

import pytest

from benchmarks.synthesis_translations import (
    DATA,
    LANGUAGES,
    PHYSICS,
    PLANTS,
    PROBLEMS,
    book_pairs,
    planted,
    problem_pairs,
    reasons,
)

pytestmark = pytest.mark.skipif(not DATA.exists(), reason=f"{DATA} is not there")
SHARES = {
    "es": 0.99, "fr": 0.97, "de": 0.98, "ru": 0.99, "th": 0.99, "sw": 0.99, "bn": 0.99, "te": 0.99, "zh": 0.98, "ja": 0.96,
}  # fmt: skip


@pytest.fixture(scope="module")
def book() -> list[tuple[str, str]]:
    """Every ninth paragraph of a book, in English and Spanish."""
    assert PHYSICS.exists() and PROBLEMS.exists()
    return book_pairs()[::9]


def caught(pairs, name, language) -> float:
    found = reasons(planted(pairs, PLANTS[name]), language)
    assert len(found) > 10, f"{name} has nowhere to be planted"
    return sum(reason is not None for reason in found) / len(found)


def test_paragraphs_of_a_translated_book_pass(book):
    found = reasons(book, "es")
    assert len(found) > 700
    assert found.count(None) >= 0.975 * len(found)


@pytest.mark.parametrize("name", PLANTS)
def test_a_fault_planted_into_the_book_is_caught(book, name):
    assert caught(book[::2], name, "es") >= 0.97


@pytest.mark.parametrize(("language", "expected"), SHARES.items(), ids=SHARES)
def test_translated_problems_pass(language, expected):
    found = reasons(problem_pairs(language), language)
    assert found.count(None) >= expected * len(found)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_changed_digit_is_caught(language):
    assert caught(problem_pairs(language), "one digit changed", language) >= 0.97


@pytest.mark.parametrize("language", LANGUAGES)
def test_another_language_is_caught(language):
    other = LANGUAGES[LANGUAGES.index(language) - 1]
    assert None not in reasons(problem_pairs(other)[::3], language)
