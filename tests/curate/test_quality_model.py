"""The quality classifier: what it learns, that it is the same every time, bad input."""

import numpy as np
import pyarrow as pa
import pytest

from corpusmill.curate.quality_kernels import score_texts
from corpusmill.curate.quality_model import (
    QualityParameters,
    area_under_curve,
    evaluate,
    load,
    score,
    train,
    with_evaluation,
)

PARAMETERS = QualityParameters(positive="good", labels_license="CC0-1.0", weights_log2=16)
SUBJECTS, VERBS = ("proof", "theorem", "lemma", "force", "energy"), ("shows", "follows", "implies", "equals")
OFFERS, PLEAS = ("casino", "discount", "coupon", "bonus", "viagra"), ("click", "buy", "win", "subscribe")


def labelled(*rows: tuple[str | None, str]) -> pa.Table:
    return pa.table(
        {"text": pa.array([text for text, _ in rows], pa.large_string()), "label": [label for _, label in rows]}
    )


def examples(parity: int) -> pa.Table:
    """Return texts of two kinds; those of the other parity use the same words in other pairs."""
    rows = []
    for first in range(5):
        for second in range(4):
            if (first + second) % 2 == parity:
                rows.append((f"The {SUBJECTS[first]} {VERBS[second]} what we know.", "good"))
                rows.append((f"The {OFFERS[first]} {PLEAS[second]} what we know.", "spam"))
    return labelled(*rows)


def texts(*values: str | None) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(values, pa.large_string())])


def test_learns_from_one_half_and_is_right_on_the_other():
    model = load(train(examples(0), PARAMETERS))
    found = evaluate(model, examples(1))
    assert (found["rows"], found["accuracy"], found["auc"]) == (20, 1.0, 1.0)
    assert sum(part["rows"] for part in found["calibration"]) == 20
    assert all(0 <= part["mean_score"] <= 1 for part in found["calibration"])


def test_same_rows_and_parameters_give_the_same_bytes():
    first = train(examples(0), PARAMETERS)
    assert train(pa.concat_tables([examples(0).slice(0, 7), examples(0).slice(7)]), PARAMETERS) == first
    versions = {
        load(train(rows, parameters)).version
        for rows, parameters in [
            (examples(0), PARAMETERS),
            (examples(1), PARAMETERS),
            (examples(0), QualityParameters(positive="good", labels_license="CC0-1.0", weights_log2=16, seed=1)),
        ]
    }
    assert len(versions) == 3


def test_the_card_says_what_it_was_made_from():
    model = train(examples(0), PARAMETERS)
    card = load(model).card
    assert card["labels"] == {"good": 10, "spam": 10}
    assert (card["labels_license"], card["evaluation"]) == ("CC0-1.0", None)
    judged = with_evaluation(model, evaluate(load(model), examples(1)))
    assert load(judged).version == card["version"]
    assert load(judged).card["evaluation"]["accuracy"] == 1.0
    assert score(texts("The lemma shows it"), load(judged)) == score(texts("The lemma shows it"), load(model))


def test_scores_by_hand():
    # "b a" has the features b, a and the pair; all weights 0 but one: their mean is 3 / 3 or 3 / 2, or nothing.
    weights = np.zeros(1024, np.float32)
    only_a = _place("a")
    weights[only_a] = 3
    found = score_texts(*_buffers("a", "b a", "b", "", "...", "A"), weights, 0.5, 100)
    assert found[:3].tolist() == [3.5, 1.5, 0.5]
    assert np.isnan(found[3:5]).all()
    assert found[5] == 3.5


def test_characters_of_chinese_are_words():
    weights = np.zeros(1024, np.float32)
    weights[_place("我")] = 3
    assert score_texts(*_buffers("你我"), weights, 0.0, 100).tolist() == [1.0]


def test_no_more_words_than_asked_for_are_read():
    weights = np.ones(1024, np.float32)
    weights[_place("z")] = -1000
    assert score_texts(*_buffers("a b c z"), weights, 0.0, 3).tolist() == [1.0]


def _place(word: str) -> int:
    """Return where the only feature of a one-word text lies."""
    for place in range(1024):
        weights = np.zeros(1024, np.float32)
        weights[place] = 1
        if score_texts(*_buffers(word), weights, 0.0, 100)[0] == 1:
            return place
    raise AssertionError("a word has no place")


def _buffers(*values: str) -> tuple[np.ndarray, np.ndarray]:
    encoded = [value.encode() for value in values]
    return np.frombuffer(b"".join(encoded), np.uint8), np.cumsum([0, *map(len, encoded)]).astype(np.int64)


def test_texts_without_words_have_no_score():
    model = load(train(examples(0), PARAMETERS))
    found = score(texts(None, "", " \n", "?!…", "\ufeff", "Ünïcödé 汉字 עברית", "x" * 1_000_000), model)
    assert np.isnan(found).tolist() == [True, True, True, True, False, False, False]
    assert ((found[4:] > 0) & (found[4:] < 1)).all()
    assert len(score(texts(), model)) == 0


def test_rows_without_text_teach_nothing():
    with_nulls = pa.concat_tables([labelled((None, "good")), examples(0), labelled((None, "spam"))])
    assert train(with_nulls, PARAMETERS) == train(examples(0), PARAMETERS)


def test_area_under_the_curve_counts_ties_half():
    assert area_under_curve(np.array([0.2, 0.8, 0.8]), np.array([False, True, False])) == 0.75
    assert area_under_curve(np.array([0.2, 0.8]), np.array([True, True])) is None


@pytest.mark.parametrize(
    ("story", "call", "message"),
    [
        ("one label", lambda: train(labelled(("a", "good")), PARAMETERS), r"label 'good' .* got \{'good': 1\}"),
        ("no positive", lambda: train(labelled(("a", "spam")), PARAMETERS), r"got \{'spam': 1\}"),
        ("a null label", lambda: train(pa.table({"text": ["a"], "label": [None]}), PARAMETERS), "1 have none"),
        ("no label column", lambda: train(pa.table({"text": ["a"]}), PARAMETERS), r"got \['text'\]"),
        (
            "nothing to judge by",
            lambda: evaluate(load(train(examples(0), PARAMETERS)), labelled(("", "good"))),
            "nothing",
        ),
        ("not a model", lambda: load(b"PK\x03\x04"), "wanted a quality model"),
        ("a cut model", lambda: load(train(examples(0), PARAMETERS)[:-10]), "is cut: wanted 65536 weights, got 65531"),
        ("no licence", lambda: QualityParameters(positive="a", labels_license=""), "SPDX"),
        ("no epochs", lambda: QualityParameters(positive="a", labels_license="MIT", epochs=0), "above zero"),
        ("a huge table", lambda: QualityParameters(positive="a", labels_license="MIT", weights_log2=40), "10 to 26"),
    ],
)
def test_bad_input_is_named(story, call, message):
    with pytest.raises(ValueError, match=message):
        call()
