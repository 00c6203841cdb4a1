"""Personal data and licences as the judges decide on them."""

import pytest

from corpusmill.curate import code, stem, web
from corpusmill.curate.redecide import redecide

GOOD = '''"""Counting words."""


def count(text: str) -> int:
    """Return the number of words in a text, split at blanks."""
    return len(text.split())
'''


def judged(text_rows, text: str, license: str | None = "MIT", **rules):
    table = text_rows(text, license=license, meta=[("language", "Python"), ("license_file", "MIT")])
    return code.judge(table, {"judge": "code", "rules": rules}).to_pylist()[0]


def test_a_source_says_what_happens_to_each_kind(text_rows):
    text = f"# ann@mill.org 219-09-9999\n{GOOD}"
    kept = judged(text_rows, text)
    assert [edit["kind"] for edit in kept["edits"]] == ["email", "us_ssn"]
    assert (kept["drop_reason"], kept["pii_email"], kept["pii_us_ssn"], kept["pii_phone"]) == (None, 1, 1, None)
    dropped = judged(text_rows, text, pii_actions={"us_ssn": "drop", "email": "leave"})
    assert (dropped["drop_reason"], dropped["pii_email"]) == ("personal_data", None)
    unseen = judged(text_rows, text, masks_pii=False)
    assert (unseen["drop_reason"], unseen["edits"], unseen["pii_us_ssn"]) == (None, [], None)


def test_a_changed_action_is_decided_again_from_the_counts(text_rows):
    verdicts = code.judge(text_rows(f"# 219-09-9999\n{GOOD}", license="MIT", meta=[("language", "Python")]), {})
    changed = {"judge": "code", "rules": {"pii_actions": {"us_ssn": "drop"}}}
    assert redecide(verdicts, changed).to_pylist() == ["personal_data"]


@pytest.mark.parametrize(
    ("judge", "rules"),
    [
        (stem, {"languages": [], "min_words": 0, "min_formulas": 0}),
        (web, {"languages": [], "min_words": 0, "min_stop_words": 0, "min_sentences": 0, "min_line_words": 0,
               "by_language": {}, "min_punctuated_line_share": 0.0, "max_short_line_share": 1.0,
               "min_mean_word_characters": 0.0, "max_top_ngram_shares": [1.0, 1.0, 1.0], "max_newline_ratio": 1.0,
               "min_alphabetic_token_share": 0.0}),
    ],
)  # fmt: skip
def test_other_judges_drop_for_personal_data_too(text_rows, judge, rules):
    texts = text_rows("Fax: 0341 8387176", "no number here")
    asked = {"rules": {**rules, "pii_actions": {"phone": "drop"}}}
    assert judge.judge(texts, asked)["drop_reason"].to_pylist() == ["personal_data", None]
    assert judge.judge(texts, {"rules": rules})["drop_reason"].to_pylist() == [None, None]


def test_the_file_itself_speaks_about_its_licence(text_rows):
    found = judged(text_rows, f"# Under the terms of the GNU General Public License version 3.\n{GOOD}")
    assert (found["drop_reason"], found["license"]) == ("license_not_allowed", "GPL-3.0-only")
    assert (found["license_package"], found["license_file"], found["license_header"]) == (0, 0, 2)
    assert (found["license_strictness"], found["license_conflict"]) == (2, 1)
    assert judged(text_rows, GOOD, license=None)["license"] == "MIT"


def test_texts_above_the_limit_are_not_looked_at(text_rows):
    texts = text_rows("Fax: 0341 8387176", "Fax: 0341 8387176" + " more" * 10)
    found = stem.judge(texts, {"rules": {"max_characters": 20}}).to_pylist()
    assert [row["pii_phone"] for row in found] == [1, None]
    assert [len(row["edits"]) for row in found] == [1, 0]
