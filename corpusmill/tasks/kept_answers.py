"""What the lake holds of a partition's answers: those of its committed completions, and the waves of attempts after them.

A file that is gone or damaged is told and left out: what it held is asked again, and no run ends for it. Where it was a
committed one, the waves that went into it stand in, as far as they are still there.
"""

import io
import re
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from corpusmill.lake.damage import damage_named
from corpusmill.lake.names import staging_directory
from corpusmill.lake.reading import read_rows
from corpusmill.lake.store import Store
from corpusmill.lake.tables import Attempt
from corpusmill.synthesize.store import as_completions
from corpusmill.tasks.task import Job

_WAVE = re.compile(r"(\d{8})-\d{6}-\w+\.parquet")


def kept_answers(job: Job, table: str) -> Iterator[pa.Table]:
    """Yield COMPLETIONS, those that were committed first (by a paused run, too), then wave by wave as they were made."""
    committed = job.lake.partition(table, job.partition)
    is_whole = True
    if committed:
        for file in job.lake.files(table, [job.partition], allow_failed_gate=True):
            rows = _intact(job, file.path)
            is_whole &= rows is not None
            if rows is not None:
                yield rows
    for item in job.lake.store.list(f"{_wave_folder(table, job.partition)}/"):
        wave = _WAVE.fullmatch(item.key.rpartition("/")[2])
        is_in_committed = wave and committed and is_whole and int(wave[1]) <= committed.fence
        if wave and not is_in_committed and (rows := _intact(job, item.key)) is not None:
            yield rows


def keep_wave(job: Job, attempt: Attempt, rows: pa.Table, *, number: int, name: str) -> None:
    """Put an attempt's answers of one wave into the lake, with checksums."""
    key = f"{_wave_folder(attempt.table, job.partition)}/{attempt.fence:08d}-{number:06d}-{name}.parquet"
    job.lake.store.create(key, _spelled(rows))


def drop_answers(store: Store, table: str, partition: str, *, kept: pa.Array, is_dry: bool = False) -> int:
    """Take the answers to all but the `kept` request ids out of a partition's waves; return how many that are."""
    dropped = 0
    for item in list(store.list(f"{_wave_folder(table, partition)}/")):
        rows = read_rows(store, item.key)
        left = rows.filter(pc.is_in(rows["request_id"], value_set=kept))
        dropped += len(rows) - len(left)
        if not is_dry and not len(left):
            store.delete([item.key])
        elif not is_dry and len(left) < len(rows):
            store.write(item.key, _spelled(left))
    return dropped


def _spelled(rows: pa.Table) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(rows, buffer, compression="zstd", write_page_checksum=True)
    return buffer.getvalue()


def _intact(job: Job, key: str) -> pa.Table | None:
    """Return the COMPLETIONS of a file, or None where it is gone or garbled; a storage that does not answer is an error."""
    try:
        with damage_named(job.lake.store, key, remedy="what it held is asked again"):
            rows = read_rows(job.lake.store, key)
    except ValueError as error:
        job.report(str(error), {})
        return None
    return as_completions(rows)


def _wave_folder(table: str, partition: str) -> str:
    return f"{staging_directory(table, partition)}/answers"
