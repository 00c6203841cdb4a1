"""Ray as an engine: `ray.data` and `map_batches` over a dataset with one row and one task per call.

By default a Ray of this process, which ends with it; an address joins a running cluster.
"""

import logging
import re
import warnings
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from typing import Any

import psutil
import pyarrow as pa

from corpusmill.engines.engine import EngineFailedError
from corpusmill.engines.service import EngineStartError
from corpusmill.engines.worker_path import worker_path
from corpusmill.named import named_function, split_name

OBJECT_STORE_BYTES = 256 << 20
"""Shared memory of a local Ray. Calls and outcomes are small; the rows of the lake never lie there."""
MAX_TASK_RETRIES = 2
"""Retries of one task whose worker died; Ray Data's own default has no end."""


class RayEngine:
    """A connection to a Ray cluster. Open, use, close."""

    name = "ray"

    def __init__(self, address: str = "local", *, num_cpus: int | None = None) -> None:
        """Start a local Ray with `num_cpus` (all by default), or join the cluster at another address."""
        import ray.data

        self._owns = not ray.is_initialized()
        if self._owns:
            _start(address, num_cpus)
        logging.getLogger("ray.data").setLevel(logging.CRITICAL)  # an error is raised, its reason in one line
        with warnings.catch_warnings():
            # Ray 2.60 warns of its own default, `use_push_based_shuffle`.
            warnings.simplefilter("ignore", DeprecationWarning)
            context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        context.print_on_execution_start = False

    def map_rows(self, function: str, rows: Sequence[bytes]) -> Iterator[bytes]:
        """Yield results as their tasks finish, in any order."""
        import ray

        named_function(function)
        if not rows:
            return
        table = pa.table({"row": pa.array(rows, pa.binary())})
        dataset = ray.data.from_arrow([table.slice(index, 1) for index in range(len(rows))])
        with warnings.catch_warnings():
            # Ray 2.60 deprecates this way to bound retries and has no other one yet.
            warnings.simplefilter("ignore", DeprecationWarning)
            results = dataset.map_batches(
                _batch_mapper(function), batch_format="pyarrow", batch_size=1, num_cpus=1, max_retries=MAX_TASK_RETRIES
            )
        try:
            for result in results.iter_rows():
                yield result["row"]
        except ray.exceptions.RayError as error:
            raise EngineFailedError(f"Ray failed at {function}: {_reason(error)}") from error

    def close(self) -> None:
        import ray

        if self._owns and ray.is_initialized():
            ray.shutdown()


def _reason(error: Exception) -> str:
    """Return the first exception of the chain, or Ray's own message, without escape codes and frames."""
    text = re.sub(r"\x1b\[\d*m", "", str(error)).partition("The above exception was the direct cause")[0]
    lines = [line for line in text.splitlines() if line and not line.startswith(" ")]
    return " ".join(lines)[:1500]


def _start(address: str, num_cpus: int | None) -> None:
    """Connect; a local Ray that misses its own 30 s on a busy machine is ended and started once more."""
    import ray

    is_local = address == "local"
    local: dict[str, Any] = {"num_cpus": num_cpus, "object_store_memory": OBJECT_STORE_BYTES} if is_local else {}
    for is_last in (not is_local, True):
        before = set(psutil.Process().children(recursive=True))
        try:
            ray.init(
                address=address,
                include_dashboard=False,
                log_to_driver=False,
                logging_level="ERROR",
                runtime_env={"env_vars": {"PYTHONPATH": worker_path()}},
                **local,
            )
            return
        except Exception as error:
            _end(set(psutil.Process().children(recursive=True)) - before)
            if is_last:
                raise EngineStartError(f"Ray at {address} did not start: {error}") from error


def _end(processes: Collection[psutil.Process]) -> None:
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(processes, timeout=10)


def _batch_mapper(function: str) -> Any:
    module, name = split_name(function)

    def map_batch(batch: pa.Table) -> pa.Table:
        import importlib

        apply = getattr(importlib.import_module(module), name)
        return pa.table({"row": pa.array([apply(row.as_py()) for row in batch.column("row")], pa.binary())})

    return map_batch
