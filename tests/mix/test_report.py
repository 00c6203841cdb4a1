"""Planned against realised, in true tokens."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.mix.inventory import Inventory, PartitionPin
from corpusmill.mix.mixture import Component, Mixture, Phase
from corpusmill.mix.order import prefix_bound
from corpusmill.mix.plan import Plan
from corpusmill.mix.report import (
    REPORT,
    largest_share_difference,
    phase_rows,
    realise,
    synthetic_share,
    tokens_by_language,
)
from corpusmill.mix.solve import plan

LENGTH = 100


def plan_over(tokens: dict[str, np.ndarray], *, weights: dict[str, float], **settings) -> Plan:
    pins = [
        PartitionPin(
            table=name,
            partition="s1",
            content_hash="h",
            num_sequences=len(held),
            num_tokens=int(held.sum()),
            tokenizer="t",
            sequence_length=LENGTH,
        )
        for name, held in tokens.items()
    ]
    components = tuple(
        Component(name=name, table=name, weight=weight, max_epochs=5) for name, weight in weights.items()
    )
    return plan(Mixture(name="m", components=components, sequence_length=LENGTH, **settings), Inventory(pins=pins))


def test_written_out():
    tokens = {"full": np.array([100, 100]), "half": np.array([40, 60, 50])}
    made = plan_over(tokens, weights={"full": 2, "half": 1}, budget_tokens=600)
    report = realise(made, list(tokens.values()))
    assert report.schema.equals(REPORT)
    assert report.drop_columns(["mix_version", "prefix_distance"]).to_pylist() == [
        {
            "mix": "m",
            "component": "full",
            "table": "full",
            "planned_share": 2 / 3,
            "realised_share": 2 / 3,
            "planned_tokens": 400,
            "realised_tokens": 400,
            "planned_sequences": 4,
            "realised_sequences": 4,
            "num_sequences": 2,
            "num_tokens": 200,
            "epochs": 2.0,
            "fill": 1.0,
            "group": None,
            "language": None,
            "is_synthetic": False,
            "phase_tokens": [400],
        },
        {
            "mix": "m",
            "component": "half",
            "table": "half",
            "planned_share": 1 / 3,
            "realised_share": 1 / 3,
            "planned_tokens": 200,
            "realised_tokens": 200,
            "planned_sequences": 4,
            "realised_sequences": 4,
            "num_sequences": 3,
            "num_tokens": 150,
            "epochs": 4 / 3,
            "fill": 0.5,
            "group": None,
            "language": None,
            "is_synthetic": False,
            "phase_tokens": [200],
        },
    ]


def test_case_27_proportions_are_tokens_planned_and_realised():
    """Sequences of one source are nearly full, of the other nearly empty: equal weights give equal tokens."""
    draw = np.random.default_rng(1)
    tokens = {"full": draw.integers(95, 101, 4000), "empty": draw.integers(5, 16, 30_000)}
    made = plan_over(tokens, weights={"full": 1, "empty": 1}, budget_tokens=300_000)
    report = realise(made, list(tokens.values())).to_pylist()
    assert [row["planned_tokens"] for row in report] == [150_000, 150_000]
    assert [row["realised_share"] for row in report] == pytest.approx([0.5, 0.5], abs=0.001)
    assert report[1]["realised_sequences"] > 9 * report[0]["realised_sequences"]


@given(st.lists(st.lists(st.integers(1, LENGTH), min_size=1, max_size=60), min_size=1, max_size=5), st.data())
def test_the_walk_counts_what_the_stream_gives(held, data):
    tokens = {f"c{n}": np.array(item) for n, item in enumerate(held)}
    weights = data.draw(st.lists(st.integers(1, 5), min_size=len(held), max_size=len(held)))
    try:
        made = plan_over(tokens, weights=dict(zip(tokens, weights, strict=True)))
    except ValueError as error:
        assert "less than one sequence" in str(error)
        return
    report = realise(made, list(tokens.values())).to_pylist()
    found = made.order().locate(np.arange(made.num_positions))
    for number, (row, item) in enumerate(zip(report, tokens.values(), strict=True)):
        assert row["realised_tokens"] == item[found.index_T[found.component_T == number]].sum()
        assert row["realised_sequences"] == row["planned_sequences"]
        assert row["prefix_distance"] <= prefix_bound(len(held)) + 1e-9
    assert sum(row["realised_share"] for row in report) == pytest.approx(1)


def test_sequences_that_are_not_those_of_the_plan_are_refused():
    tokens = {"full": np.array([100, 100])}
    made = plan_over(tokens, weights={"full": 1})
    with pytest.raises(ValueError, match="planned over 2 sequences with 200 tokens, got 2 with 199; plan it again"):
        realise(made, [np.array([100, 99])])


def test_the_largest_difference_is_of_shares():
    tokens = {"a": np.array([100, 100]), "b": np.array([10, 90])}
    made = plan_over(tokens, weights={"a": 1, "b": 1}, budget_tokens=100)
    report = realise(replace(made), list(tokens.values()))
    assert largest_share_difference(report) == pytest.approx(abs(0.5 - report["realised_share"].to_pylist()[0]))


def test_phases_languages_and_the_synthetic_share_are_of_true_tokens():
    tokens = {"a": np.full(40, 100), "b": np.full(40, 50)}
    phases = (Phase(name="main", weight=3), Phase(name="anneal", weight=1, weights={"a": 0, "b": 1}))
    made = plan_over(tokens, weights={"a": 1, "b": 1}, budget_tokens=4000, phases=phases)
    declared = (replace(made.components[0], language="en"), replace(made.components[1], is_synthetic=True))
    made = replace(made, components=declared)
    report = realise(made, list(tokens.values()))
    assert phase_rows(made, report) == [
        {"phase": "main", "first_position": 0, "sequences": 45, "tokens": 3000, "shares": "a 50.0%, b 50.0%"},
        {"phase": "anneal", "first_position": 45, "sequences": 20, "tokens": 1000, "shares": "b 100.0%"},
    ]
    assert tokens_by_language(report) == {"not declared": 2500, "en": 1500}
    assert synthetic_share(report) == 0.625
