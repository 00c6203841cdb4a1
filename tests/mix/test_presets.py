"""Published mixtures add up to what was published, and can be planned."""

from fractions import Fraction

import pytest

from corpusmill.mix.inventory import Inventory
from corpusmill.mix.presets import PRESETS, preset
from corpusmill.mix.solve import plan
from tests.mix.held import pin


@pytest.mark.parametrize(
    ("name", "exact_sum"),
    [
        # 5.93 trillion in the table: rounded to three digits.
        ("dolma3_6t", "5929.31"),
        # Rounding of 24 topics to hundredths of a per cent.
        ("dolma3_web_topics", "99.99"),
        ("laguna_xs2", "100"),
        ("nemotron3_super_phase1", "100.6"),
    ],
)
def test_the_numbers_add_up_again(name, exact_sum):
    found = PRESETS[name]
    added = sum(Fraction(repr(weight)) for weight in found.weights.values())
    assert added == Fraction(exact_sum)
    assert abs(float(added) - found.total) <= 0.0005 * found.total


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_planned_in_their_proportions(name):
    mixture = preset(name, sequence_length=10)
    pins = [pin(one.name, sequences=10**6, tokens=10**7) for one in mixture.components]
    made = plan(mixture, Inventory(pins=pins))
    total = sum(PRESETS[name].weights.values())
    for one in made.components:
        assert one.planned_tokens / made.planned_tokens == pytest.approx(
            PRESETS[name].weights[one.name] / total, abs=1e-7
        )


def test_shares_of_dolma_3_are_those_of_its_table():
    made = preset("dolma3_6t", sequence_length=10)
    total = sum(one.weight for one in made.components)
    shares = {one.name: round(100 * one.weight / total, 2) for one in made.components}
    assert shares == {
        "common_crawl": 76.06,
        "olmocr_science_pdfs": 13.58,
        "stack_edu": 6.9,
        "finemath": 2.56,
        "arxiv": 0.86,
        "wikipedia": 0.04,
    }


def test_an_unknown_preset_is_refused():
    with pytest.raises(ValueError, match="there is no preset 'dolma'; there are dolma3_6t, dolma3_web_topics"):
        preset("dolma", sequence_length=10)
