"""Rules by language: where they come from, and that a row is judged by its own language's."""

import pyarrow as pa
import pytest

from corpusmill.curate import web
from corpusmill.curate.language_profile import stop_words, thresholds, word_shares
from corpusmill.curate.language_quantiles import MIN_TEXTS, quantile_thresholds
from corpusmill.curate.language_rules import LANGUAGE_RULES

ENGLISH = "We have seen that all of the people in the town like to walk along the river in the evening."
GERMAN = "Bundesverfassungsgerichtsentscheidungen beeinflussen selbstverständlich Gesetzgebungsverfahren."


def test_shares_of_words_are_of_all_words_in_lower_case():
    assert word_shares(["The cat, the 2 dogs.", "THE end"]) == pytest.approx(
        {"the": 3 / 6, "cat": 1 / 6, "dogs": 1 / 6, "end": 1 / 6}
    )


def test_stop_words_are_the_frequent_ones_and_at_least_eight():
    shares = {f"w{number}": 0.008 for number in range(9)} | {"rare": 0.007}
    assert stop_words(shares) == tuple(f"w{number}" for number in range(9))
    assert stop_words({"a": 0.5, **{f"w{number}": 0.001 for number in range(20)}})[:3] == ("a", "w0", "w1")
    assert len(stop_words({"a": 0.5, **{f"w{number}": 0.001 for number in range(20)}})) == 8


def test_thresholds_move_with_the_length_of_words():
    moved = thresholds([GERMAN], [ENGLISH], "de")
    assert moved["min_mean_word_characters"] > 6 > 3
    assert moved["max_mean_word_characters"] > 20
    assert thresholds([ENGLISH], [ENGLISH], "en") == {
        "min_mean_word_characters": 3.0,
        "max_mean_word_characters": 10.0,
        "min_alphabetic_token_share": 0.8,
    }


def test_every_language_of_the_table_is_a_valid_set_of_rules():
    assert web.WebRules().by_language == LANGUAGE_RULES
    assert all(
        rules["min_mean_word_characters"] < rules["max_mean_word_characters"] for rules in LANGUAGE_RULES.values()
    )


@pytest.mark.parametrize(
    ("by_language", "reason"), [({}, "words_too_long"), ({"de": {"max_mean_word_characters": 40}}, None)]
)
def test_row_is_judged_by_its_language(text_rows, by_language, reason):
    rows = text_rows(f"{GERMAN}\n" * 3, declared_language="de-AT")
    rules = {"identifies_language": False, "languages": ["de"], "min_words": 1, "by_language": by_language}
    found = web.judge(rows, {"rules": rules})
    assert found["language"].to_pylist() == ["de"]
    assert (found["drop_reason"][0].as_py() == "words_too_long") == (reason is not None)


def test_rules_that_no_language_can_have_alone_are_refused():
    with pytest.raises(ValueError, match="masks_pii, min_word cannot differ for 'de'; what can: "):
        web.WebRules(by_language={"de": {"masks_pii": False, "min_word": 3}})


def verdicts(**statistics: list[float]) -> pa.Table:
    """Verdicts of 200 texts whose statistics are 0, but for the ones given, which repeat."""
    names = {limit.statistic for limit in web.HEURISTICS}
    values = {name: statistics.get(name, [0.0]) for name in names}
    return pa.table({name: (given * MIN_TEXTS)[:MIN_TEXTS] for name, given in values.items()})


def test_a_threshold_by_quantile_drops_the_share_that_it_drops_of_english():
    english = verdicts(newline_token_ratio=[0.1, 0.2, 0.3, 0.4], mean_word_length=[2.0, 5.0, 6.0, 7.0])
    own = verdicts(newline_token_ratio=[0.5, 0.6, 0.7, 0.8], mean_word_length=[1.0, 1.5, 2.0, 12.0])
    moved = quantile_thresholds(own, english)
    assert moved["max_newline_ratio"] == 0.7, "one in four is above"
    assert moved["min_mean_word_characters"] == 1.5, "one in four is below"
    assert moved["max_mean_word_characters"] == 12.0, "English loses none, so none is lost"
    assert moved["max_top_ngram_shares"] == list(web.WebRules().max_top_ngram_shares)
    assert web.WebRules(by_language={"sw": moved})


def test_thresholds_by_quantile_need_texts():
    with pytest.raises(ValueError, match="need 200 verdicts of each language, got 3"):
        quantile_thresholds(verdicts().slice(0, 3), verdicts())
