"""Reading seed documents: of one documents table's partition in batches, or the ones that some requests name."""

from collections import Counter
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.lake.reading import read_batches
from corpusmill.lake.store import Store
from corpusmill.tasks.task import Job


def seed_table(job: Job) -> str:
    """Return the curated documents that a synthesized dataset starts from."""
    return f"curated/{job.parameters['seeds']}/documents"


def seed_snapshot(job: Job) -> str:
    """Return the snapshot of a partition that is named variant and snapshot, in either order."""
    names = job.partition.split("|")
    names.remove(job.parameters["variant"])
    return names[0]


def seed_batches(job: Job) -> Iterator[pa.Table]:
    """Yield the partition's seed documents, with the file that each row lies in as `text_file`."""
    for file in job.lake.files(seed_table(job), [seed_snapshot(job)]):
        key = job.lake.store.key(file.path)
        for batch in read_batches(job.lake.store, key):
            yield batch.append_column("text_file", pa.array([key] * len(batch), pa.string()))


class SeedReader:
    """Gives the seeds of requests and what stands beside them.

    The wanted rows of a file are kept until seeds for all its requests were given, second documents to the end.
    """

    def __init__(self, store: Store, requests: pa.Table) -> None:
        self._store = store
        self._requests = requests
        self._rows: dict[str, pa.Table] = {}
        self._seconds: list[pa.Table] | None = None
        self._num_left = Counter(requests["seed_file"].to_pylist())

    def seeds(self, requests: pa.Table) -> pa.Table:
        """Return the seed documents of `requests` and those beside them, each once."""
        wanted = pc.unique(requests["doc_id"])
        parts = []
        for file, number in Counter(requests["seed_file"].to_pylist()).items():
            rows = self._wanted_rows(file)
            parts.append(rows.filter(pc.is_in(rows["doc_id"], value_set=wanted)))
            self._num_left[file] -= number
            if self._num_left[file] <= 0:
                del self._rows[file]
        return pa.concat_tables([*parts, *_others(self._second_rows(), _second_ids(requests), wanted)])

    def _second_rows(self) -> list[pa.Table]:
        """Return the second documents of all requests: as many as the recipe chooses from, at most."""
        if self._seconds is None:
            ids = pa.array(sorted(_second_ids(self._requests)), pa.string())
            files = sorted(_values(self._requests, "second_files"))
            batches = (batch for file in files for batch in read_batches(self._store, file))
            self._seconds = [rows.filter(pc.is_in(rows["doc_id"], value_set=ids)) for rows in batches]
        return self._seconds

    def _wanted_rows(self, file: str) -> pa.Table:
        if file not in self._rows:
            ours = self._requests.filter(pc.equal(self._requests["seed_file"], file))
            wanted = pc.unique(ours["doc_id"])
            batches = read_batches(self._store, file)
            rows = [rows.filter(pc.is_in(rows["doc_id"], value_set=wanted)) for rows in batches]
            self._rows[file] = pa.concat_tables(rows)
        return self._rows[file]


def _second_ids(requests: pa.Table) -> set[str]:
    return _values(requests, "second_ids")


def _values(requests: pa.Table, column: str) -> set[str]:
    """Return what the lists of a column hold; nothing where requests were made before it was there."""
    if column not in requests.schema.names:
        return set()
    return set(pc.list_flatten(requests[column]).to_pylist())


def _others(tables: list[pa.Table], ids: set[str], known: pa.Array) -> list[pa.Table]:
    """Return the rows of these ids that are not among the known ones."""
    wanted = pa.array(sorted(ids.difference(known.to_pylist())), pa.string())
    return [rows.filter(pc.is_in(rows["doc_id"], value_set=wanted)) for rows in tables]
