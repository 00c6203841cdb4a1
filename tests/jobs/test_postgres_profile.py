"""The Postgres profile: Dagster's storage and the lake's catalog in one server, under four runs at once."""

import pytest

from corpusmill.lake.tables import Lake
from corpusmill.settings import load_settings
from jobs.command import main
from tests.jobs.live_instance import live_instance
from tests.servers.postgres import PostgresServer

SNAPSHOTS = ["2024-10", "2024-20", "2024-30", "2024-40"]


@pytest.mark.dagster
@pytest.mark.postgres
@pytest.mark.slow
def test_four_runs_at_once_commit_to_one_table(postgres_server: PostgresServer, tmp_path):
    dagster, catalog = (postgres_server.url(postgres_server.create_database()) for _ in range(2))
    settings = tmp_path / "corpusmill.toml"
    settings.write_text(
        f'dagster_profile = "deploy/postgres/dagster.yaml"\n[lake]\nroot = "lake"\ncatalog = "{catalog}"\n'
    )
    with live_instance(tmp_path, definitions="postgres_definitions", CORPUSMILL_POSTGRES_URL=dagster) as live:
        live.add_partitions("web_snapshots", SNAPSHOTS)
        done = live.corpusmill("backfill", "--assets", "sources/web/records", "--all")
        assert done.returncode == 0, done.stdout + done.stderr
        status = live.corpusmill("status")
    assert status.stdout.count("sources/web/records") == 4, status.stdout + status.stderr
    lake = Lake(load_settings(settings).lake)
    try:
        rows = lake.read("sources/web/records")
    finally:
        lake.close()
    assert sorted(rows["doc_id"].to_pylist()) == [f"{name}-{number}" for name in SNAPSHOTS for number in range(3)]
    assert not list((tmp_path / ".corpusmill/dagster").glob("**/*.db")), "nothing was written to SQLite"


@pytest.mark.dagster
@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql+psycopg2://nobody@127.0.0.1:9/dagster", "Connection refused"),
        (None, "CORPUSMILL_POSTGRES_URL"),
    ],
)
def test_a_database_that_does_not_answer_is_the_users_mistake(tmp_path, monkeypatch, capfd, url, said):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CORPUSMILL_SETTINGS", raising=False)
    monkeypatch.delenv("CORPUSMILL_POSTGRES_URL", raising=False)
    if url:
        monkeypatch.setenv("CORPUSMILL_POSTGRES_URL", url)
    (tmp_path / "corpusmill.toml").write_text('dagster_profile = "deploy/postgres/dagster.yaml"\n')
    assert main(["dev", "--port", "0"]) == 2
    message = capfd.readouterr().err
    assert said in message
    assert "deploy/postgres/dagster.yaml" in message
    assert "Traceback" not in message
