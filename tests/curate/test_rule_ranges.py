"""Rules that would judge all texts alike are refused where they are declared, with what was meant."""

import pytest

from assets.curation import curated_assets
from corpusmill.curate.language_names import check_languages
from corpusmill.curate.redecide import JUDGES, judge_of
from corpusmill.tasks import extract, judge


def refused(name: str, rules: dict[str, object], message: str) -> None:
    parameters = {"judge": name, "rules": rules}
    with pytest.raises(ValueError, match=message):
        judge_of(parameters).rules(parameters)


@pytest.mark.parametrize("name", JUDGES)
def test_rules_that_nobody_changed_are_taken(name):
    judge.schema({"judge": name})


@pytest.mark.parametrize(
    ("spelled", "meant"),
    [("english", "en"), ("Chinese", "zh"), ("EN", "en"), ("en-US", "en"), ("no", "nb"), ("iw", "he"), ("frensh", "fr")],
)
def test_a_language_by_another_name_is_refused_with_its_code(spelled, meant):
    message = f"no text is identified as '{spelled}': .*; did you mean '{meant}'"
    refused("web", {"languages": ["en", spelled]}, message)
    refused("stem", {"languages": [spelled]}, message)
    refused("web", {"by_language": {spelled: {"min_words": 10}}}, message)


@pytest.mark.parametrize("code", ["", "xyz", "zxx", "und", "xx-Latn"])
def test_what_is_like_no_language_is_refused(code):
    with pytest.raises(ValueError, match=r"or by ISO 639-3 where there is none, such as 'haw'$"):
        check_languages([code])


def test_languages_that_one_model_or_letters_alone_tell_are_taken():
    check_languages(["en", "ast", "nv", "zgh", "nb"])


def test_records_may_declare_a_language_that_no_model_knows():
    parameters = {"judge": "web", "rules": {"languages": ["qya"], "identifies_language": False}}
    assert judge_of(parameters).rules(parameters).languages == ("qya",)
    refused("web", {"languages": ["EN"], "identifies_language": False}, "did you mean 'en'")


@pytest.mark.parametrize(
    ("name", "rules", "message"),
    [
        (
            "web",
            {"max_short_line_share": 67},
            "the rule max_short_line_share must be from 0 to 1, got 67; 67 % is 0.67",
        ),
        (
            "web",
            {"min_language_score": 1.5},
            "the rule min_language_score must be from 0 to 1, got 1.5; 1.5 % is 0.015",
        ),
        ("web", {"max_top_ngram_shares": [0.2, 0.18, 16]}, "the rule max_top_ngram_shares must be from 0 to 1, got 16"),
        ("web", {"min_words": float("inf")}, "the rule min_words is inf and max_words 100000: no text has both"),
        ("web", {"max_words": -1}, "the rule max_words must be 0 or more, got -1"),
        ("web", {"by_language": {"de": {"max_words": 3}}}, "the rule min_words for 'de' is 50 and max_words 3"),
        ("web", {"by_language": {"de": {"min_stop_words": -1}}}, "the rule min_stop_words for 'de' must be 0 or more"),
        ("web", {"min_word": 9}, "unknown rule min_word; did you mean 'min_words'"),
        ("stem", {"min_words": 9, "max_words": 8}, "the rule min_words is 9 and max_words 8: no text has both"),
        ("stem", {"pii_actions": {"email": "masc"}}, "masc"),
        ("code", {"min_alphabetic_share": 25}, "must be from 0 to 1, got 25; 25 % is 0.25"),
        ("code", {"languages": ["Pyton"]}, "no file is of the language 'Pyton'; did you mean 'Python'"),
        ("code", {"allowed_licenses": ["MIT", "Apache2.0"]}, "one each, got 'Apache2.0'; did you mean 'Apache-2.0'"),
        ("code", {"allowed_licenses": ["MIT OR ISC"]}, "takes SPDX identifiers, one each, got 'MIT OR ISC'"),
        ("code", {"allowed_licenses": []}, "allowed_licenses is empty, which would drop every file"),
        ("wbe", {}, "a judge is one of web, code, stem, got 'wbe'; did you mean 'web'"),
    ],
)
def test_what_no_text_or_every_text_would_break_is_refused(name, rules, message):
    refused(name, rules, message)


def test_no_limit_is_infinity_and_a_source_may_have_languages_of_its_own():
    judge_of({"judge": "web"}).rules({"rules": {"max_short_line_share": float("inf")}})
    judge_of({"judge": "code"}).rules({"rules": {"languages": ["COBOL", "python", "C"], "allowed_licenses": ["mit"]}})


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"judge": "web", "rules": {"languages": ["english"]}}, "did you mean 'en'"),
        ({"judge": "stme"}, "did you mean 'stem'"),
        ({"judge": "web", "rule": {"min_words": 9}}, "no parameters of a judge rule, only .*; did you mean 'rules'"),
        ({"judge": "web", "rules": {"min_quality_tier": 3}}, "need tiers"),
    ],
)
def test_assets_and_task_refuse_before_anything_is_read(parameters, message):
    with pytest.raises(ValueError, match=message):
        judge.schema(parameters)
    with pytest.raises(ValueError, match=message):
        curated_assets("books", extract={}, judge=parameters, dedup={}, max_removed_share=0.5)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"metod": "plain"}, "there are no parameters of an extraction metod, only .*; did you mean 'method'"),
        ({"method": "resiliparsed"}, "unknown extraction method 'resiliparsed'; .*; did you mean 'resiliparse'"),
        ({"limits": {"timeout": 3}}, "unknown extraction limit timeout"),
    ],
)
def test_extraction_is_refused_before_anything_is_read(parameters, message):
    with pytest.raises(ValueError, match=message):
        extract.schema(parameters)


def test_a_retention_guard_that_never_fails_is_refused():
    with pytest.raises(ValueError, match="max_removed_share must lie in"):
        curated_assets("books", extract={}, judge={"judge": "web"}, dedup={}, max_removed_share=85)
