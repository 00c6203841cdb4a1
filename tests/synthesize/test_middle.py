"""Fill-in-the-middle: the parts are the text, the middle is a piece of its syntax, and the text alone decides."""

import ast
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.sentinels import Sentinels
from corpusmill.synthesize.asking import Finished, GivenUp, Material
from corpusmill.synthesize.generators.fill_in_middle import FillInMiddleGenerator
from corpusmill.synthesize.middle import Cut, cut, joints, restore, spell
from tests.synthesize.generators.scripted import run

PYTHON = 'def area(r):\n    """Größe."""\n    é = r * r\n    return f"{é * 3}" + "x"\n'
RUST = "fn area(r: f64) -> f64 {\n    // größe\n    let s = r * r;\n    s * 3.0\n}\n"
SENTINELS = Sentinels()


def pieces(text: str, language: str | None) -> set[str]:
    return {text[start:end] for start, end in joints(text, language)}


def test_pieces_of_python_are_statements_runs_of_them_and_expressions():
    found = pieces(PYTHON, "Python")
    assert {"é = r * r", "r * r", 'return f"{é * 3}" + "x"', 'f"{é * 3}"', '"x"', PYTHON.strip()} <= found
    assert 'é = r * r\n    return f"{é * 3}" + "x"' not in found, "a run is a whole body"
    assert not any(piece.strip() in ("é * 3", "{é") for piece in found), "nothing inside f-strings"


def test_lines_are_counted_as_the_parser_counts_them():
    text = "a = 'x\x0c\u2028y'\r\nb = 12\rccc = 3\n"
    assert {"a = 'x\x0c\u2028y'", "b = 12", "ccc = 3"} <= pieces(text, "python")


def test_pieces_of_other_languages_come_from_their_grammar():
    found = pieces(RUST, "rust")
    assert {"let s = r * r;", "r * r", "s * 3.0", "(r: f64)", "// größe"} <= found
    assert pieces("fn a( {", "Rust") <= {"a"}, "pieces without errors only"


def test_a_text_without_a_grammar_is_cut_at_empty_lines():
    assert pieces("one\ntwo\n\n  three\n\n\n", "COBOL") == {"one\ntwo", "  three"}
    assert pieces("one", None) == {"one"}
    assert pieces("def f(:", "python") == set()


@given(st.integers(min_value=1, max_value=40), st.floats(min_value=0.05, max_value=0.95))
@pytest.mark.parametrize(("text", "language"), [(PYTHON, "Python"), (RUST, "Rust"), ("one\n\ntwo\n\nthree", None)])
def test_the_parts_are_the_text(text, language, least, share):
    parts = cut(text, language=language, min_characters=least, max_share=share)
    assert parts == cut(text, language=language, min_characters=least, max_share=share)
    if parts is not None:
        assert "".join(parts) == text
        assert least <= len(parts.middle) <= share * len(text)
        for order in (True, False):
            assert restore(spell(parts, SENTINELS, suffix_first=order), SENTINELS) == text


def test_both_orders():
    parts = Cut("a", "b", "c")
    assert spell(parts, SENTINELS, suffix_first=False) == "<|fim_prefix|>a<|fim_suffix|>c<|fim_middle|>b"
    assert spell(parts, SENTINELS, suffix_first=True) == "<|fim_prefix|><|fim_suffix|>c<|fim_middle|>ab"


def test_texts_are_cut_at_different_sizes_and_in_both_orders():
    texts = [PYTHON.replace("3", str(number)) for number in range(40)]
    ends = [run(FillInMiddleGenerator(max_share=0.9), Material(text=text, language="Python"))[0] for text in texts]
    assert {end.meta["order"] for end in ends} == {"prefix_suffix_middle", "suffix_prefix_middle"}
    assert len({end.meta["middle_characters"] for end in ends}) > 3


def test_the_middle_alone_can_be_whole_statements():
    """With the middle left out and put back the file parses as before."""
    parts = cut(PYTHON, language="python", min_characters=4, max_share=0.9)
    assert parts is not None and ast.dump(ast.parse("".join(parts))) == ast.dump(ast.parse(PYTHON))


def test_the_generator_asks_nobody():
    generator = FillInMiddleGenerator(sentinels=Sentinels(prefix="<P>", suffix="<S>", middle="<M>"))
    end, asked = run(generator, Material(text=PYTHON, language="Python"))
    assert asked == [] and isinstance(end, Finished)
    assert restore(end.text, generator.sentinels) == PYTHON
    assert run(generator, Material(text=f"{PYTHON}# <S>"))[0] == GivenUp(reason="holds_sentinels")
    assert run(generator, Material(text="x = 1", language="Python"))[0] == GivenUp(reason="no_middle")


WRONG = {
    "one sentinel twice": (lambda: Sentinels(prefix="<a>", suffix="<a>"), "none of which is part of another"),
    "one in another": (lambda: Sentinels(prefix="<a", suffix="<a>"), "none of which is part of another"),
    "an empty one": (lambda: Sentinels(prefix=""), "three sentinels are needed"),
    "a middle that is all": (lambda: FillInMiddleGenerator(max_share=1.0), "0 < max_share < 1"),
    "an empty middle": (lambda: FillInMiddleGenerator(min_characters=0), "min_characters >= 1"),
    "a text with a sentinel": (
        lambda: spell(Cut("<|fim_middle|>", "", ""), SENTINELS, suffix_first=True),
        "holds a sentinel",
    ),
}


@pytest.mark.parametrize(("make", "message"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_json_gives_it_back():
    made = FillInMiddleGenerator(min_characters=5, sentinels=Sentinels(prefix="<P>"))
    assert FillInMiddleGenerator.from_json(json.loads(json.dumps(made.to_json()))) == made
    assert made.names() == {"document"}
