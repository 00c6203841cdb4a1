"""Seeds: who is one, chosen by hash whatever the order and the batches."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.synthesize.recipe import SeedRule
from corpusmill.synthesize.seeds import choose_seeds
from tests.synthesize.rows import documents, generator, recipe

MANY = documents(*(f"text number {number}" for number in range(40)))


def test_every_document_is_a_seed_or_has_a_reason():
    rows = documents("long enough", "x" * 30, "short", "   \n   ", "good <|im_end|> bad", "in another tongue")
    languages = pa.array(["EN", "en", "en", "en", "en", "xx"])
    rows = rows.set_column(rows.schema.get_field_index("language"), "language", languages)
    chosen = choose_seeds([rows], recipe(seeds=SeedRule(languages=("en",), min_characters=6, max_characters=25)))
    assert chosen.doc_ids == ("d0",)
    assert chosen.counts.to_json() == {
        "rows_in": 6,
        "kept": 1,
        "dropped": {"control_tokens": 1, "other_language": 1, "too_long": 1, "too_short": 2},
        "failed": {},
    }
    chosen.counts.check()


def test_control_tokens_in_metadata_are_refused_too():
    asked = recipe(metadata=("title",), generator=generator(user="$title $document"))
    assert choose_seeds([documents("x", title="<|im_start|>system")], asked).doc_ids == ()
    assert choose_seeds([documents("x", title="<|im_start|>system")], recipe()).doc_ids == ("d0",)


@given(st.permutations(range(40)), st.integers(1, 40))
def test_the_choice_follows_ids_not_order_or_batches(order, batch_rows):
    asked = recipe(seeds=SeedRule(max_characters=100, max_documents=7))
    shuffled = MANY.take(pa.array(order))
    batches = [shuffled.slice(at, batch_rows) for at in range(0, 40, batch_rows)]
    chosen = choose_seeds(batches, asked)
    assert chosen == choose_seeds([MANY], asked)
    assert chosen.counts.dropped == {"over_budget": 33}


def test_one_more_document_changes_at_most_one_place():
    asked = recipe(seeds=SeedRule(max_characters=100, max_documents=7))
    before = set(choose_seeds([MANY.slice(0, 39)], asked).doc_ids)
    assert len(before - set(choose_seeds([MANY], asked).doc_ids)) <= 1


def test_other_recipes_choose_others():
    rule = SeedRule(max_characters=100, max_documents=7)
    chosen = {choose_seeds([MANY], recipe(name=name, seeds=rule)).doc_ids for name in ("a/b", "a/c")}
    assert len(chosen) == 2


def test_a_column_that_is_not_there_is_refused_with_what_there_is():
    asked = recipe(metadata=("titel", "meta.author"), generator=generator(user="$titel $document"))
    with pytest.raises(
        ValueError, match=r"needs the columns titel, .* there are: doc_id, source, snapshot, url, title"
    ):
        choose_seeds([MANY], asked)


def tiered(*tiers):
    """Documents of these tiers, None for one without."""
    rows = documents(*(f"text {number}" for number in range(len(tiers))))
    metas = [None if tier is None else [("author", "Eve"), ("quality_tier", tier)] for tier in tiers]
    return rows.set_column(rows.schema.get_field_index("meta"), "meta", pa.array(metas, rows.schema.field("meta").type))


def test_seeds_of_some_tiers_of_quality():
    rows = tiered("19", "12", "11", "0", None, "high")
    asked = recipe(seeds=SeedRule(max_characters=99, quality_tiers=(12, 19)))
    chosen = choose_seeds([rows.slice(0, 2), rows.slice(2)], asked)
    assert chosen.doc_ids == ("d0", "d1")
    assert chosen.counts.dropped == {"other_quality_tier": 2, "no_quality_tier": 2}
    low = recipe(seeds=SeedRule(max_characters=99, quality_tiers=(0, 0)))
    assert choose_seeds([rows], low).doc_ids == ("d3",)


def test_tiers_that_the_documents_do_not_have_are_refused_with_what_there_is():
    asked = recipe(seeds=SeedRule(max_characters=99, quality_tiers=(12, 19)))
    rows = documents("one", "two", meta=[("author", "Eve"), ("pages", "3")])
    with pytest.raises(
        ValueError, match=r"tiers \(12, 19\), and none .* name trained `classifiers`.*has: author, pages"
    ):
        choose_seeds([rows], asked)
    with pytest.raises(ValueError, match="Their meta has: nothing"):
        choose_seeds([documents("one")], asked)
    assert choose_seeds([documents("one").slice(0, 0)], asked).doc_ids == ()
    assert choose_seeds([documents("one"), tiered("12")], asked).doc_ids == ("d0",), "one document has a tier"
