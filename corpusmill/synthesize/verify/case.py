"""What a verifier is shown: one input and the answer to it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from corpusmill.synthesize.verify.language import detect

DetectLanguage = Callable[[str], Mapping[str, float]]
"""From a text to the languages that it may be in (ISO 639-1 where there is one), with their probabilities."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """One chunk, or one document, with what became of it."""

    seed: str
    """The text as the seed has it, formulas and code in place."""
    output: str
    """The answer, parsed and with formulas and code put back."""
    seed_language: str | None = None
    language: str | None = None
    """The language that the output is to have."""
    detect_language: DetectLanguage = detect
