"""Runs killed with kill -9 at exact places, and runs that sleep while a newer one commits.

The next run finishes, every table equals that of a lake which nobody disturbed, and finished work is not done again.
"""

import io
import signal
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpusmill.engines.lease import lease
from corpusmill.tasks.inference import inference_engine_settings
from tests.engines.toys.waiting import wait_until
from tests.killed.snapshots import FILES, SNAPSHOTS, write_snapshots
from tests.killed.stops import Stop
from tests.killed.way import SCRIPT, WAIT_SECONDS, Way, processes_of, way

pytestmark = [pytest.mark.dagster, pytest.mark.slow]
FIRST, SECOND = SNAPSHOTS
ANSWERED = f"{FIRST}|distilled"
EXTRACTED = "curated/web/extracted"
SIGNATURES = "curated/web/signatures"
RESOLUTION = "curated/web/resolution"
DUPLICATES = "curated/web/duplicates"
DOCUMENTS = "curated/web/documents"
COMPLETIONS = "synthesized/web_rephrased/completions"
CHUNK = 3
"""Requests, as the settings of the tests say."""


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sources")
    write_snapshots(folder)
    return folder


@pytest.fixture(scope="module")
def undisturbed(sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Way:
    """A lake where every step ran once, one after the other."""
    made = way(tmp_path_factory.mktemp("undisturbed"), sources=sources)
    made.run()
    return made


@pytest.fixture
def disturbed(sources: Path, tmp_path: Path) -> Way:
    return way(tmp_path, sources=sources)


def test_the_undisturbed_lake_has_what_these_tests_are_about(undisturbed: Way) -> None:
    documents = undisturbed.result(DOCUMENTS, SECOND)["counts"]
    assert documents["kept"] > 4 and documents["dropped"].keys() >= {"exact_duplicate", "too_few_words"}
    assert undisturbed.result("sources/web/records", FIRST)["counts"]["failed"] == {"invalid_json": FILES}
    assert undisturbed.result("synthesized/web_rephrased/documents", ANSWERED)["counts"]["kept"] > 4
    assert len(undisturbed.asked()) == len(set(undisturbed.asked())) > 6 * CHUNK


def shard_written(table: str, number: int) -> Stop:
    """Stop right after the checkpoint of the table's `number`-th shard."""
    return Stop(when="after", function="corpusmill.lake.store:Store.write", about=f"staging/{table}/", call=number)


def test_case_19_runs_killed_in_curation_lose_no_finished_shard(disturbed: Way, undisturbed: Way) -> None:
    """One after the first of many shards, the next between the last shard and the commit."""
    killed_after = {EXTRACTED: 1, DOCUMENTS: FILES}
    disturbed.run("sources_web")
    for table, number in killed_after.items():
        disturbed.kill(f"curated_web {FIRST}", stop=shard_written(table, number))
        assert f"{table} {FIRST}" not in disturbed.contents()
    disturbed.run("curated_web")
    assert disturbed.contents() == undisturbed.contents("sources", "curated")
    metrics = {table: disturbed.result(table, FIRST)["metrics"] for table in killed_after}
    assert {table: found["shards_reused"] for table, found in metrics.items()} == killed_after
    assert {found["shards"] for found in metrics.values()} == {FILES}


def swap(table: str, when: Literal["before", "after"]) -> Stop:
    """Stop around the step that makes a written version of the table the current one."""
    return Stop(when=when, function="corpusmill.lake.tables:commit_change", about=f"tables/{table}/")


def report_written(table: str) -> Stop:
    """Stop when all files are written and the commit has not begun."""
    return Stop(when="after", function="corpusmill.lake.store:Store.write", about=f"reports/{table}/")


def test_case_19_runs_killed_at_their_commit_commit_nothing(disturbed: Way, undisturbed: Way) -> None:
    disturbed.run("sources_web")
    for stop in (report_written(DOCUMENTS), swap(DOCUMENTS, "before")):
        disturbed.kill(f"curated_web {FIRST}", stop=stop)
        assert f"{DOCUMENTS} {FIRST}" not in disturbed.contents()
    disturbed.run("curated_web")
    assert disturbed.contents() == undisturbed.contents("sources", "curated")


def test_case_19_runs_killed_in_every_stage_of_deduplication_redo_one_shard_at_most(
    disturbed: Way, undisturbed: Way
) -> None:
    """One between two shards of signatures, one when the resolution is written, one at the commit of the duplicates."""
    step = f"curated_web {FIRST}"
    stops = {
        SIGNATURES: shard_written(SIGNATURES, 2),
        RESOLUTION: report_written(RESOLUTION),
        DUPLICATES: swap(DUPLICATES, "before"),
    }
    disturbed.run("sources_web")
    for table, stop in stops.items():
        disturbed.kill(step, stop=stop)
        assert f"{table} {FIRST}" not in disturbed.contents() and f"{table} all" not in disturbed.contents()
    disturbed.run("curated_web")
    assert disturbed.contents() == undisturbed.contents("sources", "curated")
    metrics = disturbed.result(SIGNATURES, FIRST)["metrics"]
    assert (metrics["shards"], metrics["shards_reused"]) == (FILES, 2)


def test_a_commit_that_nobody_was_told_of_is_told_and_not_repeated(disturbed: Way, undisturbed: Way) -> None:
    step = f"curated_web {FIRST}"
    disturbed.run("sources_web")
    disturbed.kill(step, stop=swap(DOCUMENTS, "after"))
    committed = disturbed.lake.partition(DOCUMENTS, FIRST)
    assert committed is not None
    assert not disturbed.is_current(step)
    disturbed.run("curated_web")
    assert disturbed.is_current(step)
    assert disturbed.lake.partition(DOCUMENTS, FIRST) == committed
    assert disturbed.contents() == undisturbed.contents("sources", "curated")


def test_answers_outlive_a_run_killed_in_a_chunk_and_another_at_its_commit(disturbed: Way, undisturbed: Way) -> None:
    step = f"synthesized_web_rephrased {ANSWERED}"
    disturbed.run("sources_web", "curated_web")
    in_third_chunk = 2 * CHUNK + 2
    disturbed.kill(step, stop=Stop(when="before", function=SCRIPT, about="ChatRequest", call=in_third_chunk))
    assert len(disturbed.keys(f"staging/{COMPLETIONS}/")) == 2
    lost = disturbed.asked()[2 * CHUNK :]
    assert len(lost) == 1
    disturbed.kill(step, stop=swap(COMPLETIONS, "before"))
    num_asked = len(disturbed.asked())
    disturbed.run(step)
    assert len(disturbed.asked()) == num_asked, "all answers were in the lake when the second run died"
    disturbed.run("synthesized_web_rephrased")
    assert disturbed.is_current(step)
    assert disturbed.contents() == undisturbed.contents()
    assert sorted(disturbed.asked()) == sorted([*undisturbed.asked(), *lost])


def test_a_run_that_wakes_after_a_newer_commit_is_refused(disturbed: Way, undisturbed: Way) -> None:
    step = f"curated_web {FIRST}"
    disturbed.run("sources_web")
    with disturbed.started(step, stop=swap(DOCUMENTS, "before")) as sleeper:
        disturbed.run("curated_web")
        assert disturbed.contents() == undisturbed.contents("sources", "curated")
        version, files = disturbed.lake.snapshot_id(DOCUMENTS), disturbed.lake.files(DOCUMENTS)
        sleeper.send_signal(signal.SIGCONT)
        assert sleeper.wait(WAIT_SECONDS) == 1
    said = disturbed.log(step).read_text().splitlines()[-1]
    assert said.startswith(f"curated_web failed on {FIRST}: attempt ")
    assert "may not commit: the newest is attempt" in said
    assert (disturbed.lake.snapshot_id(DOCUMENTS), disturbed.lake.files(DOCUMENTS)) == (version, files)
    assert disturbed.lake.read(DOCUMENTS).num_rows == sum(file.num_rows for file in files)
    assert disturbed.is_current(step)


def test_answers_of_a_run_that_wakes_after_a_newer_commit_change_nothing(disturbed: Way, undisturbed: Way) -> None:
    step = f"synthesized_web_rephrased {ANSWERED}"
    disturbed.run("sources_web", "curated_web")
    in_second_chunk = Stop(when="before", function=SCRIPT, about="ChatRequest", call=CHUNK + 1)
    with disturbed.started(step, stop=in_second_chunk) as sleeper:
        disturbed.run("synthesized_web_rephrased")
        version = disturbed.lake.snapshot_id(COMPLETIONS)
        sleeper.send_signal(signal.SIGCONT)
        assert sleeper.wait(WAIT_SECONDS) == 1
    assert "may not commit: the newest is attempt" in disturbed.log(step).read_text()
    assert disturbed.lake.snapshot_id(COMPLETIONS) == version
    assert disturbed.contents() == undisturbed.contents()


def test_two_snapshots_that_resolve_duplicates_at_once_both_succeed(disturbed: Way, undisturbed: Way) -> None:
    """Both have begun the one table of all snapshots when either commits it."""
    disturbed.run("sources_web")
    at_commit = swap("curated/web/resolution", "before")
    with (
        disturbed.started(f"curated_web {SECOND}", stop=at_commit) as second,
        disturbed.started(f"curated_web {FIRST}", stop=at_commit) as first,
    ):
        second.send_signal(signal.SIGCONT)
        first.send_signal(signal.SIGCONT)
        assert (first.wait(WAIT_SECONDS), second.wait(WAIT_SECONDS)) == (0, 0)
    assert disturbed.contents() == undisturbed.contents("sources", "curated")
    assert disturbed.is_current(f"curated_web {FIRST}") and disturbed.is_current(f"curated_web {SECOND}")


@pytest.mark.spark
def test_a_killed_run_leaves_no_spark_behind(sources: Path, undisturbed: Way, tmp_path: Path) -> None:
    """The killed run had started Spark and alone held it."""
    plain = way(tmp_path, sources=sources)
    spark = {"engine": "spark", "master": "local[2]", "driver_memory": "1g", "linger_seconds": 10}
    on_spark = way(tmp_path, sources=sources, spark=spark)
    plain.run("sources_web")
    first_shard = f"{EXTRACTED}: shard 1 of {FILES}"
    reported = Stop(when="before", function="corpusmill.tasks.progress:SparseProgress.report", about=first_shard)
    with on_spark.started(f"curated_web {FIRST}", stop=reported) as run:
        assert "java" in [process.name() for process in processes_of(tmp_path)]
        run.kill()
        wait_until(lambda: not processes_of(tmp_path))
    on_spark.run(f"curated_web {FIRST}")
    wait_until(lambda: not processes_of(tmp_path))
    plain.run(f"curated_web {SECOND}")
    assert plain.contents() == undisturbed.contents("sources", "curated")
    assert plain.result(EXTRACTED, FIRST)["metrics"]["shards_reused"] >= 1


@pytest.mark.vllm
@pytest.mark.ray
def test_no_answer_of_the_model_is_asked_again(sources: Path, tmp_path: Path) -> None:
    step = f"synthesized_web_rephrased {ANSWERED}"
    way(tmp_path, sources=sources).run("sources_web", f"curated_web {FIRST}")
    inference = {"engine": "ray_vllm", "chunk_requests": 4, "kv_cache_gib": 0.25, "linger_seconds": 0}
    small = way(tmp_path, sources=sources, inference=inference)
    with lease("inference", inference_engine_settings(small.settings), state_folder=tmp_path):
        small.kill_when(step, lambda: len(small.keys(f"staging/{COMPLETIONS}/")) == 2)
        assert f"{COMPLETIONS} {ANSWERED}" not in small.contents()
        chunks = [small.lake.store.read(key) for key in small.keys(f"staging/{COMPLETIONS}/")]
        kept = answers(pa.concat_tables(pq.read_table(io.BytesIO(chunk)) for chunk in chunks))
        small.run(step)
    requests = small.lake.read("synthesized/web_rephrased/requests")["request_id"].to_pylist()
    completions = small.lake.read(COMPLETIONS)
    assert sorted(completions["request_id"].to_pylist()) == sorted(requests), "no row is lost or doubled"
    assert kept.items() <= answers(completions).items()
    assert small.result(COMPLETIONS, ANSWERED)["metrics"]["requests_asked"] == len(requests) - len(kept) > 0
    wait_until(lambda: not processes_of(tmp_path))


def answers(completions: pa.Table) -> dict[str, str | None]:
    return dict(zip(completions["request_id"].to_pylist(), completions["answer"].to_pylist(), strict=True))
