"""A real Postgres for tests: a fresh cluster in a temporary folder, as a user other than root, on a free local port."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tests.servers.ports import end_with_parent, free_ports, wait_until


@dataclass(frozen=True, kw_only=True)
class PostgresServer:
    """A running server whose user `corpusmill` may do everything without a password."""

    host: str
    port: int

    def create_database(self) -> str:
        """Make an empty database and return its name."""
        name = f"test_{uuid.uuid4().hex[:12]}"
        _execute(self, f'CREATE DATABASE "{name}"')
        return name

    def url(self, database: str) -> str:
        """Return a database's SQLAlchemy URL."""
        return f"postgresql+psycopg2://corpusmill@{self.host}:{self.port}/{database}"


def postgres_binaries() -> Path | None:
    """Return the folder with initdb and postgres, newest version first, or None when they are not installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    if found:
        return found[-1].parent
    on_path = shutil.which("initdb")
    return Path(on_path).resolve().parent if on_path else None


@contextmanager
def postgres() -> Iterator[PostgresServer]:
    """Run a server until the block ends, then remove its data."""
    binaries = postgres_binaries()
    assert binaries is not None
    account = _account()
    folder = Path(tempfile.mkdtemp(prefix="corpusmill-postgres-"))
    if account:
        os.chown(folder, account["user"], account["group"])
    try:
        data = folder / "data"
        options = ["-U", "corpusmill", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"]
        subprocess.run(
            [str(binaries / "initdb"), "-D", str(data), *options],
            check=True,
            capture_output=True,
            cwd=folder,
            **account,
        )
        with _running(binaries, data, account) as server:
            yield server
    finally:
        shutil.rmtree(folder)


@contextmanager
def _running(binaries: Path, data: Path, account: dict[str, Any]) -> Iterator[PostgresServer]:
    (port,) = free_ports(1)
    server = PostgresServer(host="127.0.0.1", port=port)
    settings = ["listen_addresses=127.0.0.1", f"unix_socket_directories={data.parent}", "fsync=off"]
    process = subprocess.Popen(
        [
            str(binaries / "postgres"),
            "-D",
            str(data),
            "-p",
            str(port),
            *(word for item in settings for word in ("-c", item)),
        ],
        cwd=data.parent,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=partial(end_with_parent, signal.SIGQUIT),
        **account,
    )
    try:
        wait_until(lambda: _is_ready(server), is_alive=lambda: process.poll() is None, what="Postgres")
        yield server
    finally:
        # Its data is thrown away: end at once, without waiting for clients or writing what is in memory.
        process.send_signal(signal.SIGQUIT)
        process.wait(60)


def _account() -> dict[str, Any]:
    """Return the process options that give up root, which Postgres refuses to run as."""
    if os.getuid() != 0:
        return {}
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    entry = names.get("postgres") or names["nobody"]
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def _is_ready(server: PostgresServer) -> bool:
    import psycopg2

    try:
        _execute(server, "SELECT 1")
    except psycopg2.OperationalError:
        return False
    return True


def _execute(server: PostgresServer, statement: str) -> None:
    import psycopg2

    connection = psycopg2.connect(host=server.host, port=server.port, user="corpusmill", dbname="postgres")
    try:
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute(statement)
    finally:
        connection.close()
