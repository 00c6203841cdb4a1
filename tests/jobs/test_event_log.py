"""What Dagster's event log quotes: gone from all its files, while events, numbers and other partitions stay."""

import dagster as dg
import pytest
import sqlalchemy as sa

from corpusmill.settings import settings_from_table
from jobs.development import prepare_home
from jobs.event_log import erase_quotes
from tests.servers.postgres import PostgresServer

pytestmark = pytest.mark.dagster
KEY = ["sources", "web", "records"]
PARTITIONS = dg.StaticPartitionsDefinition(["2024", "2025"])


@dg.asset(key=KEY, partitions_def=PARTITIONS)
def records(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
    row = f"quoted-{context.partition_key}"
    listing = dg.MetadataValue.table([dg.TableRecord({"text": row})])
    return dg.MaterializeResult(metadata={"sample": dg.MetadataValue.md(row), "dropped": listing, "rows": 3})


def test_quotes_of_a_partition_go_from_every_byte_of_the_log(tmp_path, monkeypatch):
    settings = settings_from_table({"state_folder": str(tmp_path / "state")}, base=tmp_path)
    assert erase_quotes(settings, [("sources/web/records", "2024")]) == 0, "there is no log yet"
    home = prepare_home(settings)
    monkeypatch.setenv("DAGSTER_HOME", str(home))
    with dg.DagsterInstance.get() as instance:
        for partition in PARTITIONS.get_partition_keys():
            assert dg.materialize([records], instance=instance, partition_key=partition).success
        instance.report_runless_asset_event(
            dg.AssetMaterialization(KEY, partition="2024", metadata={"sample": dg.MetadataValue.md("quoted-2024")})
        )

    def files_with(word: str) -> int:
        return sum(word.encode() in file.read_bytes() for file in home.rglob("*") if file.is_file())

    assert files_with("quoted-2024") > 0
    places = [("sources/web/records", "2024"), ("sources/web/records", "all")]
    assert erase_quotes(settings, places, is_dry=True) > 0 and files_with("quoted-2024") > 0
    assert erase_quotes(settings, places) > 0
    assert files_with("quoted-2024") == 0 and files_with("quoted-2025") > 0
    assert erase_quotes(settings, places) == 0
    with dg.DagsterInstance.get() as instance:
        events = instance.fetch_materializations(dg.AssetKey(KEY), limit=10).records
        assert [event.partition_key for event in events] == ["2024", "2025", "2024"]
        shown = events[2].asset_materialization.metadata
        assert shown["rows"].value == 3 and shown["sample"].value == "" and shown["dropped"].records == []
        assert events[1].asset_materialization.metadata["dropped"].records != []


@pytest.mark.postgres
def test_quotes_go_from_postgres_too(postgres_server: PostgresServer, tmp_path, monkeypatch):
    url = postgres_server.url(postgres_server.create_database())
    monkeypatch.setenv("CORPUSMILL_POSTGRES_URL", url)
    profile = "deploy/postgres/dagster.yaml"
    settings = settings_from_table({"state_folder": "state", "dagster_profile": profile}, base=tmp_path)
    monkeypatch.setenv("DAGSTER_HOME", str(prepare_home(settings)))
    with dg.DagsterInstance.get() as instance:
        for partition in PARTITIONS.get_partition_keys():
            assert dg.materialize([records], instance=instance, partition_key=partition).success

    def num_with(word: str) -> int:
        with sa.create_engine(url).connect() as connection:
            queries = ("SELECT event FROM event_logs", "SELECT last_materialization FROM asset_keys")
            return sum(word in str(row[0]) for query in queries for row in connection.execute(sa.text(query)))

    assert num_with("quoted-2024") > 0
    assert erase_quotes(settings, [("sources/web/records", "2024")]) > 0
    assert num_with("quoted-2024") == 0 and num_with("quoted-2025") > 0
