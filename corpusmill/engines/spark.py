"""Spark as an engine: a client of a Spark Connect server, `mapInArrow` over a frame with one row and one task per call.

The rows of the lake never pass through Spark's own columns: a task reads and writes files by itself (see
`corpusmill.engines.shard`), so what travels are calls and outcomes. For joins and sorts over many shards, `session` is
an ordinary Spark session.
"""

import uuid
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from corpusmill.engines.engine import EngineFailedError
from corpusmill.named import named_function, split_name

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession

MAX_TASKS_PER_JOB = 2_000
"""Rows of one Spark job; more rows run as one job after the other, so that the driver's memory stays bounded."""
RETRIES = {"max_retries": 4, "max_backoff": 4_000}
"""The client gives a server that is gone up after about 5 s; its own default is 10 minutes."""


class SparkEngine:
    """A client of the one session of the server at an endpoint of the `spark` engine. Open, use, close.

    All clients share that session: Spark starts Python workers for each session anew, and these would import everything
    again for every run. So what one client sets on the session, others see; a client ends its own work by a tag.
    """

    name = "spark"

    def __init__(self, endpoint: Mapping[str, Any]) -> None:
        self.session: Any = _connect(endpoint["url"])
        self._closed = False

    def map_rows(self, function: str, rows: Sequence[bytes]) -> Iterator[bytes]:
        """Yield results in the order of the rows; a job's later rows run while an earlier one is still waited for."""
        named_function(function)
        for start in range(0, len(rows), MAX_TASKS_PER_JOB):
            yield from self._run_job(function, rows[start : start + MAX_TASKS_PER_JOB])

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self.session.release_session_on_close = False
            self.session.stop()

    def _run_job(self, function: str, rows: Sequence[bytes]) -> Iterator[bytes]:
        tag = f"corpusmill-{uuid.uuid4().hex}"
        self.session.addTag(tag)
        finished = False
        try:
            # The server cuts a local table into one row a task (a repartition does not), so a free core takes the next row.
            frame = self.session.createDataFrame(pa.table({"row": pa.array(rows, pa.binary())}))
            for result in frame.mapInArrow(_batches_mapper(function), "row binary").toLocalIterator():
                yield bytes(result["row"])
            finished = True
        except _spark_errors() as error:
            finished = True
            raise EngineFailedError(f"Spark failed at {function}: {_reason(error)}") from error
        finally:
            self.session.removeTag(tag)
            if not finished:
                self.session.interruptTag(tag)


@contextmanager
def active(session: Any) -> Iterator[None]:
    """Make a Connect session the active one of this thread; a classic session is left as it is.

    PySpark 4.3 asks the thread's active session in places where a frame has its own: for a frame that the server cached
    (`proto_to_remote_cached_dataframe`) and whether it debugs (`is_debugging_enabled`). An earlier client of this process
    that was not closed is still the active one, though its server is gone. No public call changes the active session.
    """
    holder = getattr(type(session), "_active_session", None)
    if holder is None:
        yield
        return
    before = getattr(holder, "session", None)
    holder.session = session
    try:
        yield
    finally:
        holder.session = before


def _connect(url: str) -> "SparkSession":
    from pyspark.sql import SparkSession
    from pyspark.sql.connect.client.retries import DefaultPolicy

    # The error that follows says the same.
    warnings.filterwarnings("ignore", message=r"\[RETRIES_EXCEEDED\]", category=UserWarning)
    session: Any = None
    try:
        session = SparkSession.builder.remote(url).create()
        session.client.set_retry_policies([DefaultPolicy(**RETRIES)])
        session.conf.get("spark.app.name", None)
    except _spark_errors() as error:
        if session is not None:
            session.release_session_on_close = False
            session.stop()
        raise EngineFailedError(f"no session on the Spark server: {_reason(error)}") from error
    return session


def _spark_errors() -> tuple[type[Exception], ...]:
    import grpc
    from pyspark.errors import PySparkException

    return PySparkException, grpc.RpcError


def _batches_mapper(function: str) -> Any:
    """Return a function over Arrow batches that pickles by value, so that workers need no class of ours to unpickle it."""
    module, name = split_name(function)

    def map_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import importlib

        apply = getattr(importlib.import_module(module), name)
        for batch in batches:
            for row in batch.column(0):
                yield pa.record_batch({"row": pa.array([apply(row.as_py())], pa.binary())})

    return map_batches


def _reason(error: Exception) -> str:
    """Return Spark's message without the frames of the JVM."""
    lines = [line.strip() for line in str(error).splitlines()]
    return " ".join(line for line in lines if line and not line.startswith("at "))[:1500]
