"""Chunks cover a text, cut it at its best joints, and never cut a formula."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.synthesize.chunk import chunk_spans, num_sentences, stitch
from corpusmill.synthesize.masking import protected_spans


def chunks(text, limit, protected=()):
    return [text[start:end] for start, end in chunk_spans(text, max_characters=limit, protected=protected)]


CUT = {
    "short": ("One two.", 20, ["One two."]),
    "paragraphs": ("One.\n\nTwo.\n\nThree.", 12, ["One.\n\nTwo.\n\n", "Three."]),
    "before a heading": ("One.\n\n# Two\n\nThree is.", 20, ["One.\n\n", "# Two\n\nThree is."]),
    "lines": ("one\ntwo\nthree", 8, ["one\ntwo\n", "three"]),
    "sentences": ("One is here. Two is there. Three.", 16, ["One is here. ", "Two is there. ", "Three."]),
    "words": ("one two three", 8, ["one two ", "three"]),
    "no joint at all": ("abcdefgh", 3, ["abc", "def", "gh"]),
}


@pytest.mark.parametrize(("text", "limit", "expected"), CUT.values(), ids=CUT)
def test_cut(text, limit, expected):
    assert chunks(text, limit) == expected


def test_a_formula_is_never_cut():
    text = "See $a b c d e f$ now"
    spans = [(start, end) for start, end, _ in protected_spans(text, ("formula",))]
    assert chunks(text, 6, spans) == ["See ", "$a b c d e f$ ", "now"]


@given(st.text(alphabet="ab. \n#$", max_size=120), st.integers(1, 30))
def test_chunks_cover_the_text_and_keep_the_limit(text, limit):
    spans = chunk_spans(text, max_characters=limit)
    assert "".join(text[start:end] for start, end in spans) == text
    assert all(end - start <= limit for start, end in spans)


@given(st.text(alphabet="ab. \n", min_size=1, max_size=80), st.integers(1, 20))
def test_stitching_unchanged_chunks_by_the_seed_s_own_blanks_gives_the_seed(text, limit):
    spans = [(start, end) for start, end in chunk_spans(text, max_characters=limit) if text[start:end].strip()]
    whole = stitch([text[start:end].rstrip() for start, end in spans], text=text, spans=spans, separator=None)
    assert whole == (text[spans[0][0] :].rstrip() if spans else "")


def test_stitching_with_a_separator():
    assert stitch(["A.", "B."], text="a. b.", spans=[(0, 3), (3, 5)], separator="\n\n") == "A.\n\nB."
    assert stitch(["A.", "B."], text="a. b.", spans=[(0, 3), (3, 5)], separator=None) == "A. B."


def test_a_chunk_that_was_left_out_leaves_a_blank_line():
    assert stitch(["A.", "C."], text="a. b. c.", spans=[(0, 3), (6, 8)], separator=None) == "A.\n\nC."


def test_prose_has_sentences_and_lists_have_none():
    assert num_sentences("This is it. Is it? Yes.\n") == 3
    assert num_sentences("- It is removed.\n| a | b. |\n>>> f(1.0)\n# It is.\n    return it.\nSession.execute()\n") == 0
