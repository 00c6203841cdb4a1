"""Statistics of chunks: what they say of a chunk, and that they add up."""

import numpy as np
import pytest

from benchmarks.supervised_passages import made_passages
from corpusmill.synthesize.supervise.drift import drift, expected_variation, total_variation
from corpusmill.synthesize.supervise.features import Output, features, text_features
from corpusmill.synthesize.supervise.statistics import (
    Statistics,
    chunk_statistics,
    distinct_share,
    mean_value,
    spread,
    start_of,
    tokens_per_accepted_token,
)

SENTENCES = [
    "The harbour of Tallow was built in the last century by fishermen of the coast",
    "Energy can be neither made nor lost, and only its form changes over time",
    "A list holds items in order, and a set holds each of its items only once",
    "Natalia sold clips to friends in April and half as many of them in May",
    "Rivers carry sand and stones down to the plains, where they are left behind",
    "The function returns a new object and raises an error if memory is short",
]


def statistics(*outputs: Output) -> Statistics:
    return chunk_statistics([features(output) for output in outputs])


def outputs(texts, **columns):
    return [Output(text=text, **columns) for text in texts]


def alike(found: Statistics) -> int:
    """Pairs with an overlap of at least 0.2."""
    return int(found.histograms["pair_overlap"][24:].sum())


def test_outputs_are_counted_by_reason_and_failed_ones_apart():
    found = statistics(
        Output(text="a b c", reason=None),
        Output(text="a b c", reason="too_short"),
        Output(text="", reason="failed/prompt_too_long"),
    )
    assert dict(found.reasons) == {"accepted": 1, "too_short": 1}
    assert dict(found.failures) == {"failed/prompt_too_long": 1}
    assert (found.num_outputs, found.num_accepted, found.num_failed) == (2, 1, 1)


def test_statistics_of_two_chunks_add_up_to_those_of_both():
    first = statistics(*outputs(SENTENCES[:4], reason=None, completion_tokens=10))
    second = statistics(*outputs(SENTENCES[4:], reason="copied", completion_tokens=5, prompt_tokens=7))
    both = first + second
    assert (both.num_outputs, both.num_accepted, both.num_pairs) == (6, 4, 3)
    assert (both.prompt_tokens, both.completion_tokens, both.accepted_tokens) == (14, 50, 40)
    assert both.histograms["length_ratio"].sum() == 6
    whole = statistics(*outputs(SENTENCES))
    assert np.allclose(both.vector, whole.vector)
    assert np.array_equal(both.sketch, whole.sketch)
    assert distinct_share(both) == distinct_share(whole)


def test_texts_of_one_template_are_alike_and_different_texts_are_not():
    template = [f"This text is about {word}. It gives the reader a clear overview of it." for word in "abcdef"]
    assert alike(statistics(*outputs(template))) == 3
    assert alike(statistics(*outputs(SENTENCES))) == 0


def test_what_the_seeds_share_makes_outputs_no_more_alike():
    template = [f"This text is about {word}. It gives the reader a clear overview of it." for word in "abcdef"]
    assert alike(statistics(*(Output(text=text, seed=text) for text in template))) == 0


def test_empty_outputs_are_all_alike():
    assert alike(statistics(*outputs([""] * 4))) == 2


def test_pairs_that_begin_or_end_alike_are_counted():
    found = statistics(*outputs([f"In this short text we see {item}" for item in SENTENCES]))
    assert (found.num_pairs, found.same_opening, found.same_closing) == (3, 3, 0)


def test_spread_is_small_where_the_words_are_the_same():
    assert spread(statistics(*outputs([SENTENCES[0]] * 6))) == pytest.approx(0, abs=1e-6)
    assert spread(statistics(*outputs(SENTENCES))) > 0.7


def test_the_share_of_distinct_runs_falls_with_repetition_across_documents():
    chance = np.random.default_rng(0)
    texts = [" ".join(map(str, chance.integers(0, 10_000, 200))) for _ in range(40)]
    assert distinct_share(statistics(*outputs(texts))) > 0.85
    assert distinct_share(statistics(*outputs(texts[:4] * 10))) == pytest.approx(0.1, rel=0.3)


def test_cost_is_told_for_each_accepted_token():
    one = Output(text="a", reason=None, prompt_tokens=30, completion_tokens=10)
    other = Output(text="b", reason="copied", prompt_tokens=30, completion_tokens=10)
    assert tokens_per_accepted_token(statistics(one, other)) == 8.0
    assert tokens_per_accepted_token(statistics(other)) is None


def test_the_distance_from_the_start_is_that_of_the_outputs_less_that_of_their_seeds():
    start = start_of([features(Output(text=text, seed=text)) for text in SENTENCES[:3]])
    same = chunk_statistics([features(Output(text=text, seed=text)) for text in SENTENCES], start)
    middle = len(same.histograms["start_closeness"]) // 2
    assert same.histograms["start_closeness"][middle - 1 : middle + 1].sum() == 6
    away = chunk_statistics([features(Output(text="zzz yyy xxx", seed=text)) for text in SENTENCES[:3]], start)
    assert away.histograms["start_closeness"][:middle].sum() == 3


def test_outputs_in_other_words_lie_among_the_first_ones_as_their_seeds_do_until_they_are_about_something_else():
    seeds = made_passages(48)
    said = [" ".join(word[::-1] for word in seed.split()) for seed in seeds]
    written = [features(Output(text=text, seed=seed)) for text, seed in zip(said, seeds, strict=True)]
    astray = [features(Output(text=text, seed=seed)) for text, seed in zip(reversed(said), seeds, strict=True)]
    start = start_of(written[::2])
    assert mean_value("likeness", chunk_statistics(written[1::2], start)) > 0.5
    assert mean_value("likeness", chunk_statistics(astray[1::2], start)) < 0.2


def test_an_output_of_the_start_says_nothing_of_its_likeness_to_itself():
    first = [features(Output(text=text[::-1], seed=text)) for text in SENTENCES[:2]]
    found = chunk_statistics(first, start_of(first), is_start=True).histograms["likeness"]
    assert found[len(found) // 2] == 2


def test_a_chunk_without_answers_has_statistics_too():
    found = statistics(Output(text="", reason="failed/engine_error"))
    assert found.num_outputs == 0
    assert (found + found).to_json()["failures"] == {"failed/engine_error": 2}


def test_long_texts_cost_no_more_than_their_first_words():
    start = " ".join(f"w{number}" for number in range(2_000))
    assert np.array_equal(text_features(start).vector, text_features(start + " more" * 1_000).vector)


def test_drift_is_shown_beside_the_noise_of_its_sample_sizes():
    early = statistics(*outputs(SENTENCES, reason=None))
    late = statistics(*outputs([text + " and more of the same" * 20 for text in SENTENCES], reason="copied"))
    found = drift(early, late)
    assert found["reasons"] == 1.0
    assert found["lengths"] == 1.0
    assert drift(early, early)["words"] == 0.0
    assert drift(early, statistics()) == {}


def test_samples_of_one_distribution_lie_about_the_expected_noise_apart():
    chance = np.random.default_rng(0)
    shares = [0.5, 0.3, 0.2]
    pairs = [(chance.multinomial(64, shares), chance.multinomial(640, shares)) for _ in range(500)]
    distances = [total_variation(left, right) for left, right in pairs]
    assert np.mean(distances) == pytest.approx(np.mean([expected_variation(*pair) for pair in pairs]), rel=0.1)
