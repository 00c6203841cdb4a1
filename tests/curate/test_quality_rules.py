"""Rules by tier: the best are spared heuristics and nothing else, the lowest dropped, and both are decided again alike."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.curate import web
from corpusmill.curate.quality import Classifier, add_statistics, statistic_names
from corpusmill.curate.quality_model import QualityParameters, load, train
from corpusmill.curate.quality_rules import classifier_names
from corpusmill.curate.redecide import decisive_columns, needs_text, redecide

NAMES = ["lessons"]
LESSON = "The proof of the theorem shows that the energy of the system is constant and that it will be so."
ADVERT = "Win a coupon in the casino and have a bonus with it, or buy a discount that you will like to take."
GERMAN = "Der Beweis des Satzes zeigt, dass die Energie des Systems erhalten bleibt und dass sie es immer war."
LOOSE = {"languages": [], "min_words": 5, "min_line_words": 0}


@pytest.fixture(scope="module")
def lessons() -> Classifier:
    """Return a classifier with the tiers 0 for adverts and 2 for lessons."""
    rows = pa.table({"text": [LESSON, ADVERT, GERMAN] * 20, "label": ["lesson", "advert", "lesson"] * 20})
    parameters = QualityParameters(positive="lesson", labels_license="CC0-1.0", weights_log2=12, epochs=50)
    return Classifier(name="lessons", model=load(train(rows, parameters)), edges=(0.4, 0.6))


def judged(rows: pa.Table, classifier: Classifier, **rules) -> pa.Table:
    parameters = {"judge": "web", "rules": LOOSE | rules, "classifiers": NAMES}
    return web.judge(rows, parameters, classifiers=[classifier])


def repeated(text: str) -> str:
    return "\n".join([text] * 8)


def test_the_best_tiers_are_spared_what_heuristics_drop(text_rows, lessons):
    rows = text_rows(repeated(LESSON), repeated(ADVERT))
    assert judged(rows, lessons)["drop_reason"].to_pylist() == ["repeated_lines"] * 2
    found = judged(rows, lessons, spared_tiers_from=2)
    assert found["quality_tier"].to_pylist() == [2, 0]
    assert found["drop_reason"].to_pylist() == [None, "repeated_lines"]
    assert found["duplicate_line_share"].to_pylist() == [7 / 8] * 2


@pytest.mark.parametrize(
    ("text", "rules", "reason"),
    [
        (LESSON, {"max_characters": 50}, "too_long"),
        (LESSON, {"min_words": 50}, "too_few_words"),
        (LESSON, {"max_words": 5}, "too_many_words"),
        (GERMAN, {"languages": ["en"]}, "language_not_wanted"),
        (LESSON, {"languages": ["en"], "min_language_score": 1.0}, "language_unclear"),
        (f"{LESSON} Its author is ann@mill.org.", {"pii_actions": {"email": "drop"}}, "personal_data"),
    ],
)
def test_language_length_and_personal_data_hold_for_every_tier(text_rows, lessons, text, rules, reason):
    found = judged(text_rows(repeated(text) if "max_words" in rules else text), lessons, spared_tiers_from=0, **rules)
    assert found["drop_reason"].to_pylist() == [reason]


def test_masks_and_cuts_stay_in_spared_texts(text_rows, lessons):
    text = f"{LESSON} Its author is ann@mill.org.\nNot this"
    found = judged(text_rows(text), lessons, spared_tiers_from=0, min_line_words=3)
    assert found["drop_reason"].to_pylist() == [None]
    assert len(found["edits"][0]) == 2


def test_lower_tiers_are_dropped_and_texts_without_a_word_are_left_to_other_rules(text_rows, lessons):
    rows = text_rows(LESSON, ADVERT, "")
    own = {"min_words": 0, "min_mean_word_characters": 0, "min_alphabetic_token_share": 0, "min_stop_words": 0}
    own |= {"min_sentences": 0, "min_punctuated_line_share": 0, "max_top_ngram_shares": [1, 1, 1]}
    found = judged(rows, lessons, min_quality_tier=1, **own)
    assert found["quality_tier"].to_pylist() == [2, 0, None]
    assert found["drop_reason"].to_pylist() == [None, "low_quality_tier", None]
    assert judged(rows, lessons, min_quality_tier=1)["drop_reason"].to_pylist()[2] == "too_few_words"


def test_no_classifier_leaves_no_trace(text_rows):
    rows = text_rows(LESSON, repeated(ADVERT))
    assert web.judge(rows, {"classifiers": []}).equals(web.judge(rows, {}))
    assert "quality_tier" not in web.judge(rows, {}).schema.names
    assert "quality_tier" not in decisive_columns({"judge": "web"})


TIERS = st.sampled_from([None, 0, 1, 2, 19])
TEXTS = st.lists(
    st.lists(st.sampled_from([LESSON, ADVERT, GERMAN, "- ...", ""]), max_size=9).map("\n".join), min_size=1, max_size=4
)


@settings(max_examples=40, deadline=None)
@given(texts=TEXTS, old=st.tuples(TIERS, TIERS), new=st.tuples(TIERS, TIERS))
def test_stored_tiers_decide_as_the_texts_do(text_rows, lessons, texts, old, new):
    rows = text_rows(*texts)
    rules = [{**LOOSE, "spared_tiers_from": spared, "min_quality_tier": least} for spared, least in (old, new)]
    before, after = ({"judge": "web", "rules": one, "classifiers": NAMES} for one in rules)
    stored = web.judge(rows, before, classifiers=[lessons]).select(list(decisive_columns(after)))
    expected = web.judge(rows, after, classifiers=[lessons])["drop_reason"].to_pylist()
    assert needs_text(before, after) == []
    assert redecide(stored, after).to_pylist() == expected


def test_other_classifiers_need_the_text():
    with_lessons = {"judge": "web", "classifiers": NAMES}
    assert needs_text({"judge": "web"}, with_lessons) == ["classifiers"]
    assert needs_text(with_lessons, with_lessons) == []


def test_columns_of_verdicts_and_of_their_schema_are_the_same(text_rows, lessons):
    schema = add_statistics(web.verdict_schema(), NAMES)
    names = [name for name in schema.names if name != "text_file"]
    assert judged(text_rows(LESSON), lessons).schema.names == names
    assert tuple(names[-3:]) == statistic_names(NAMES)
    assert np.isclose(judged(text_rows(LESSON), lessons)["lessons_score"][0].as_py(), 1, atol=0.1)


@pytest.mark.parametrize(
    ("story", "call", "message"),
    [
        (
            "a score for a tier",
            lambda: web.WebRules(spared_tiers_from=0.9),
            "whole number from 0 to 19, or None; got 0.9",
        ),
        ("a tier that is none", lambda: web.WebRules(min_quality_tier=20), "min_quality_tier must be a tier"),
        ("rules, no tiers", lambda: web.rules({"rules": {"min_quality_tier": 3}}), "name trained classifiers"),
        ("a name for a list", lambda: classifier_names({"classifiers": "lessons"}), "must be a list of names"),
        (
            "a name twice",
            lambda: add_statistics(web.verdict_schema(), ["a", "a"]),
            "need a column a_score, which is taken",
        ),
        ("a taken name", lambda: add_statistics(web.verdict_schema(), ["language"]), "language_score, which is taken"),
        (
            "a classifier not passed",
            lambda: web.judge(pa.table({}), {"classifiers": NAMES}),
            r"\('lessons',\), got \(\)",
        ),
    ],
)
def test_bad_input_is_named(story, call, message):
    with pytest.raises(ValueError, match=message):
        call()
