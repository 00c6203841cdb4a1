"""Language identification against declarations whose language is known."""

import gzip
import json
from pathlib import Path

import pytest

from corpusmill.curate.language import detect_languages

UDHR = Path(__file__).parents[3] / "shared/data/langid_udhr/udhr_iso639-1.jsonl.gz"


def test_languages_of_plain_texts():
    texts = [
        "This is an English sentence.\nIn two lines.",
        "Dies ist ein deutscher Satz.",
        "これは日本語の文です。",
        "12 + 3 = 15",
        "",
    ]
    languages, scores = detect_languages(texts)
    assert languages == ["en", "de", "ja", None, None]
    assert [score is not None and 0 < score <= 1 for score in scores] == [True, True, True, False, False]


def test_real_declarations():
    if not UDHR.exists():
        pytest.skip("needs ../shared/data/langid_udhr")
    with gzip.open(UDHR, "rt") as file:
        rows = [json.loads(line) for line in file]
    big = {"en", "de", "fr", "es", "it", "pt", "nl", "ru", "pl", "ja", "ko", "ar", "hi", "tr", "vi"}
    # Vietnamese in Chinese characters and the French of the Vosges are beyond any detector.
    hard = {"Vietnamese (Han nom)", "French (Welche)"}
    wanted = [row for row in rows if row["bcp47"].split("-")[0] in big and row["name"] not in hard]
    languages, _ = detect_languages(row["text"] for row in wanted)
    right = sum(found == row["bcp47"].split("-")[0] for found, row in zip(languages, wanted, strict=True))
    assert right / len(wanted) > 0.98
