"""The contamination index of the committed benchmark items: built once, kept in the lake, opened by every worker.

It lies in the staging folder of curated/benchmarks/items, named by the item files, the rules and the code that builds it,
so maintenance takes away one that is old; whoever misses it builds it again. A local file is memory-mapped: all processes
of a machine share it. Opening costs one pass for the checksum.
"""

import functools
import json
import zlib
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from corpusmill.curate.contamination_build import build_index
from corpusmill.curate.contamination_index import ContaminationIndex
from corpusmill.curate.contamination_rules import ContaminationRules
from corpusmill.fingerprint import work_version
from corpusmill.lake.names import staging_directory
from corpusmill.lake.reading import read_rows
from corpusmill.lake.store import Store, StoreSettings
from corpusmill.read.item_options import SOURCE
from corpusmill.tasks import benchmark_items
from corpusmill.tasks.task import UNPARTITIONED, Job

_ITEMS = benchmark_items.table(SOURCE)
_CHECKSUM_BYTES = 4


def items_version(job: Job) -> str:
    """Return the content hash of the committed benchmark items."""
    return job.upstream(_ITEMS, UNPARTITIONED)


def index_parameters(job: Job, rules: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a shard gives to `stored_index`, whose index now lies in the lake."""
    checked = ContaminationRules.from_json(rules).to_json()
    files = [job.lake.store.key(file.path) for file in job.lake.files(_ITEMS, [UNPARTITIONED])]
    stored_index(job.lake.store, files, checked)
    return {"item_files": files, "rules": checked}


def stored_index(store: Store, item_files: list[str], rules: Mapping[str, Any]) -> ContaminationIndex:
    """Return the index of committed item files, opened once in a process."""
    return _opened(json.dumps(store.settings.to_json()), tuple(item_files), json.dumps(dict(rules), sort_keys=True))


def index_key(item_files: tuple[str, ...], rules: ContaminationRules) -> str:
    """Return where the index of these files lies."""
    name = work_version(build_index.__module__, {"files": item_files, "rules": rules.to_json()})
    return f"{staging_directory(_ITEMS, UNPARTITIONED)}/indexes/{name}.arrow"


def open_index(store: Store, item_files: tuple[str, ...], rules: ContaminationRules) -> ContaminationIndex:
    """Return the index of committed item files from the lake; it is built and put there where it is missing or damaged."""
    key = index_key(item_files, rules)
    body = _read(store, key)
    if body is None:
        built = build_index(pa.concat_tables([read_rows(store, file) for file in item_files]), rules).to_buffer()
        _write(store, key, built)
        # Opened anew, so that who built it shares memory with the others.
        body = _read(store, key) or built
    return ContaminationIndex.from_buffer(body)


@functools.lru_cache(maxsize=2)
def _opened(store: str, item_files: tuple[str, ...], rules: str) -> ContaminationIndex:
    chosen = ContaminationRules.from_json(json.loads(rules))
    return open_index(Store(StoreSettings.from_json(json.loads(store))), item_files, chosen)


def _read(store: Store, key: str) -> pa.Buffer | None:
    """Return the bytes of a stored index; None where there is none, or other bytes than were written."""
    try:
        whole = store.map(key)
    except FileNotFoundError:
        return None
    body = whole.slice(0, max(0, whole.size - _CHECKSUM_BYTES))
    return body if _checksum(body) == whole.slice(body.size).to_pybytes() else None


def _write(store: Store, key: str, body: pa.Buffer) -> None:
    with store.open_output(key) as stream:
        stream.write(body)
        stream.write(_checksum(body))


def _checksum(body: pa.Buffer) -> bytes:
    return zlib.crc32(body).to_bytes(_CHECKSUM_BYTES, "little")
