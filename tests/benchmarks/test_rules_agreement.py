"""How agreement with a peer is counted, on answers written out."""

import pytest

from benchmarks.peers import peer_python
from benchmarks.rules_agreement import agreement, first_reasons_alike
from benchmarks.texts import Sample, joined_texts, worse_samples

KEPT, DROPPED = [None], ["short"]


def test_a_filter_is_looked_at_where_it_keeps_20_to_80_percent():
    theirs = [KEPT] * 96 + [DROPPED] * 4
    ours = [KEPT] * 96 + [KEPT, *[DROPPED] * 3]
    assert agreement(ours, theirs, 0) == {"agreement": 19 / 20, "texts": 20.0, "kept": 0.8}
    assert agreement(theirs[::-1], theirs[::-1], 0) == {"agreement": 1.0, "texts": 20.0, "kept": 0.8}
    assert agreement([DROPPED, KEPT], [KEPT, DROPPED], 0) == {"agreement": 0.0, "texts": 2.0, "kept": 0.5}


def test_first_reasons_are_alike_when_the_first_filter_that_drops_says_the_same():
    ours = [["a", "b"], [None, "b"], [None, None], [None, "c"]]
    theirs = [["a", None], ["a", "b"], [None, None], [None, "b"]]
    assert first_reasons_alike(ours, theirs) == 0.5


def test_worse_documents_are_the_same_every_time_and_other_than_the_good_ones():
    samples = [Sample(source="s", language="en", text="A line of words. Another one!\n" * 60)] * 12
    worse = worse_samples(samples)
    assert worse == worse_samples(samples)
    assert worse != worse_samples(samples, seed=1)
    assert all(one.source == "worse s" and one.text != samples[0].text for one in worse)


def test_texts_are_joined_until_they_are_large_enough():
    assert joined_texts(["aaa", "bb", "c", "d"], 4) == ["aaa\n\nbb"]


def test_a_peer_that_is_not_pinned_is_refused(tmp_path):
    with pytest.raises(ValueError, match="wanted `name==version`, got datatrove, spacy>=3"):
        peer_python("x", ["datatrove", "spacy>=3", "regex==1"], folder=tmp_path)
    assert list(tmp_path.iterdir()) == []
