"""What the script of a text says about its language: some scripts have one language, most languages have one script."""

from collections.abc import Sequence

import numpy as np

from corpusmill.curate.language_sample import MARKS, SCRIPTS

MIN_RARE_SHARE = 0.01
"""Ours: how many of its letters must be ones that only this language has, so that a foreign name does not decide. Of
rare Chinese characters, 280 paragraphs of Chinese have none, 37 of Vietnamese 0.05 and more."""
MIN_KANA_SHARE = 0.1
"""Ours: of the Chinese characters and kana together."""
MISMATCH = 0.02
"""Ours: what the weight of a language is multiplied with where fewer than half of the letters are in a script of its."""

_ONLY_SPELLED = (
    "greek=el armenian=hy thaana=dv nko=nqo gurmukhi=pa gujarati=gu oriya=or tamil=ta telugu=te kannada=kn malayalam=ml "
    "sinhala=si thai=th lao=lo hangul=ko cherokee=chr canadian=iu khmer=km mongolian=mn tagalog=tl balinese=ban "
    "javanese=jv ol_chiki=sat vai=vai meetei=mni yi=ii kana=ja grantha=sa syriac=syr tifinagh=zgh"
)
_ONLY_LANGUAGE = dict(pair.split("=") for pair in _ONLY_SPELLED.split())
_OTHER_SCRIPTS = {
    "cyrillic": "ab av az ba be bg bs bua cv ce kk kv krc ky lez mhr mk mn mrj myv mdf os rue ru sah sr tg tk tt tyv udm uk uz",
    "arabic": "ar ary arz azb bal ckb fa glk ks ku lrc mzn pnb ps sd skr tr ug ur uz ms ha",
    "hebrew": "he yi lad",
    "devanagari": "hi mr ne sa bho dty gom kok ks mai new raj sd awa hne mag",
    "bengali": "bn as bpy mni",
    "tibetan": "bo dz lad",
    "myanmar": "my shn mnw kht",
    "georgian": "ka xmf",
    "ethiopic": "am ti tig",
    "canadian": "iu cr oj",
    "han": "zh yue wuu lzh ja vi ko gan hak",
    "kana": "ja",
    "hangul": "ko",
    "greek": "el grc pnt",
    "syriac": "syr arc aii",
    "tifinagh": "zgh kab",
    "sinhala": "si sa",
    "telugu": "te sa",
    "kannada": "kn tcy sa",
    "malayalam": "ml sa",
    "tamil": "ta",
}
"""Languages of the scripts that have several, by what is written on the web, not by all that ever was."""
_LATIN_TOO = "az bs sr uz tk tt ku ks ug mn jv ban tl vi ms ha tr iu chr kk sd sa lad kab"

_LANGUAGES = {script: frozenset(codes.split()) for script, codes in _OTHER_SCRIPTS.items()}
for _script, _code in _ONLY_LANGUAGE.items():
    _LANGUAGES[_script] = _LANGUAGES.get(_script, frozenset()) | {_code}
_NEVER_LATIN = frozenset().union(*_LANGUAGES.values()) - frozenset(_LATIN_TOO.split())
_KANA, _HAN, _CYRILLIC, _LATIN = (SCRIPTS.index(name) for name in ("kana", "han", "cyrillic", "latin"))


def main_scripts(letters: np.ndarray) -> list[str | None]:
    """Return the script of at least half of the letters of each text (a row of `Samples.letters`), where there is one."""
    highest = letters.argmax(axis=1)
    totals = letters.sum(axis=1)
    is_main = (totals > 0) & (2 * letters[np.arange(len(letters)), highest] >= totals)
    return [SCRIPTS[index] if main else None for index, main in zip(highest.tolist(), is_main.tolist(), strict=True)]


def languages_by_script(scripts: Sequence[str | None], letters: np.ndarray, marks: np.ndarray) -> list[str | None]:
    """Return the language of each text that script and letters alone give away.

    Kana among Chinese characters are Japanese; ҝ or ҹ, or ә beside ј, are Azerbaijani; ӕ Ossetian; ӑ or ӗ Chuvash;
    ŋ or ŧ beside č, š or đ Northern Sami; ƒ or ʋ Ewe; ł beside į or ǫ Navajo.
    """
    found = [_ONLY_LANGUAGE.get(script) if script else None for script in scripts]
    totals = letters.sum(axis=1)
    cyrillic, latin = 2 * letters[:, _CYRILLIC] > totals, 2 * letters[:, _LATIN] > totals
    han = letters[:, _HAN] + letters[:, _KANA]
    mark = {name: marks[:, index] for index, name in enumerate(MARKS)}
    azeri = np.maximum(mark["azeri"], np.minimum(mark["schwa"], mark["je"]))
    rules = {
        "vi": (2 * han > totals) & (mark["rare_han"] >= MIN_RARE_SHARE * han),
        "ja": (2 * han > totals) & (letters[:, _KANA] >= MIN_KANA_SHARE * han),
        "az": cyrillic & (azeri >= MIN_RARE_SHARE * totals),
        "os": cyrillic & (mark["ossetian"] >= MIN_RARE_SHARE * totals),
        "cv": cyrillic & (mark["chuvash"] >= MIN_RARE_SHARE * totals),
        "se": latin & (np.minimum(4 * mark["eng"], mark["caron"]) >= MIN_RARE_SHARE * totals),
        "ee": latin & (mark["ewe"] >= MIN_RARE_SHARE * totals),
        "nv": latin & (np.minimum(mark["stroke"], mark["ogonek"]) >= MIN_RARE_SHARE * totals),
    }
    for language, holds in rules.items():
        for row in np.flatnonzero(holds):
            found[row] = language
    return found


def fits_script(language: str, script: str | None) -> bool:
    """Return whether a language is written in a script; any is, where the text has no main script."""
    if script is None:
        return True
    return language not in _NEVER_LATIN if script == "latin" else language in _LANGUAGES[script]
