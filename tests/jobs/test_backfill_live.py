"""The backfill command against a real code server, webserver and daemon: one input fails, is mended, and --failed ends it.

The tests of this module are one story, told in order over one instance.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from corpusmill.engines.engine_folder import EngineFolder
from corpusmill.engines.lease import lease
from corpusmill.engines.service import EngineSettings
from jobs.asset_graph import read_graph
from jobs.backfill import launch
from jobs.development import TERMINATE
from jobs.failed import read_states
from tests.jobs.live_instance import LiveInstance, live_instance, wait_for

pytestmark = [pytest.mark.dagster, pytest.mark.slow]
STEPS_IN_FLIGHT = """
{ runsOrError(filter: {statuses: [STARTED]}) { ... on Runs { results { stepStats { stepKey } } } } }
"""
EVERYTHING = ("backfill", "--assets", "*")


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveInstance]:
    with live_instance(tmp_path_factory.mktemp("live"), definitions="toy_definitions") as running:
        running.add_partitions("web_snapshots", ["2024-10", "broken"])
        running.add_partitions("mixtures", ["m1"])
        yield running


def made(live: LiveInstance) -> dict[str, set[str]]:
    """Return the partitions that each asset has, from the instance."""
    return {key: set(read_states(live.instance, node).made) for key, node in read_graph(live.instance).items()}


def test_an_unknown_partition_and_an_unknown_asset_list_near_names(live):
    wrong = live.corpusmill(*EVERYTHING, "--partitions", "2024-11")
    assert (wrong.returncode, "did you mean 2024-10" in wrong.stderr) == (2, True), wrong.stderr
    wrong = live.corpusmill("backfill", "--assets", "curated/web/document", "--all")
    assert (wrong.returncode, "did you mean curated/web/documents" in wrong.stderr) == (2, True), wrong.stderr


def test_a_dry_run_before_anything_ran_says_that_it_knows_nothing(live):
    dry = live.corpusmill(*EVERYTHING, "--all", "--dry-run")
    assert dry.returncode == 0, dry.stderr
    assert "never ran" in dry.stdout
    assert "Nothing was launched" in dry.stdout
    assert set().union(*made(live).values()) == set()


def test_a_failing_input_holds_back_only_what_is_made_from_it(live):
    done = live.corpusmill(*EVERYTHING, "--all")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "failed sources/web/records broken: the snapshot broken has no readable file" in done.stdout
    assert "and so not run: curated/web/signatures\n" in done.stdout
    assert "7 done, 1 failed, 0 canceled, 4 not run because an input was not made\n" in done.stdout
    assert "not run synthesized/web_rephrased/requests broken|plain, broken|rhyme: an input was not made" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    assert made(live) == {
        "sources/web/records": {"2024-10"},
        "curated/web/signatures": {"2024-10"},
        "curated/web/resolution": {""},
        "curated/web/documents": {"2024-10"},
        "synthesized/web_rephrased/requests": {"2024-10|plain", "2024-10|rhyme"},
        "mixed/mixtures/plan": {"m1"},
    }


def test_a_dry_run_estimates_from_past_partitions(live):
    (live.folder / "corpusmill.toml").write_text("[prices]\ndevice_hour = 100.0\ncurrency = 'EUR'\n")
    dry = live.corpusmill("backfill", "--assets", "synthesized", "--all", "--dry-run")
    (line,) = [line for line in dry.stdout.splitlines() if "synthesized/web_rephrased/requests  " in line]
    # 4 partitions, 2 of them never made: 4 x 4 documents, 4 x 400 tokens, 4 x 36 s, 4 x 7.2 s at 100 EUR an hour
    assert re.split(r"\s{2,}", line.strip()) == [
        "1",
        "synthesized/web_rephrased/requests",
        "4: 2024-10|plain, 2024-10|rhyme, broken|plain, …",
        "?",
        *("16", "1,600", "0.040", "0.008", "0.80"),
        "2 of 4 themselves",
    ]
    assert "so skipped: 0. Would run: 4.\nNot looked at, so among those that would run: synthesized" in dry.stdout


def test_failed_runs_what_failed_and_what_waited_for_it(live):
    Path(live.folder, "mended").touch()
    done = live.corpusmill(*EVERYTHING, "--failed")
    assert done.returncode == 0, done.stdout + done.stderr
    assert made(live) == {
        "sources/web/records": {"2024-10", "broken"},
        "curated/web/signatures": {"2024-10", "broken"},
        "curated/web/resolution": {""},
        "curated/web/documents": {"2024-10", "broken"},
        "synthesized/web_rephrased/requests": {"2024-10|plain", "2024-10|rhyme", "broken|plain", "broken|rhyme"},
        "mixed/mixtures/plan": {"m1"},
    }


def test_failed_has_nothing_left_to_run(live):
    done = live.corpusmill(*EVERYTHING, "--failed")
    assert (done.returncode, done.stdout) == (0, "No partition failed or was canceled: there is nothing to run.\n")


def test_what_was_canceled_is_told_and_failed_runs_it_again(live):
    hold = Path(live.folder, "hold")
    hold.touch()
    with live.started("backfill", "--assets", "mixed", "--all") as command:
        wait_for(lambda: live.instance.ask(STEPS_IN_FLIGHT)["runsOrError"]["results"])
        (run,) = live.instance.ask("{ runsOrError(filter: {statuses: [STARTED]}) { ... on Runs { results { id } } } }")[
            "runsOrError"
        ]["results"]
        live.instance.ask(TERMINATE, id=run["id"])
        told = command.communicate(timeout=120)[0]
    hold.unlink()
    assert "canceled mixed/mixtures/plan m1: the run was canceled" in told
    assert "0 done, 0 failed, 1 canceled, 0 not run because an input was not made" in told
    again = live.corpusmill("backfill", "--assets", "mixed", "--failed")
    assert "1 done, 0 failed" in again.stdout, again.stdout + again.stderr
    done = live.corpusmill("backfill", "--assets", "mixed", "--failed")
    assert done.stdout == "No partition failed or was canceled: there is nothing to run.\n"


def test_a_second_dev_over_the_same_folder_is_refused(live):
    second = live.corpusmill("dev", "--port", "0", "--definitions", "toy_definitions")
    assert second.returncode == 2
    assert f"already runs over {live.folder}" in second.stderr
    assert live.instance.url in second.stderr


def test_control_c_cancels_what_runs_and_ends_every_process(live, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1] / "engines/toys"))
    state = live.folder / ".corpusmill"
    with lease("toy_service", EngineSettings(linger_seconds=600), state_folder=state):
        (engine,) = (state / "engines").glob("*/")
    Path(live.folder, "hold").touch()
    launch(live.instance, read_graph(live.instance), {"mixed/mixtures/plan": ("m1",)})
    wait_for(lambda: live.instance.ask(STEPS_IN_FLIGHT)["runsOrError"]["results"])
    children = live.children()
    assert len(children) >= 4, "code server, webserver, daemon and the run"
    assert live.interrupt() == 0
    assert [pid for pid in children if _is_alive(pid)] == []
    assert not EngineFolder(engine).is_hosted(), "nobody holds it"
    with dg.DagsterInstance.from_config(str(live.folder / ".corpusmill/dagster")) as instance:
        assert instance.get_runs(limit=1)[0].status == dg.DagsterRunStatus.CANCELED


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
