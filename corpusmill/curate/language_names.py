"""Which languages a rule may name: those that identification can answer, by code; and what a person may have meant."""

import difflib
import functools
import re
from collections.abc import Iterable

from corpusmill.curate.language_codes import language_code
from corpusmill.curate.language_models import cld2_languages, lid176_languages

_BY_LETTERS = frozenset({"nv", "se"})
"""Languages that no model names and letters give away (`language_scripts`)."""
_CODE = re.compile(r"[a-z]{2,3}")


def check_languages(codes: Iterable[str], *, are_declared: bool = False) -> None:
    """Raise ValueError for a code that no text can have: every text would be of another language.

    `are_declared` says that the records declare their language, so that it may be one that no model knows.
    """
    for code in codes:
        if _is_known(code) or (are_declared and _CODE.fullmatch(code) and language_code(code) == code):
            continue
        meant = meant_language(code)
        hint = f"; did you mean {meant!r}?" if meant else ""
        raise ValueError(
            f"no text is identified as {code!r}: a language is named by its ISO 639-1 code, such as 'en', or by ISO 639-3 "
            f"where there is none, such as 'haw'{hint}"
        )


def meant_language(spelled: str) -> str | None:
    """Return our code for a name (`english`), a code in other letters (`EN`, `en-US`) or an old one (`iw`)."""
    name = spelled.strip().lower().replace(" ", "_")
    code = language_code(name) or ""
    short = language_code(re.split("[-_]", name)[0]) or ""
    near = difflib.get_close_matches(name, _cld2_names(), n=1, cutoff=0.8)
    by_name = _cld2_names()[near[0]] if near else None
    return next((one for one in (code, short) if _is_known(one)), by_name)


def _is_known(code: str) -> bool:
    # lid.176 is loaded for a code that CLD2 lacks only.
    return code in _cld2_codes() or code in _BY_LETTERS or code in lid176_languages()


@functools.cache
def _cld2_names() -> dict[str, str]:
    """Return our code by CLD2's name of a language, in lower case."""
    coded = {name.lower(): language_code(label) for name, label in cld2_languages()}
    return {name: code for name, code in coded.items() if code}


@functools.cache
def _cld2_codes() -> frozenset[str]:
    return frozenset(_cld2_names().values())
