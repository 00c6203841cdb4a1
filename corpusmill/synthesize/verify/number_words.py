"""All languages whose number words are known."""

from collections.abc import Mapping

from corpusmill.synthesize.verify.number_vocabulary import NumberWords
from corpusmill.synthesize.verify.number_words_alphabetic import ALPHABETIC
from corpusmill.synthesize.verify.number_words_asian import ASIAN

LANGUAGES: Mapping[str, NumberWords] = {**ALPHABETIC, **ASIAN}
