"""Shares: recipes of one dataset start from different documents, in proportion to their weights."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.synthesized.web_rephrased import RECIPES, WEIGHTS
from corpusmill.synthesize.recipe import SeedRule
from corpusmill.synthesize.seeds import choose_seeds
from corpusmill.synthesize.shares import place, side_by_side
from tests.synthesize.rows import documents, recipe

WEIGHT = st.floats(0.001, 1_000)


@given(st.lists(WEIGHT, min_size=1, max_size=9), st.floats(0, 1, exclude_max=True))
def test_every_place_is_in_one_share(weights, at):
    shares = side_by_side({str(number): weight for number, weight in enumerate(weights)})
    assert sum(start <= at < end for start, end in shares.values()) == 1
    assert all(
        end - start == pytest.approx(weight / sum(weights))
        for (start, end), weight in zip(shares.values(), weights, strict=True)
    )


def test_documents_fall_into_shares_in_proportion():
    shares = side_by_side({"a": 3, "b": 1})
    places = [place("web_rephrased", f"document {number}") for number in range(4_000)]
    assert sum(start <= at < end for start, end in [shares["a"]] for at in places) / 4_000 == pytest.approx(
        0.75, abs=0.02
    )


def test_a_document_is_a_seed_of_one_style_and_of_every_dataset():
    seeds = documents(*(f"text number {number}" for number in range(60)))
    shares = side_by_side({"a": 2, "b": 1})
    chosen = {
        name: choose_seeds(
            [seeds], recipe(name=f"web_rephrased/{name}", seeds=SeedRule(max_characters=99, share=share))
        )
        for name, share in shares.items()
    }
    assert not set(chosen["a"].doc_ids) & set(chosen["b"].doc_ids)
    assert len(chosen["a"].doc_ids) + len(chosen["b"].doc_ids) == 60
    assert chosen["a"].counts.dropped == {"other_share": len(chosen["b"].doc_ids)}
    chosen["a"].counts.check()
    elsewhere = choose_seeds([seeds], recipe(name="other/a", seeds=SeedRule(max_characters=99, share=shares["a"])))
    assert elsewhere.doc_ids != chosen["a"].doc_ids, "another dataset draws anew"


def test_shipped_styles_share_the_pages():
    shares = sorted(RECIPES[name].seeds.share for name in WEIGHTS)
    assert [end for _, end in shares] == [*(start for start, _ in shares[1:]), 1.0]


REFUSED = {
    "a weight of nothing": (lambda: side_by_side({"a": 1, "b": 0}), "above zero, got {'b': 0}"),
    "an empty share": (lambda: SeedRule(max_characters=9, share=(0.5, 0.5)), r"got \(0.5, 0.5\); \(0, 1\) is every"),
    "beyond everything": (lambda: SeedRule(max_characters=9, share=(0.5, 1.5)), r"got \(0.5, 1.5\)"),
}


@pytest.mark.parametrize(("build", "message"), REFUSED.values(), ids=REFUSED)
def test_refused_at_once(build, message):
    with pytest.raises(ValueError, match=message):
        build()
