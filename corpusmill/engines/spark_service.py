"""The `spark` engine: a Spark Connect server in a JVM of its own, reachable from this machine only.

Settings (all optional): `master` (local[*]), `driver_memory` (2g), `conf` (further Spark settings, which win). The
endpoint is {"url": "sc://localhost:PORT/;token=...;session_id=..."}: one session that all clients share. A client sends a
token unencrypted to that name only; who does not know it is refused. Start-up takes 5 to 10 s on a quiet machine.
"""

import os
import re
import secrets
import subprocess
import sys
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from corpusmill.engines.java import find_java
from corpusmill.engines.service import EngineStartError
from corpusmill.engines.spark import MAX_TASKS_PER_JOB

MAX_TASK_FAILURES = 3
"""Attempts of one task whose worker died, after which its job fails: a poisoned row must not be tried for ever."""
ABANDONED_SECONDS = 120
"""A job whose results nobody reads for so long is given up: its client vanished. Spark notices two minutes late."""
_STARTED = re.compile(r"Spark Connect server started at: \S+?:(\d+)")
_LOG4J = """
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_OUT
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex
logger.server.name = org.apache.spark.sql.connect.service.SparkConnectServer
logger.server.level = info
logger.native.name = org.apache.hadoop.util.NativeCodeLoader
logger.native.level = error
"""


class SparkService:
    """A running Spark Connect server."""

    def __init__(self, process: "subprocess.Popen[bytes]", endpoint: dict[str, Any]) -> None:
        self.process = process
        self.endpoint = endpoint

    def alive(self) -> bool:
        return self.process.poll() is None

    def stop(self) -> None:
        """Ask the JVM to end; it ends its Python workers and removes its temporary files."""
        self.process.terminate()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()


def serve(settings: Mapping[str, Any], state_folder: Path) -> SparkService:
    """Start a server below `state_folder` and wait until it listens."""
    java = find_java()
    token = secrets.token_hex(16)
    log = state_folder / "spark.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            _command(settings, state_folder),
            env=_environment(java, token=token, folder=state_folder),
            cwd=state_folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    port = _await_port(process, log)
    session = f"session_id={uuid.uuid4()};user_id=corpusmill"
    return SparkService(process, {"url": f"sc://localhost:{port}/;token={token};{session}"})


def _command(settings: Mapping[str, Any], folder: Path) -> list[str]:
    conf = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": "0",
        "spark.connect.execute.manager.detachedTimeout": f"{ABANDONED_SECONDS}s",
        "spark.connect.session.manager.defaultSessionTimeout": "-1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.extraJavaOptions": "-XX:+ExitOnOutOfMemoryError",
        "spark.python.worker.faulthandler.enabled": "true",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.leafNodeDefaultParallelism": str(MAX_TASKS_PER_JOB),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.enabled": "false",
        **settings.get("conf", {}),
    }
    return [
        str(_spark_home() / "bin" / "spark-submit"),
        *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer"),
        *("--name", "corpusmill"),
        *("--master", _master(settings.get("master", "local[*]"))),
        *("--driver-memory", settings.get("driver_memory", "2g")),
        *(part for name, value in conf.items() for part in ("--conf", f"{name}={value}")),
    ]


def _master(master: str) -> str:
    """Return `local[N]` with its number of task attempts, which local mode reads from nowhere else."""
    return re.sub(r"^local\[([^,\]]+)\]$", rf"local[\1,{MAX_TASK_FAILURES}]", master)


def _environment(java: Path, *, token: str, folder: Path) -> dict[str, str]:
    conf = folder / "conf"
    conf.mkdir()
    (conf / "log4j2.properties").write_text(_LOG4J)
    return {
        **os.environ,
        "JAVA_HOME": str(java.resolve().parents[1]),
        "SPARK_HOME": str(_spark_home()),
        "SPARK_CONF_DIR": str(conf),
        "SPARK_LOCAL_DIRS": str(folder / "local"),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_CONNECT_AUTHENTICATE_TOKEN": token,
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }


def _spark_home() -> Path:
    import pyspark

    return Path(pyspark.__file__).parent


def _await_port(process: "subprocess.Popen[bytes]", log: Path) -> int:
    """Return the port that the server chose. The host's start-up budget ends a wait that takes too long."""
    while process.poll() is None:
        if found := _STARTED.search(log.read_text(errors="replace")):
            return int(found.group(1))
        time.sleep(0.1)
    raise EngineStartError(
        f"Spark ended with exit code {process.returncode} while starting:\n{log.read_text(errors='replace')[-3000:]}"
    )
