"""Web rules: written-out statistics, one page for every drop reason, and properties of the kernels."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.curate import web
from corpusmill.curate.apply import apply_edits
from corpusmill.curate.text_statistics import STATISTICS
from corpusmill.document import VERDICT_KEYS

SENTENCES = [
    "The river runs past the old mill and the people of the village have worked with it for many years.",
    "In spring the water rises quickly, so that every family must carry its grain to the upper floor.",
    "A young engineer came to measure the flow and to write down what she saw each morning at dawn.",
    "Her notes describe the wheels, the heavy stones, and the long belts that drive every machine inside.",
    "Nobody could say who built the first dam, but a carved beam carries the date of a great flood.",
    "Visitors may walk through the rooms today and watch how flour was ground before engines arrived.",
]
GOOD = "\n".join(SENTENCES)


def measured(*texts: str | None, language: str | None = "en", **rules) -> list[dict[str, float]]:
    own = web.WebRules(**{"min_line_words": 0, **rules})
    table = web.measure(pa.chunked_array([pa.array(texts, pa.large_string())]), own, [language] * len(texts)).statistics
    return [{name: table[name][row] for name in STATISTICS} for row in range(len(texts))]


def test_every_statistic_of_a_small_page_is_as_counted_by_hand():
    text = "The cat and the dog don't care. The cat and the dog don't care.\n- x...\n\n• ü é #1\nThe end\nThe end"
    (found,) = measured(text)
    assert len(text) == 96
    expected = {
        "characters": 96,
        "tokens": 30,  # 2 x (The cat and the dog do n't care .), - x ..., • ü é # 1, 2 x (The end)
        "words": 24,
        "mean_word_length": 64 / 24,
        "alphabetic_token_share": 23 / 30,
        "stop_words": 2,  # the, and
        "number_sign_token_ratio": 1 / 30,
        "ellipsis_token_ratio": 1 / 30,
        "lines": 5,
        "bullet_line_share": 2 / 5,
        "ellipsis_line_share": 1 / 5,
        "duplicate_line_share": 1 / 5,
        "duplicate_line_character_share": 7 / 96,
        "duplicate_paragraph_share": 0,
        "duplicate_paragraph_character_share": 0,
        "top_2gram_character_share": 2 * len("The cat") / 96,
        "top_3gram_character_share": 2 * len("The cat and") / 96,
        "top_4gram_character_share": 2 * len("The cat and the") / 96,
        "duplicate_5gram_character_share": len("Thecatandthedog") / 96,
        "duplicate_6gram_character_share": len("Thecatandthedogdo") / 96,
        "duplicate_7gram_character_share": len("Thecatandthedogdon't") / 96,
        "duplicate_8gram_character_share": len("Thecatandthedogdon'tcare") / 96,
        "duplicate_9gram_character_share": len("Thecatandthedogdon'tcare.") / 96,
        "duplicate_10gram_character_share": 0,
        "cut_lines": 0,
        "lorem_ipsum_lines": 0,
        "curly_bracket_lines": 0,
        "sentences": 6,
        "punctuated_line_share": 2 / 5,
        "short_line_share": 4 / 5,
        "duplicate_kept_line_character_share": 7 / (63 + 6 + 8 + 7 + 7),
        "newline_token_ratio": 4 / 30,
    }
    assert found == pytest.approx(expected)


def test_paragraphs_are_separated_by_blank_lines():
    (found,) = measured("one\ntwo\n\n \none\ntwo\n\n\nthree")
    assert found["duplicate_paragraph_share"] == pytest.approx(1 / 3)
    assert found["duplicate_paragraph_character_share"] == pytest.approx(7 / 26)


@pytest.mark.parametrize("text", ["", None, "\n\n \n", "\u3000\u2003"])
def test_texts_without_words_measure_zero(text):
    (found,) = measured(text)
    assert {name: value for name, value in found.items() if value and name != "characters"} == {}


@pytest.mark.parametrize(
    ("language", "text", "tokens"),
    [
        ("en", "state-of-the-art", "state - of - the - art"),
        ("en", "we'll, they've and Ann's", "we 'll , they 've and Ann 's"),
        ("en", "a 48-bit e.g. U.S. end.", "a 48 - bit e.g. U.S. end ."),
        ("en", "(see [1], and/or 3.5%)", "( see [ 1 ] , and / or 3.5 % )"),
        ("en", "http://a.b/c-d?e, a.b@example.org.", "http://a.b/c-d?e , a.b@example.org ."),
        ("en", "wait...what?! No… yes", "wait ... what ? ! No … yes"),
        ("en", "done.Next __init__ C++", "done . Next _ _ init _ _ C++"),
        ("de", "E-Mail-Adresse am 3. Mai", "E-Mail-Adresse am 3. Mai"),
        ("de", "und/oder »ja«, 1/2", "und / oder » ja « , 1 / 2"),
        ("fr", "l'eau d’un porte-clé", "l' eau d’ un porte - clé"),
        ("es", "¿Qué? 20-bit", "¿ Qué ? 20 - bit"),
        ("ru", "Привет, мир! Кто-то.", "Привет , мир ! Кто - то ."),
        ("zh", "我们用ABC。好", "我 们 用 ABC 。 好"),
        (None, "mixed-case", "mixed - case"),
    ],
)
def test_words_split_as_their_language_does(language, text, tokens):
    for context in (text, f"{text} and far more letters behind it"):
        (found,) = measured(context, language=language)
        assert found["tokens"] == len(context.replace(text, tokens).split())


SHORT = """The wheel turns. A door opens. Rain falls hard. She waits there. Two men shout. Grain is dry.
Boats pass by. Smoke drifts up. He climbs back. Snow melts fast. Birds sing now. Old ropes snap. Dust covers it.
""".replace(". ", ".\n").splitlines()

BROKEN = {
    "language_not_wanted": "Der Fluss fließt an der alten Mühle vorbei, und die Leute im Dorf arbeiten seit Jahren. " * 9,
    "too_few_words": "The mill is old.",
    "too_many_hash_signs": "\n".join(line + " # # # # #" for line in SENTENCES),
    "too_many_ellipses": GOOD.replace(" the ", "... the... ").replace(" and ", "... and... "),
    "too_many_bullet_lines": "\n".join(f"- {line}" for line in SENTENCES),
    "too_many_ellipsis_lines": "\n".join(line[:-1] + "..." for line in SENTENCES),
    "too_few_alphabetic_words": "\n".join(line + " 12 : 34 : 56 : 78" for line in SENTENCES),
    "repeated_lines": "\n".join([*SENTENCES, *(["Go on."] * 6)]),
    "repeated_line_characters": "\n".join([*SENTENCES, SENTENCES[0], SENTENCES[1]]),
    "one_2gram_too_frequent": "\n".join(line + " responsible administration" * 2 for line in SENTENCES),
    "repeated_5grams": GOOD + "\n" + " ".join(SENTENCES[:2]) + " It is so.",
    "lorem_ipsum": GOOD + "\nLorem ipsum dolor sit amet is what printers write.",
    "too_few_sentences": " ".join(SENTENCES).replace(". ", ", "),
    "too_few_punctuated_lines": "\n".join(line[:-1] for line in SENTENCES),
    "too_many_short_lines": GOOD + "\n" + "\n".join(SHORT),
    "too_long": "x " * 6_000_000,
}  # fmt: skip


@pytest.mark.parametrize("reason", BROKEN)
def test_drop_reason_names_what_is_wrong(text_rows, reason):
    verdicts = web.judge(text_rows(GOOD, BROKEN[reason]), {})
    assert verdicts["drop_reason"].to_pylist() == [None, reason]


def test_verdicts_have_the_schema_and_statistics_of_every_page(text_rows):
    verdicts = web.judge(text_rows(GOOD, "short", None), {"judge": "web"})
    schema = web.verdict_schema()
    assert schema.names[: len(VERDICT_KEYS)] == VERDICT_KEYS.names
    assert verdicts.schema.names == [name for name in schema.names if name != "text_file"]
    assert verdicts["doc_id"].to_pylist() == ["d0", "d1"]
    assert verdicts["language"].to_pylist()[0] == "en"
    assert verdicts["words"].to_pylist() == [len(GOOD.split()), 1]
    assert web.judge(text_rows(), {}).num_rows == 0


def test_page_that_is_too_long_is_not_measured(text_rows):
    verdicts = web.judge(text_rows("x " * 6_000_000), {})
    assert verdicts["characters"].to_pylist() == [12_000_000]
    assert verdicts["words"].null_count == 1


def test_thresholds_are_parameters(text_rows):
    assert web.judge(text_rows("Hi."), {"rules": {"min_words": 1, "languages": []}})["drop_reason"].to_pylist() != [
        "too_few_words"
    ]
    with pytest.raises(
        ValueError,
        match=r"unknown rule min_word; did you mean 'min_words'\?; WebRules has languages, identifies_language",
    ):
        web.judge(text_rows(GOOD), {"rules": {"min_word": 1}})
    with pytest.raises(ValueError, match="n-grams of 2 to 4 words need 3 shares"):
        web.judge(text_rows(GOOD), {"rules": {"max_top_ngram_shares": [0.1]}})


def test_lines_are_cut_and_addresses_masked(text_rows):
    text = "\n".join(
        [
            SENTENCES[0],
            "Please enable JavaScript to go on.",
            "Menu",
            *SENTENCES[1:],
            "Write to ann@mill.org or 8.8.8.8.",
        ]
    )
    (verdict,) = web.judge(text_rows(text), {}).to_pylist()
    assert verdict["drop_reason"] is None
    assert [edit["kind"] for edit in verdict["edits"]] == [
        "line_about_javascript",
        "line_of_few_words",
        "email",
        "ip_address",
    ]
    assert apply_edits(text, verdict["edits"]) == f"{GOOD}\nWrite to email@example.com or 192.0.2.1."


def test_cut_swallows_an_address_in_it(text_rows):
    text = f"{GOOD}\nSee our privacy policy, ann@mill.org."
    (verdict,) = web.judge(text_rows(text), {}).to_pylist()
    assert apply_edits(text, verdict["edits"]) == GOOD + "\n"


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("", 0),
        ("One line", 1),
        ("A be cat. D e far! G", 3),
        ('He said "no." Then left.', 2),
        ("v1.2.3 is a version", 1),
    ],
)
def test_sentences_of_the_lines_that_stay(text, sentences):
    assert measured(text)[0]["sentences"] == sentences


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("Please enable JavaScript to go on.", "line_about_javascript"),
        ("It needs non-javascript browsers now", "line_about_javascript"),
        ("Load jquery.javascript.min.js here", "line_about_javascript"),
        ("This site USES COOKIES to know you.", "line_of_policy"),
        ("Read our (privacy policy) first today", "line_of_policy"),
        ("Two words", "line_of_few_words"),
        ("A word of " + "x" * 1001, "line_with_long_word"),
        ("We bake cookies every day, she said.", None),
        ("The java script of this island is old", None),
    ],
)
def test_lines_that_c4_cuts(text_rows, line, kind):
    (verdict,) = web.judge(text_rows(f"{GOOD}\n{line}\n{SENTENCES[0]}"), {}).to_pylist()
    assert [edit["kind"] for edit in verdict["edits"]] == ([kind] if kind else [])
    assert verdict["cut_lines"] == bool(kind)


def test_cuts_are_in_characters_and_touching_ones_of_a_kind_are_one(text_rows):
    text = f"Ж\n\u00e9\n{GOOD}\nпрочь\n\nend"
    (verdict,) = web.judge(text_rows(text), {"rules": {"languages": []}}).to_pylist()
    assert [(edit["start"], edit["end"]) for edit in verdict["edits"]] == [
        (0, 4),
        (5 + len(GOOD), 11 + len(GOOD)),
        (12 + len(GOOD), 15 + len(GOOD)),
    ]
    assert apply_edits(text, verdict["edits"]) == f"{GOOD}\n\n"


@pytest.mark.parametrize(
    ("line", "reason"),
    [("Lorem Ipsum dolor sit amet", "lorem_ipsum"), ("x {", None), ("Set {x} to zero now", "curly_bracket"),
     ("Here javascript uses { and }", None)],
)  # fmt: skip
def test_lines_that_drop_a_page(text_rows, line, reason):
    rules = {"max_curly_bracket_lines": 0}
    assert web.judge(text_rows(f"{GOOD}\n{line}"), {"rules": rules})["drop_reason"].to_pylist() == [reason]


TEXTS = st.lists(st.text(st.characters(exclude_categories=("Cs",)), max_size=200), max_size=6)


@given(TEXTS)
def test_counts_agree_with_python(texts):
    for text, found in zip(texts, measured(*texts), strict=True):
        assert found["characters"] == len(text)
        assert found["number_sign_token_ratio"] * max(1, found["tokens"]) == pytest.approx(text.count("#"))
        assert found["lines"] == sum(bool(line.strip()) for line in text.split("\n"))
        shares = [value for name, value in found.items() if name.endswith("_share")]
        assert all(0 <= share <= 1 for share in shares)


@given(TEXTS, st.randoms())
def test_a_page_is_judged_alike_in_any_company(texts, random):
    alone = [measured(text)[0] for text in texts]
    order = list(range(len(texts)))
    random.shuffle(order)
    together = measured(*(texts[index] for index in order)) if texts else []
    for place, index in enumerate(order):
        np.testing.assert_equal(together[place], alone[index])


def test_slices_and_chunks_are_read_where_they_lie(text_rows):
    table = text_rows("first", GOOD, "third")
    sliced = pa.concat_tables([table.slice(1, 1), table.slice(2, 1)])
    whole = web.judge(table, {}).slice(1)
    assert web.judge(sliced, {}).equals(whole)


def test_duplicate_ids_are_judged_one_by_one(text_rows):
    table = text_rows(GOOD, "short")
    same = table.set_column(0, table.schema.field(0), pa.array(["d", "d"]))
    assert web.judge(same, {})["drop_reason"].to_pylist() == [None, "too_few_words"]
