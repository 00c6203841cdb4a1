"""What a failed partition holds back, and what --failed runs."""

import pytest

from jobs.backfill import Failure, Outcome, held_partitions
from jobs.failed import PartitionStates, failed_work
from tests.jobs.test_asset_graph import GRAPH

WORK = {key: node.partitions for key, node in GRAPH.items()}


@pytest.mark.parametrize(
    ("key", "bad", "held"),
    [
        ("curated/web/signatures", {"sources/web/records": {"2024-10"}}, ("2024-10",)),
        ("curated/web/resolution", {"curated/web/signatures": {"2024-10"}}, ()),
        ("curated/web/resolution", {"curated/web/signatures": {"2024-10", "2024-20", "2024-30"}}, ("",)),
        ("curated/web/documents", {"curated/web/resolution": {""}}, ("2024-30", "2024-10", "2024-20")),
        ("synthesized/web/requests", {"curated/web/documents": {"2024-10"}}, ("2024-10|plain", "2024-10|rhyme")),
        ("mixed/mixtures/plan", {"synthesized/web/requests": {"2024-10|plain"}}, ()),
        ("sources/code/records", {"sources/web/records": {"2024-10"}}, ()),
    ],
)
def test_a_failure_holds_back_what_is_made_from_it_and_no_more(key, bad, held):
    assert held_partitions(GRAPH, WORK, key, bad) == held


def states(**failed_and_made: tuple[set[str], set[str]]) -> dict[str, PartitionStates]:
    default = {key: (set(), set(node.partitions)) for key, node in GRAPH.items()}
    given = {key.replace("__", "/"): value for key, value in failed_and_made.items()}
    return {
        key: PartitionStates(failed=frozenset(failed), made=frozenset(made))
        for key, (failed, made) in {**default, **given}.items()
    }


def test_nothing_failed_nothing_to_run():
    assert failed_work(GRAPH, list(GRAPH), states()) == {}


def test_failed_runs_what_failed_and_what_was_never_made_because_of_it():
    rest = {"2024-20", "2024-30"}
    styled = {name for name in GRAPH["synthesized/web/requests"].partitions if not name.startswith("2024-10")}
    found = failed_work(
        GRAPH,
        list(GRAPH),
        states(
            sources__web__records=({"2024-10"}, rest),
            curated__web__signatures=({"2024-10"}, rest),
            curated__web__documents=(set(), rest),
            synthesized__web__requests=(set(), styled),
        ),
    )
    assert found == {
        "sources/web/records": ("2024-10",),
        "curated/web/signatures": ("2024-10",),
        "curated/web/resolution": ("",),
        "curated/web/documents": ("2024-10",),
        "synthesized/web/requests": ("2024-10|plain", "2024-10|rhyme"),
    }


def test_what_was_made_of_an_older_input_is_made_again_with_it():
    found = failed_work(GRAPH, list(GRAPH), states(curated__web__signatures=({"2024-10"}, {"2024-10"})))
    assert found["curated/web/documents"] == ("2024-10",)
    assert found["synthesized/web/requests"] == ("2024-10|plain", "2024-10|rhyme")
    assert "sources/web/records" not in found


def test_each_way_to_end_is_counted_once():
    def failure(asset: str, cause: str, **how: bool) -> Failure:
        return Failure(asset=asset, partition="2024-10", reason="r", cause=cause, **how)

    records, signatures = "sources/web/records", "curated/web/signatures"
    outcome = Outcome(
        made={"sources/code/records": ("a", "b")},
        failures=[failure(records, records), failure(signatures, records), failure("x", "x", was_canceled=True)],
        held_back={"curated/web/documents": ("2024-10",)},
    )
    assert outcome.numbers() == {
        "done": 2,
        "failed": 1,
        "canceled": 1,
        "not run because an input was not made": 2,
    }


def test_what_was_never_made_for_another_reason_stays_unmade():
    found = failed_work(GRAPH, list(GRAPH), states(curated__web__documents=(set(), {"2024-10"})))
    assert found == {}


def test_failed_looks_only_at_the_chosen_assets():
    failed = states(sources__web__records=({"2024-10"}, set()))
    assert failed_work(GRAPH, ["sources/code/records"], failed) == {}
