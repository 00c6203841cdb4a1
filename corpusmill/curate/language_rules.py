"""What differs from language to language: how words split, and Gopher's word rules, from data.

`python -m benchmarks.language_profiles` prints the table; `language_profile` says how each number is made, and makes those
of another language. A language that is not in it is judged by English's thresholds: give its stop words and lengths in
`WebRules.by_language`.
"""

from typing import Any

from corpusmill.curate.word_kernels import (
    IS_ENGLISH,
    IS_GERMAN,
    SPLITS_ELISIONS,
    SPLITS_HYPHENS,
    SPLITS_HYPHENS_AT_DIGITS,
)

_SPLITS = {
    "en": SPLITS_HYPHENS | SPLITS_HYPHENS_AT_DIGITS | IS_ENGLISH,
    "de": IS_GERMAN,
    "es": SPLITS_HYPHENS | SPLITS_HYPHENS_AT_DIGITS,
    **dict.fromkeys(("ca", "fr", "it"), SPLITS_HYPHENS | SPLITS_ELISIONS),
}
_UNSPACED = ("ja", "zh")
"""Written without spaces, so a line has one run of characters and C4's words a line say nothing."""

_ROWS = {
    "ar": (2.7, 9.1, 0.8, "في من على أن لا إلى و ما"),
    "bg": (3.3, 10.9, 0.77, "на и в да е от за се с не си че по ще"),
    "bn": (3.5, 11.8, 0.8, "না করে এবং ও এই থেকে আর জন্য"),
    "ca": (2.9, 9.6, 0.8, "de la a i que el en per del un les els una no amb va és al"),
    "cs": (3.4, 11.3, 0.77, "a se v na je to že z"),
    "da": (3.4, 11.4, 0.79, "i og er af det at en til på jeg har for ikke med den der de du kan som så"),
    "de": (3.8, 12.6, 0.79, "die der und in das ich ist nicht zu den von mit es ein"),
    "el": (3.3, 10.9, 0.79, "και το να του η με την της για ο που τα από σε δεν θα τον είναι στο"),
    "es": (3.1, 10.4, 0.79, "de la que el en y a los no un se por es del las con una para"),
    "fa": (2.4, 8.0, 0.8, "و به در از که این با را است"),
    "fi": (4.5, 15.0, 0.78, "ja on ei että se oli mutta ole"),
    "fr": (2.9, 9.5, 0.8, "de la le et à les est en des un que a pas une du il pour dans"),
    "he": (2.8, 9.4, 0.8, "את של לא על זה הוא אני כל"),
    "hi": (2.6, 8.8, 0.8, "के है में की से और को का हैं पर भी एक"),
    "hu": (4.2, 13.9, 0.78, "a az és nem hogy egy is de"),
    "id": (3.7, 12.5, 0.75, "yang dan di ini dari untuk dengan itu bisa aku"),
    "is": (3.1, 10.5, 0.77, "og í á að er sem til en við af hann um ekki var fyrir með"),
    "it": (3.3, 11.1, 0.8, "di e che il la a in non un per è del i una"),
    "ja": (0.6, 2.0, 0.8, "の に て は が た を で し と な も だ か"),
    "ko": (1.9, 6.2, 0.8, ""),
    "lt": (3.9, 12.8, 0.75, "ir kad į su iš yra tai kaip"),
    "mk": (3.1, 10.3, 0.8, "на и во да се од за е со не го ќе што дека"),
    "nb": (3.2, 10.8, 0.8, "i og er det å på som til en av for ikke med har jeg at de"),
    "nl": (3.3, 11.1, 0.79, "de van het een en in is op ik dat voor je te met niet zijn"),
    "pl": (3.8, 12.7, 0.79, "w i nie na się to z do jest że o"),
    "pt": (3.1, 10.5, 0.79, "de a o que e do em da é para não um uma com no se"),
    "ro": (3.1, 10.3, 0.8, "de în și a la să din o pe cu nu mai un este că"),
    "ru": (3.8, 12.6, 0.77, "в и на не с что я по"),
    "sk": (3.5, 11.5, 0.77, "a v sa na je to z že"),
    "sl": (3.4, 11.3, 0.78, "je in v na se da so za ki pa"),
    "sv": (3.5, 11.6, 0.79, "är det att och i jag på en inte som för med har av om du så till den"),
    "ta": (6.0, 19.9, 0.8, "ஒரு இந்த மற்றும் என்ற நான் தான் என்று இது"),
    "tr": (4.0, 13.4, 0.79, "ve bir bu için de da çok ile"),
    "uk": (3.5, 11.5, 0.77, "в на не і у з що та до це за"),
    "ur": (2.1, 7.0, 0.8, "کے میں کی ہے اور سے کا کو اس پر ہیں نے بھی"),
    "vi": (2.5, 8.4, 0.8, "là và có của được một các không trong"),
    "zh": (0.6, 2.0, 0.8, "的 是 在 了 我 和 有 不"),
}
"""Language: least and largest mean length of words in characters, least share of alphabetic tokens, stop words."""


def word_splits(language: str | None) -> int:
    """Return how a language splits its words: flags of `word_kernels`; no language splits as English does."""
    return _SPLITS.get(language or "en", SPLITS_HYPHENS)


def _rules(language: str, shortest: float, longest: float, alphabetic: float, stop_words: str) -> dict[str, Any]:
    rules: dict[str, Any] = {
        "min_mean_word_characters": shortest,
        "max_mean_word_characters": longest,
        "min_alphabetic_token_share": alphabetic,
    }
    rules |= {"stop_words": tuple(stop_words.split())} if stop_words else {"min_stop_words": 0}
    return rules | ({"min_line_words": 0} if language in _UNSPACED else {})


LANGUAGE_RULES = {language: _rules(language, *row) for language, row in _ROWS.items()}
"""Fields of WebRules that differ from English's, by language."""
