"""How languages split their words."""

from corpusmill.curate.token_kernels import (
    IS_ENGLISH,
    IS_GERMAN,
    SPLITS_ELISIONS,
    SPLITS_HYPHENS,
    SPLITS_HYPHENS_AT_DIGITS,
)

LANGUAGE_RULES: dict[str, dict[str, object]] = {}
_SPLITS = {
    "en": SPLITS_HYPHENS | SPLITS_HYPHENS_AT_DIGITS | IS_ENGLISH,
    "de": IS_GERMAN,
    "fr": SPLITS_HYPHENS | SPLITS_ELISIONS,
    "es": SPLITS_HYPHENS | SPLITS_HYPHENS_AT_DIGITS,
}


def word_splits(language: str | None) -> int:
    return _SPLITS.get(language or "en", SPLITS_HYPHENS)
