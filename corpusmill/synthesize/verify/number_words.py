"""Number words: a translator may write `three` as 3, or 3 as `tres`. Small numbers, in the languages of the recipes."""

import functools

_COUNTING = {
    "en": "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen twenty",
    "es": "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis "
    "diecisiete dieciocho diecinueve veinte veintiuno veintidós veintitrés veinticuatro veinticinco veintiséis "
    "veintisiete veintiocho veintinueve treinta",
    "fr": "zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize dix-sept "
    "dix-huit dix-neuf vingt",
    "de": "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn "
    "siebzehn achtzehn neunzehn zwanzig",
    "zh": "零 一 二 三 四 五 六 七 八 九 十",
    "ja": "零 一 二 三 四 五 六 七 八 九 十",
}
"""Words for 0, 1, 2 and so on, in order."""

_ALSO = {
    "en": {
        "0.5": "half",
        "1": "a an per each every first once single",
        "2": "half halves halved twice double doubled second pair couple both",
        "3": "third thirds triple thrice",
        "4": "quarter quarters fourth fourths",
        "5": "fifth fifths",
        "6": "sixth",
        "7": "seventh",
        "8": "eighth",
        "9": "ninth",
        "10": "tenth",
        "12": "dozen dozens",
        "30": "thirty",
        "40": "forty",
        "50": "fifty",
        "60": "sixty",
        "70": "seventy",
        "80": "eighty",
        "90": "ninety",
        "100": "hundred",
        "1000": "thousand",
        "1000000": "million",
    },
    "es": {
        "0.5": "medio media",
        "1": "un una primer primera primero vez",
        "2": "mitad medio media doble par ambos ambas segundo segunda",
        "3": "tercio tercios tercera tercero tercer triple",
        "4": "cuarto cuarta cuartos",
        "5": "quinto quinta quintos",
        "6": "sexto sexta",
        "7": "séptimo",
        "8": "octavo",
        "9": "noveno",
        "10": "décimo décima",
        "12": "docena docenas",
        "40": "cuarenta",
        "50": "cincuenta",
        "60": "sesenta",
        "70": "setenta",
        "80": "ochenta",
        "90": "noventa",
        "100": "cien ciento",
        "1000": "mil",
        "1000000": "millón millones",
    },
    "fr": {
        "0.5": "demi demie",
        "1": "une premier première fois",
        "2": "moitié demi demie double paire deuxième second seconde",
        "3": "tiers troisième triple",
        "4": "quart quarts quatrième",
        "5": "cinquième",
        "6": "sixième",
        "7": "septième",
        "8": "huitième",
        "9": "neuvième",
        "10": "dixième",
        "12": "douzaine",
        "30": "trente",
        "40": "quarante",
        "50": "cinquante",
        "60": "soixante",
        "100": "cent cents",
        "1000": "mille",
        "1000000": "million millions",
    },
    "de": {
        "0.5": "halbe halben",
        "1": "ein eine einem einen einer eines erste ersten einmal",
        "2": "halb halbe halben hälfte doppelt doppelte zweimal zweite zweiten paar beide",
        "3": "drittel dritte dritten dreimal",
        "4": "viertel vierte vierten",
        "5": "fünftel fünfte",
        "12": "dutzend",
        "30": "dreißig",
        "40": "vierzig",
        "50": "fünfzig",
        "60": "sechzig",
        "70": "siebzig",
        "80": "achtzig",
        "90": "neunzig",
        "100": "hundert",
        "1000": "tausend",
        "1000000": "million millionen",
    },
    "zh": {"0.5": "半", "2": "两 双 半 倍", "100": "百", "1000": "千"},
    "ja": {"0.5": "半", "2": "双 半 倍", "100": "百", "1000": "千"},
}
"""Other words by value. One half and the second both speak of 2, so a text may turn one into the other unseen."""


@functools.cache
def number_words(language: str | None) -> dict[str, frozenset[str]]:
    """Return the words of a language with the values that each may mean; of all known languages for None."""
    values: dict[str, set[str]] = {}
    for known in sorted(_COUNTING) if language is None else [language]:
        for value, word in enumerate(_COUNTING.get(known, "").split()):
            values.setdefault(word.casefold(), set()).add(str(value))
        for spelled, words in _ALSO.get(known, {}).items():
            for word in words.split():
                values.setdefault(word.casefold(), set()).add(spelled)
    return {word: frozenset(found) for word, found in values.items()}
