"""Language: most of the output's prose must be in the target language, paragraph by paragraph.

Whole-text detection passes a translation with one paragraph left out; a paragraph at a time does not. Languages are
identified as curation identifies them (`corpusmill.curate.language`).
"""

import re
from typing import TYPE_CHECKING

from corpusmill.curate.language import detect_languages
from corpusmill.synthesize.masking import MASKS, without

if TYPE_CHECKING:
    from corpusmill.synthesize.verify.case import Case

_UNKNOWN = "und"
_LETTERS = re.compile(r"[^\W\d_]")


def target_language(case: "Case", *, min_share: float = 0.8, min_letters: int = 60) -> str | None:
    """Refuse when less than `min_share` of the letters stands in paragraphs of the target language.

    Paragraphs with fewer than `min_letters` letters are too short to tell and are left out, unless there are no others.
    """
    if case.language is None:
        raise ValueError("the verifier target_language needs a language: set it in the recipe's output")
    paragraphs = _paragraphs(without(case.output, MASKS), min_letters)
    letters = {True: 0, False: 0}
    for paragraph in paragraphs:
        is_target = case.detect_language(paragraph)[0] == case.language
        letters[is_target] += _num_letters(paragraph)
    total = letters[True] + letters[False]
    return None if total and letters[True] >= min_share * total else "wrong_language"


def detect(text: str) -> tuple[str, float]:
    """Return the language of a text (`und` where it has no letters) and how sure that is, 0 to 1."""
    (language,), (score,) = detect_languages([text])
    return language or _UNKNOWN, score or 0.0


def _paragraphs(prose: str, min_letters: int) -> list[str]:
    lines = [line for line in prose.splitlines() if line.strip()]
    long_enough = [line for line in lines if _num_letters(line) >= min_letters]
    return long_enough or ([" ".join(lines)] if lines else [])


def _num_letters(text: str) -> int:
    return len(_LETTERS.findall(text))
