"""One walk down the whole way, with real Spark, Ray and vLLM: once over folders, once over S3.

Both read the same sample, so every table outside synthesis must have the same content in both lakes.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from corpusmill.counts import Counts
from corpusmill.lake.store import Store, StoreSettings
from corpusmill.lake.tables import Lake
from corpusmill.sample import build_sample
from corpusmill.settings import Settings, settings_from_table
from corpusmill.stream.loader import MixtureStream
from jobs.demo import run_way
from jobs.summary import Results, kept_results, print_summary
from tests.servers.seaweedfs import S3Server

pytestmark = [pytest.mark.spark, pytest.mark.ray, pytest.mark.vllm, pytest.mark.slow, pytest.mark.timeout(1500)]

DOWNLOADS = Path(".corpusmill/sample/.packages")
"""Where the demo keeps them too."""


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory, s3_server: S3Server) -> Path:
    """A state folder with the sample. Both walks share it, and credentials too, so that they share the engines."""
    folder = tmp_path_factory.mktemp("way")
    build_sample(folder / "sample", cache=DOWNLOADS.absolute())
    return folder


@pytest.fixture(scope="module")
def local(state: Path) -> Settings:
    settings = settings_from_table({"state_folder": str(state), "inference": {"linger_seconds": 120}}, base=state)
    assert run_way(settings, say=print) == 32
    return settings


def outside_synthesis(results: Results) -> dict[str, str]:
    return {
        f"{table} {partition}": result["content_hash"]
        for table, partitions in results.items()
        for partition, result in partitions.items()
        if table.split("/")[0] in ("sources", "curated") or table.split("/")[1] in ("web", "code", "stem")
    }


def test_every_row_is_accounted_for_at_every_stop(local: Settings) -> None:
    results = kept_results(Lake(local.lake))
    assert {table.split("/")[0] for table in results} == {"sources", "curated", "synthesized", "tokenized", "mixed"}
    for partitions in results.values():
        for result in partitions.values():
            Counts.from_json(result["counts"]).check()
            assert all(gate["passed"] for gate in result["gates"].values()), result["table"]
    assert sum(result["counts"]["rows_in"] for result in results["sources/web/records"].values()) > 500
    assert sum(result["counts"]["rows_in"] for result in results["sources/code/records"].values()) > 1_000


def test_the_gates_of_the_sample_close(local: Settings) -> None:
    results = kept_results(Lake(local.lake))
    code = results["curated/code/documents"]["2024-10"]["counts"]["dropped"]
    assert code["license_not_allowed"] > 100, "Unidecode is under the GPL"
    web = results["curated/web/documents"]["2025-10"]["counts"]
    assert web["dropped"]["exact_duplicate"] + web["dropped"]["near_duplicate"] > 5 * web["kept"], (
        "a crawl repeats itself"
    )


def test_the_small_model_is_heard_and_judged(local: Settings) -> None:
    results = kept_results(Lake(local.lake))
    answered = results["synthesized/web_rephrased/completions"]["2024-10|distilled"]
    assert answered["metrics"]["completion_tokens"] > 0
    judged = results["synthesized/web_rephrased/documents"]["2024-10|distilled"]["counts"]
    assert judged["kept"] > 0 and judged["dropped"], "some pass, some do not"


def test_the_mixture_streams_as_planned(local: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    lake = Lake(local.lake)
    report = kept_results(lake)["mixed/mixtures/report"]["main"]
    assert report["metrics"]["largest_share_difference"] < 0.02
    stream = MixtureStream(local.lake, "main")
    first = next(iter(stream))
    assert sum(first.lengths) == len(first.tokens) <= 1024
    known = set(lake.read("curated/web/documents", columns=["doc_id"])["doc_id"].to_pylist())
    pieces = [piece for position in range(20) for piece in stream.provenance(position).pieces]
    assert any(piece.doc_id in known for piece in pieces)
    print_summary(local, say=print)
    assert "The stream of main at position 0" in capsys.readouterr().out


def test_a_second_walk_launches_nothing_and_starts_no_engine(local: Settings, state: Path) -> None:
    before = sorted((state / "engines").rglob("service-*"))
    assert run_way(local, say=print) == 0
    assert sorted((state / "engines").rglob("service-*")) == before


@pytest.mark.s3
def test_the_way_on_s3_gives_the_same_content(
    local: Settings, state: Path, s3_server: S3Server, record_property: Callable[[str, object], None]
) -> None:
    root = f"s3://{s3_server.bucket}/way"
    copy_to_s3(state / "sample", StoreSettings(root=f"{root}/sample", endpoint=s3_server.endpoint, region="us-east-1"))
    on_s3 = {
        name: {"uri": f"{root}/sample/{name}", "format": source.format, "options": dict(source.options)}
        for name, source in local.sources.items()
    }
    settings = settings_from_table(
        {
            "state_folder": str(state),
            "lake": {
                "root": f"{root}/lake",
                "endpoint": s3_server.endpoint,
                "region": "us-east-1",
                "catalog": f"sqlite:///{state}/s3-catalog.db",
            },
            "sources": on_s3,
            "inference": {"linger_seconds": 120},
        },
        base=state,
    )
    assert run_way(settings, say=print) == 32
    assert outside_synthesis(kept_results(Lake(settings.lake))) == outside_synthesis(kept_results(Lake(local.lake)))
    share = share_of_equal_answers(Lake(local.lake), Lake(settings.lake))
    record_property("requests that vLLM gave the same answer twice", f"{share:.1%}")


def copy_to_s3(folder: Path, settings: StoreSettings) -> None:
    store = Store(settings)
    for file in sorted(folder.rglob("*")):
        if file.is_file() and not any(part.startswith(".") for part in file.relative_to(folder).parts):
            store.write(str(file.relative_to(folder)), file.read_bytes())


def share_of_equal_answers(one: Lake, other: Lake) -> float:
    """Return the share of requests, among those that both lakes answered, whose answers are equal."""
    equal = asked = 0
    for table in (name for name in one.tables() if name.endswith("/completions")):
        first, second = (
            dict(zip(*(lake.read(table)[name].to_pylist() for name in ("request_id", "answer")), strict=True))
            for lake in (one, other)
        )
        both = first.keys() & second.keys()
        asked += len(both)
        equal += sum(first[request] == second[request] for request in both)
    assert asked > 20
    return equal / asked
