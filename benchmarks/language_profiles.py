"""Prints the table of `corpusmill.curate.language_rules`: `python -m benchmarks.language_profiles`.

Word shares come from the package wordfreq (Speer 2022; Wikipedia, subtitles, news, books, web; CC BY-SA 4.0), thresholds
from the Universal Declaration of Human Rights, which says the same in every language, in ../shared/data.
"""

import json
import subprocess

from benchmarks.peers import peer_python
from benchmarks.texts import declaration
from corpusmill.curate.language_profile import stop_words, thresholds

WORDFREQ = ("wordfreq==3.1.1",)
UNSPACED = ("ja", "zh")
"""Written without spaces: each character is a token, so only words of one character can be found."""
AGGLUTINATED = ("ko",)
"""The package splits these languages' words into parts that are no tokens of ours."""
_SHARES = """
import json, sys, wordfreq
shares = {language: wordfreq.get_frequency_dict(language) for language in wordfreq.available_languages()}
json.dump({language: dict(sorted(words.items(), key=lambda x: -x[1])[:300]) for language, words in shares.items()}, sys.stdout)
"""


def main() -> None:
    english = declaration("en")
    for language, shares in sorted(word_shares().items()):
        texts = declaration(language)
        if language == "en" or not texts:
            continue
        moved = thresholds(texts, english, language)
        words = "" if language in AGGLUTINATED else " ".join(stop_words(shares))
        print(f'    "{language}": ({", ".join(str(value) for value in moved.values())}, "{words}"),')


def word_shares() -> dict[str, dict[str, float]]:
    """Return the shares of the most frequent words of each language, spelled as texts spell them."""
    run = [str(peer_python("wordfreq", WORDFREQ)), "-c", _SHARES]
    found = json.loads(subprocess.run(run, check=True, capture_output=True, text=True).stdout)
    return {
        language: {
            word[:-1] + "ς" if word.endswith("σ") else word: share
            for word, share in shares.items()
            if is_word(word, language)
        }
        for language, shares in found.items()
    }


def is_word(word: str, language: str) -> bool:
    """Return whether a word can stand alone in a text: no digits, and no letter that only elision makes."""
    if language in UNSPACED:
        return len(word) == 1 and word.isalpha()
    return not any(character.isdigit() for character in word) and word not in ("l", "d", "s", "t", "m", "qu")


if __name__ == "__main__":
    main()
