"""Voice of the encyclopedia: it speaks about its matter, not of itself or to its reader."""

import re
from collections.abc import Mapping

from corpusmill.synthesize.masking import MASKS, without
from corpusmill.synthesize.verify.case import Case

_PERSONS: Mapping[str, str] = {
    "en": "i i'm i've i'll me my mine myself you you're you'll your yours yourself we we're we'll us our ours ourselves "
    "let's",
    "es": "yo mí mío mía tú ti tuyo tuya usted ustedes nosotros nosotras nuestro nuestra nuestros nuestras vosotros vuestro",
    "fr": "je moi mon mes tu toi ton tes vous votre vos nous notre nos",
    "de": "ich mich mir mein meine meiner meinem meinen du dich dir dein deine wir uns unser unsere euch euer eure",
}
_QUOTED = re.compile(r"\"[^\"\n]{1,400}\"|“[^”\n]{1,400}”|«[^»\n]{1,400}»|„[^“\n]{1,400}“")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


def impersonal(case: Case, *, max_share: float = 0.0) -> str | None:
    """Refuse a text in which more than `max_share` of the words are of the first or second person, outside of quotations.

    Languages whose pronouns are not known here pass.
    """
    persons = frozenset(_PERSONS.get(case.language or "", "").split())
    said = [
        word.replace("’", "'").casefold()
        for word in _WORD.findall(_QUOTED.sub(" ", without(case.output, MASKS)))
        if not (word.isupper() and len(word) > 1)
    ]
    return "personal_voice" if sum(word in persons for word in said) > max_share * len(said) else None
