"""One code a language: ISO 639-1 where there is one (`en`), else ISO 639-3 (`haw`), as BCP 47 chooses.

The models have labels of their own: macro-languages, retired codes, names of Wikipedias, scripts. All of them are
mapped here and nowhere else. Norwegian is `nb` or `nn`; Chinese is `zh` in both of its scripts.
"""

_ALIASES_SPELLED = (
    "iw=he in=id ji=yi jw=jv mo=ro tw=ak fil=tl "  # retired or merged codes
    "no=nb zh-Hant=zh sh=sr sr-ME=sr "
    "als=gsw bh=bho eml=egl nah=nhe "  # Wikipedias that lid.176 was trained on
    "xx-Yiii=ii xx-Java=jv xx-Mong=mn xx-Tglg=tl xx-Tfng=zgh xx-Nkoo=nqo "  # CLD2's scripts that have one language
    "xx-Olck=sat xx-Mtei=mni xx-Vaii=vai xx-Copt=cop xx-Goth=got xx-Bali=ban"
)
_ALIASES = dict(pair.split("=") for pair in _ALIASES_SPELLED.split())
_NOT_LANGUAGES = frozenset({"un", "xxx", "zzb", "zze", "zzh", "zzp", "tlh", "zxx", "und"})
"""Unknown, and the joke languages of CLD2."""


def language_code(label: str) -> str | None:
    """Return our code for a model's label or for a code that a user wrote; None where it names no language.

    `no` -> `nb`, `iw` -> `he`, `zh-Hant` -> `zh`, `xx-Latn` (a script) -> None.
    """
    if label in _NOT_LANGUAGES:
        return None
    code = _ALIASES.get(label, label)
    return None if code.startswith("xx-") else code
