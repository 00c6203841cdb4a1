"""Entities: addresses and identifiers stay as they are, and most names can be found again.

Names are words with a capital letter inside of a sentence, so English, not German, is what they can be read from. A
name may take another ending or accent (Newton, Newtons; Mexico, México) and some names are translated (Germany,
Alemania), so a share of them is enough. Other alphabets spell names in their own way: there only addresses and
identifiers are compared.
"""

import re
import unicodedata

from corpusmill.curate.language_scripts import fits_script
from corpusmill.synthesize.masking import MASKS, without
from corpusmill.synthesize.verify.case import Case
from corpusmill.synthesize.verify.number_words import LANGUAGES

_ADDRESS = re.compile(r"\b(?:https?://|www\.)[^\s<>\"'）)\]]{3,300}|\b[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,5}")
_IDENTIFIER = re.compile(r"\b(?:[A-Za-z]\w{0,60}_\w{1,60}|[a-z]{2,30}[A-Z]\w{1,60}|[A-Za-z_][\w.]{2,60}(?=\(\)))")
_NAME = re.compile(r"(?<=[\w,;)] )(?:[A-Z]{2,}|[A-ZÀ-Þ][^\W\d_]{2,})\b")
"""Behind a word, so not at the start of a sentence, where every word has a capital."""
_MONTHS = frozenset(LANGUAGES["en"].months.split())
_NOT_NAMES = _MONTHS | {
    *("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "english", "spanish", "french"),
    *(
        "german",
        "figure",
        "table",
        "equation",
        "chapter",
        "section",
        "earth",
        "sun",
        "moon",
        "the",
        "what",
        "how",
        "why",
    ),
    *(
        "when",
        "where",
        "which",
        "who",
        "does",
        "can",
        "two",
        "three",
        "find",
        "you",
        "this",
        "that",
        "with",
        "for",
        "and",
    ),
}
"""Words with a capital that every language has a word of its own for, and those that stand in titles."""
_STEM = 4


def entities_preserved(
    case: Case,
    *,
    min_share: float = 0.5,
    min_names: int = 3,
    max_invented_share: float = 1.0,
    may_lose_identifiers: bool = False,
) -> str | None:
    """Refuse a lost address or identifier, too few of the seed's names, or too many names that the seed does not have.

    Shares are of different names; with fewer than `min_names` of them nothing is judged. A text that says less than its
    seed may lose identifiers.
    """
    if not may_lose_identifiers and any(item not in case.output for item in exact_entities(case.seed)):
        return "identifier_lost"
    if not all(fits_script(language, "latin") for language in (case.language, case.seed_language) if language):
        return None
    before, after = names(case.seed), names(case.output)
    if len(before) >= min_names and len(before - _words(case.output)) > (1 - min_share) * len(before):
        return "names_lost"
    invented = after - _words(case.seed)
    return "names_invented" if len(after) >= min_names and len(invented) > max_invented_share * len(after) else None


def exact_entities(text: str) -> set[str]:
    """Return what no translator changes: addresses and identifiers of programs."""
    addresses = {match.group().rstrip(".,;:!?") for match in _ADDRESS.finditer(text)}
    return addresses | set(_IDENTIFIER.findall(_ADDRESS.sub(" ", without(text, MASKS))))


def names(text: str) -> set[str]:
    """Return the names of a text, each by its first letters without accents."""
    found = {match.group() for match in _NAME.finditer(without(text, MASKS))}
    return {_stem(name) for name in found if name.casefold() not in _NOT_NAMES}


def _words(text: str) -> set[str]:
    return {_stem(word) for word in re.findall(r"[^\W\d_]{2,}", text)}


def _stem(word: str) -> str:
    plain = unicodedata.normalize("NFKD", word.casefold())
    return "".join(letter for letter in plain if not unicodedata.combining(letter))[:_STEM]
