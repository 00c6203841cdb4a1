"""Changed thresholds: the same answer from the verdict table as from the texts, and how many documents move."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.curate.redecide import JUDGES, changes, decisive_columns, needs_text, redecide

LINES = [
    "The river runs past the old mill and the people of the village have worked with it for many years.",
    "Der Fluss fließt an der alten Mühle vorbei, und die Leute im Dorf arbeiten seit Jahren mit ihm.",
    "- short",
    "# # # numbers 1 2 3 4 5 6 7 8 9 10 {x}",
    "Lorem ipsum dolor sit amet is what printers write...",
    "",
    "Let $x^2 + y^2 = z^2$ and $a \\le b$ hold.",
    "def f(x):",
    "    return 'QUJDQUJDQUJDQUJDQUJDQUJD'",
    "# auto-generated",
]
TEXTS = st.lists(st.lists(st.sampled_from(LINES), max_size=12).map("\n".join), min_size=1, max_size=4)
SHARES = st.sampled_from([0.0, 0.01, 0.1, 0.2, 0.3, 0.5, 1.0])
WORDS = st.sampled_from([0, 1, 5, 20, 50, 1000])
WEB = st.fixed_dictionaries(
    {},
    optional={
        "languages": st.sampled_from([[], ["en"], ["de", "en"]]),
        "min_language_score": SHARES,
        "min_words": WORDS,
        "max_words": WORDS,
        "max_number_sign_ratio": SHARES,
        "min_alphabetic_token_share": SHARES,
        "max_duplicate_line_share": SHARES,
        "max_top_ngram_shares": st.lists(SHARES, min_size=3, max_size=3),
        "max_duplicate_ngram_shares": st.lists(SHARES, min_size=6, max_size=6),
        "max_curly_bracket_lines": WORDS,
        "max_lorem_ipsum_lines": WORDS,
        "min_sentences": WORDS,
        "max_short_line_share": SHARES,
        "max_newline_ratio": SHARES,
        "max_characters": st.sampled_from([300, 10_000_000]),
    },
).filter(lambda rules: rules.get("min_words", 50) <= rules.get("max_words", 100_000))
CODE = st.fixed_dictionaries(
    {},
    optional={
        "allowed_licenses": st.sampled_from([["MIT"], ["Apache-2.0"]]),
        "languages": st.sampled_from([[], ["Python"], ["Rust"]]),
        "min_characters": WORDS,
        "max_lines": WORDS,
        "max_line_characters": WORDS,
        "min_alphabetic_share": SHARES,
        "max_encoded_run": WORDS,
        "max_generated_markers": WORDS,
        "max_syntax_error_share": SHARES,
    },
)
STEM = st.fixed_dictionaries(
    {},
    optional={
        "languages": st.sampled_from([[], ["en"], ["de"]]),
        "min_language_score": SHARES,
        "min_words": WORDS,
        "min_formulas": WORDS,
        "max_duplicate_line_character_share": SHARES,
    },
)
CHANGED = st.one_of(
    *(st.tuples(st.just(name), rules) for name, rules in (("web", WEB), ("code", CODE), ("stem", STEM)))
)


@settings(max_examples=60, deadline=None)
@given(TEXTS, CHANGED)
def test_verdicts_decide_as_the_texts_do(text_rows, texts, changed):
    name, rules = changed
    rows = text_rows(*texts, license="MIT", meta=[("language", "Python")])
    parameters = {"judge": name, "rules": rules}
    stored = JUDGES[name].judge(rows, {"judge": name}).select(list(decisive_columns(parameters)))
    expected = JUDGES[name].judge(rows, parameters)["drop_reason"].combine_chunks()
    assert redecide(stored, parameters).to_pylist() == expected.to_pylist()


@pytest.mark.parametrize("name", JUDGES)
def test_what_decides_is_stored(name):
    assert set(decisive_columns({"judge": name})) <= set(JUDGES[name].verdict_schema().names)


def test_thresholds_of_a_language_decide_its_rows_alone(text_rows):
    verdicts = JUDGES["web"].judge(text_rows(*(f"{line}\n" * 6 for line in LINES[:2])), {"rules": {"languages": []}})
    assert verdicts["language"].to_pylist() == ["en", "de"]
    rules = {
        "languages": [],
        "by_language": {"de": {"min_words": 0, "max_words": 3, "max_duplicate_ngram_shares": [1, 1, 1, 1, 1, 0]}},
    }
    after = redecide(verdicts, {"judge": "web", "rules": rules}).to_pylist()
    assert after == [verdicts["drop_reason"][0].as_py(), "too_many_words"]


@pytest.mark.parametrize(
    ("judge", "rules", "expected"),
    [
        ("web", {"min_words": 7, "by_language": {}}, ["stop_words", "min_line_words"]),
        ("web", {"stop_words": ["a", "b"], "masks_pii": False}, ["stop_words", "masks_pii"]),
        ("web", {"min_words": 5, "max_words": 7, "languages": []}, []),
        ("code", {"marker_lines": 9, "max_syntax_error_share": 1}, ["marker_lines"]),
        ("stem", {"min_words": 7}, []),
    ],
)
def test_rules_that_need_the_text_are_named(judge, rules, expected):
    assert needs_text({"judge": judge}, {"judge": judge, "rules": rules}) == expected
    assert needs_text({"judge": judge, "rules": rules}, {"judge": judge, "rules": rules}) == []


def test_texts_that_were_never_measured_are_not_guessed_at(text_rows):
    strict = {"judge": "web", "rules": {"max_characters": 10}}
    verdicts = JUDGES["web"].judge(text_rows("x " * 20, "short"), strict)
    assert redecide(verdicts, strict).to_pylist() == verdicts["drop_reason"].to_pylist()
    with pytest.raises(ValueError, match="1 texts of at most 100 characters were too long to be measured"):
        redecide(verdicts, {"judge": "web", "rules": {"max_characters": 100}})


def test_changes_are_counted_by_both_reasons():
    before = pa.array([None, "a", "a", "a", "b", None, None])
    after = pa.array([None, None, None, "b", "b", "a", "a"])
    assert changes(before, after).to_pylist() == [
        {"before": "a", "after": None, "documents": 2},
        {"before": None, "after": "a", "documents": 2},
        {"before": "a", "after": "b", "documents": 1},
    ]


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"min_words": "many"}, "the rule min_words must be a number, got 'many'"),
        ({"min_words": None}, "the rule min_words must be a number, got None"),
        ({"min_words": True}, "the rule min_words must be a number, got True"),
        ({"min_language_score": float("nan")}, "the rule min_language_score must be a number, got nan"),
        ({"languages": "en"}, "the rule languages must be a list, each text, got 'en'"),
        ({"max_top_ngram_shares": 1}, "the rule max_top_ngram_shares must be a list, each a number, got 1"),
        ({"pii_actions": []}, "the rule pii_actions must be an object, each value text"),
        ({"masks_pii": "no"}, "the rule masks_pii must be true or false, got 'no'"),
        ({"min_quality_tier": "best"}, "the rule min_quality_tier must be a number or nothing, got 'best'"),
        ({"by_language": {"en": None}}, "the rule by_language must be an object, each value an object"),
        ({"by_language": {"en": {"min_words": "x"}}}, "the rule min_words for 'en' must be a number, got 'x'"),
    ],
)
def test_values_of_the_wrong_kind_are_refused_by_name(rules, message):
    with pytest.raises(ValueError, match=message):
        JUDGES["web"].rules({"judge": "web", "rules": rules})
