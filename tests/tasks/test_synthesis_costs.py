"""What accepted tokens cost: time shared out over answers, and what is left of it per accepted token."""

import pyarrow as pa
import pytest

from corpusmill.settings import PriceSettings
from corpusmill.synthesize.store import AnswerStore, Spent, with_device_seconds
from corpusmill.tasks.synthesis_costs import acceptance_costs
from tests.synthesize.rows import completion, completions

FREE = PriceSettings()


def answered(**tokens: int) -> pa.Table:
    return completions(*(completion(name, "x") | {"completion_tokens": number} for name, number in tokens.items()))


def test_the_time_of_a_wave_is_shared_out_by_tokens() -> None:
    wave = completions(
        completion("a", "x") | {"completion_tokens": 30},
        completion("b", "x") | {"completion_tokens": 10},
        completion("tool", "x"),
    )
    assert with_device_seconds(wave, 8.0)["device_seconds"].to_pylist() == [6.0, 2.0, 0.0]
    assert with_device_seconds(completions(completion("tool", "x")), 8.0)["device_seconds"].to_pylist() == [0.0]


def test_a_seed_pays_for_every_answer_of_its_program() -> None:
    store = AnswerStore([with_device_seconds(answered(a=30, b=10), 8.0), with_device_seconds(answered(c=5), 1.0)])
    assert store.spent(["a", "c", "c", "not asked"]) == Spent(completion_tokens=35, device_seconds=7.0)
    assert store.spent([]) == Spent()


def test_accepted_tokens_pay_for_all_that_was_asked() -> None:
    rows = with_device_seconds(answered(a=300, b=100), 3600.0)
    costs = acceptance_costs(rows, accepted_tokens=100, prices=PriceSettings(device_hour=2.0))
    assert costs == {
        "prompt_tokens": 0,
        "completion_tokens": 400,
        "accepted_tokens": 100,
        "device_hours": 1.0,
        "tokens_per_device_second": pytest.approx(0.11),
        "accepted_tokens_per_device_hour": 100.0,
        "device_seconds_per_accepted_token": 36.0,
        "cost_per_million_accepted_tokens": 20_000.0,
    }


def test_nothing_accepted_or_nothing_measured_has_no_cost_per_token() -> None:
    rows = with_device_seconds(answered(a=300), 3600.0)
    assert "accepted_tokens_per_device_hour" not in acceptance_costs(rows, accepted_tokens=0, prices=FREE)
    assert acceptance_costs(answered(a=300), accepted_tokens=300, prices=FREE) == {
        "prompt_tokens": 0,
        "completion_tokens": 300,
        "accepted_tokens": 300,
    }
