"""Buckets of a component: the curve rises, keeps its integral and its cap; duplicate counts by factors."""

import re
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.mix.inventory import Inventory
from corpusmill.mix.mixture import Mixture
from corpusmill.mix.solve import plan
from corpusmill.mix.upsampling import Bucket, Upsampling, bucket_shares, most_tokens
from tests.mix.held import component, mixture, pin


def buckets(number: int, **settings) -> Upsampling:
    return Upsampling(buckets=tuple(Bucket(name=f"q{n}", partitions=(f"q{n}",)) for n in range(number)), **settings)


@given(
    st.lists(st.integers(1, 10**9), min_size=2, max_size=20),
    st.integers(1, 999),
    st.sampled_from([0.0, 0.25, 0.4]),
    st.integers(1, 70),
)
def test_the_curve_rises_keeps_its_integral_and_no_bucket_passes_the_cap(tokens, part, cut, cap):
    upsampling, max_epochs = buckets(len(tokens), drop_below=cut), Fraction(cap, 10)
    wanted = most_tokens(upsampling, tokens, max_epochs=max_epochs) * part / 1000
    shares = bucket_shares(upsampling, tokens, wanted=wanted, max_epochs=max_epochs)
    epochs = [float(share * wanted / held) for share, held in zip(shares, tokens, strict=True)]
    assert sum(shares) == 1
    # Powers are rounded to 12 digits of the whole component, so a tiny bucket may be off by its own size.
    slack = [1e-11 * float(wanted) / held for held in tokens]
    between = [one + other for one, other in pairwise(slack)]
    assert all(one <= other + off for (one, other), off in zip(pairwise(epochs), between, strict=True))
    assert all(one <= float(max_epochs) + off for one, off in zip(epochs, slack, strict=True))


def test_at_the_most_every_kept_bucket_is_read_up_to_the_cap():
    upsampling = buckets(5, drop_below=0.4)
    most = most_tokens(upsampling, [10] * 5, max_epochs=Fraction(7))
    assert most == 210
    assert bucket_shares(upsampling, [10] * 5, wanted=most, max_epochs=Fraction(7)) == [0, 0, *[Fraction(1, 3)] * 3]


def test_the_published_example():
    """Dolma 3: the worst 40 % dropped, the best twentieth repeated nearly seven times, when a pool is read once."""
    shares = bucket_shares(buckets(20, drop_below=0.4), [5] * 20, wanted=Fraction(100), max_epochs=Fraction(7))
    epochs = [float(share * 100 / 5) for share in shares]
    assert epochs[:8] == [0.0] * 8
    assert 5.5 < epochs[-1] < 7


POOL = Inventory(
    pins=[pin("web", sequences=100, tokens=1000, partition=f"q{n}") for n in range(4)]
    + [pin("code", sequences=200, tokens=1000)]
)


def test_buckets_are_planned_as_components():
    web = component("web", 0.8, max_epochs=2, upsampling=buckets(4, drop_below=0.25))
    made = plan(mixture(web, component("code", 0.2), budget_tokens=5000), POOL)
    assert [one.name for one in made.components] == ["web:q0", "web:q1", "web:q2", "web:q3", "code"]
    tokens = [one.planned_tokens for one in made.components]
    assert sum(tokens) == 5000 and tokens[4] == 1000 and tokens[0] == 0 < tokens[1] < tokens[2] < tokens[3] <= 2000
    assert made.components[0].planned_sequences == 0
    assert made.order().count(made.num_positions).tolist() == [one.planned_sequences for one in made.components]


def test_a_bucket_too_small_for_a_position_gives_its_tokens_to_the_next_better_one():
    web = component("web", 1, max_epochs=7, upsampling=buckets(4))
    made = plan(mixture(web, budget_tokens=400), POOL)
    # The power is 70: the third bucket would give 400 x 0.75^70 tokens.
    assert [one.planned_tokens for one in made.components] == [0, 0, 0, 400]


def test_a_curve_that_cannot_give_as_much_says_so():
    web = component("web", 1, max_epochs=2, upsampling=buckets(4, drop_below=0.25))
    with pytest.raises(ValueError) as caught:
        plan(mixture(web, budget_tokens=6300), POOL)
    assert "'web' is short by 300 tokens" in str(caught.value)
    assert "2 epochs of 4,000 with its buckets are 6,000" in str(caught.value)
    assert "set budget_tokens to at most 6000, or max_epochs to at least web=2.1." in str(caught.value)
    assert plan(mixture(web, budget_tokens=6000), POOL).planned_tokens == 6000


def test_documents_with_many_duplicates_are_read_more_often():
    counted = Upsampling(
        buckets=tuple(
            Bucket(name=name, partitions=(f"q{n}",), factor=factor)
            for n, (name, factor) in enumerate([("1", 1), ("2-5", 2), ("6-99", 3), ("100", 1)])
        )
    )
    web = component("web", 1, max_epochs=3, upsampling=counted)
    made = plan(mixture(web), POOL)
    assert [one.planned_tokens for one in made.components] == [1000, 2000, 3000, 1000]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: buckets(1), "needs at least two buckets with different names, got ['q0']"),
        (lambda: buckets(2, drop_below=1), "drop_below must be a share from 0 to less than 1"),
        (lambda: Bucket(name="a", factor=-1), "factor must be a number from 0, got -1"),
        (
            lambda: Upsampling(buckets=(Bucket(name="a", factor=1), Bucket(name="b"))),
            "give all buckets a factor, one at least above 0, or none; got [1] for ['a', 'b']",
        ),
    ],
)
def test_buckets_that_make_no_sense_are_refused(build, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        build()


def test_a_bucket_without_tokens_is_named():
    empty = Inventory(pins=[*POOL.pins[:3], pin("web", sequences=0, tokens=0, partition="q3")])
    with pytest.raises(ValueError, match=r"component 'web:q3' is empty: .* holds no token in q3; leave it out"):
        plan(mixture(component("web", 1, upsampling=buckets(4))), empty)


def test_a_mixture_with_buckets_comes_back_from_json():
    wanted = mixture(component("web", 1, upsampling=buckets(3, drop_below=0.4)))
    assert Mixture.from_json(wanted.to_json()) == wanted
