"""Language: most of the output's prose must be in the target language, paragraph by paragraph.

Whole-text detection passes a translation with one paragraph left out; a paragraph at a time does not. Languages are
identified as curation identifies them (`corpusmill.curate.language`), and what counts is whether a paragraph may be of the
target language: of Spanish and Galician the likelier one is wrong one time in 200. A text of formulas, numbers and units
has no language, if its seed has little of one too.
"""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from corpusmill.curate.buffers import text_buffers
from corpusmill.curate.language import identify
from corpusmill.curate.language_sample import take_samples
from corpusmill.curate.language_scripts import fits_script, main_scripts
from corpusmill.synthesize.masking import MASKS, without
from corpusmill.synthesize.verify.words import words

if TYPE_CHECKING:
    from corpusmill.synthesize.verify.case import Case

MIN_CHANCE = 0.05
"""Of 5,039 Spanish paragraphs all but 3 are that likely to be Spanish, of the same in English none. Of 104 paragraphs in
Occitan 9 are, of 37 in Galician and of 73 in Portuguese none."""
MUCH_LIKELIER = 100
"""How much likelier than the target another language must be in a text of few letters, and it must be the seed's."""
MIN_LETTERS = 20
"""With fewer letters outside of units and labels a text may be of any language."""
_MUCH_MORE = 3
"""How many times MIN_LETTERS a seed must have for a translation with fewer to be cut."""
_IDEOGRAPH_LETTERS = 3
"""How many letters of an alphabet say as much as one character of a script without blanks."""
_LETTERS = re.compile(r"[^\W\d_]")
_IDEOGRAPHS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_LABEL = re.compile(r"(?<![^\W\d_])[A-Za-zµΩ]{1,2}(?![^\W\d_])")


def target_language(case: "Case", *, min_share: float = 0.8, min_letters: int = 60) -> str | None:
    """Refuse when less than `min_share` of the letters stands in paragraphs that may be of the target language.

    Paragraphs with fewer than `min_letters` letters are left out, unless there are no others; then they are judged
    together, and refused only where they are most likely of the seed's language and hold its words. Fewer than
    MIN_LETTERS say nothing.
    """
    if case.language is None:
        raise ValueError("the verifier target_language needs a language: set it in the recipe's output")
    prose = without(case.output, MASKS)
    if _weight(_LABEL.sub(" ", prose)) < MIN_LETTERS:
        is_cut = _weight(_LABEL.sub(" ", without(case.seed, MASKS))) >= _MUCH_MORE * MIN_LETTERS
        return "wrong_language" if is_cut else None
    weights = {True: 0, False: 0}
    for paragraph in _paragraphs(prose, min_letters):
        weight = _weight(paragraph)
        likely = case.detect_language(paragraph)
        weights[
            _may_be(case, paragraph, likely) if weight < min_letters else likely.get(case.language, 0.0) >= MIN_CHANCE
        ] += weight
    return None if weights[True] >= min_share * sum(weights.values()) else "wrong_language"


def _may_be(case: "Case", text: str, likely: Mapping[str, float]) -> bool:
    """Return whether a short text may be of the target language: in its alphabet, and not a piece of the seed's text."""
    if not fits_script(case.language or "", _script(text)):
        return False
    other = likely.get(case.seed_language or "", 0.0) if case.seed_language != case.language else 0.0
    is_likelier = other >= max(0.5, MUCH_LIKELIER * likely.get(case.language or "", 0.0))
    return not (is_likelier and _share_said(text, case.seed) > 0.5)


def _share_said(text: str, seed: str) -> float:
    """Return the share of a text's longer words that the seed has too."""
    said = [word for word in words(text) if len(word) > 2]
    return len(set(said) & set(words(seed))) / (len(set(said)) or 1)


def detect(text: str) -> Mapping[str, float]:
    """Return the likeliest languages of a text with their probabilities; none where it has no letters."""
    (likely,) = identify(_column(text))["languages"].to_pylist()
    return {item["language"]: item["score"] for item in likely or ()}


def _script(text: str) -> str | None:
    (script,) = main_scripts(take_samples(*text_buffers(_column(text))).letters)
    return script


def _column(text: str) -> pa.ChunkedArray:
    encoded = pa.array([text.encode("utf-8", "replace")], pa.large_binary())
    return pa.chunked_array([encoded.cast(pa.large_string())])


def _paragraphs(prose: str, min_letters: int) -> list[str]:
    lines = [line for line in prose.splitlines() if line.strip()]
    long_enough = [line for line in lines if _weight(line) >= min_letters]
    return long_enough or ([" ".join(lines)] if lines else [])


def _weight(text: str) -> int:
    """Count letters, characters of scripts without blanks several times."""
    return len(_LETTERS.findall(text)) + (_IDEOGRAPH_LETTERS - 1) * len(_IDEOGRAPHS.findall(text))
