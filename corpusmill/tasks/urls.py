"""curated/<dataset>/urls: each document's canonical URL, and whether a list or an earlier page takes it away.

A partition is one piece, as an earlier page may lie in any of its files: of documents with the same canonical URL the
first in the order of files and rows stays. Parameters: `duplicates` (`drop` or `keep`), and for opt-outs `agents` and
`as_of` (a date as YYYY-MM-DD). Memory: about 25 bytes a document, and the lists.
"""

import datetime
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.counts import Counts, count_reasons
from corpusmill.curate.urls_judged import URLS, find_repeated, hash_urls, judge_urls
from corpusmill.curate.urls_lists import UrlLists
from corpusmill.lake.reading import read_batches
from corpusmill.lake.tables import Attempt
from corpusmill.tasks import extract, url_lists
from corpusmill.tasks.task import UNPARTITIONED, Job, Outcome, partition_writer, truncate_sample

_PARAMETERS = ("duplicates", "agents", "as_of")
_COLUMNS = ("doc_id", "url", "failure")
_BATCH_ROWS = 65_536


def table(dataset: str) -> str:
    return f"curated/{dataset}/urls"


def schema(parameters: Mapping[str, Any]) -> pa.Schema:
    return URLS


def inputs(job: Job) -> dict[str, Any]:
    return {
        "extracted": job.upstream(extract.table(job.dataset)),
        "lists": job.upstream(url_lists.table(url_lists.SOURCE), UNPARTITIONED),
    }


def run(job: Job, attempt: Attempt) -> Outcome:
    _check_parameters(job.parameters)
    lists = _lists(job)
    num_rows = sum(file.num_rows for file in job.lake.files(extract.table(job.dataset), [job.partition]))
    is_repeated = np.zeros(num_rows, np.bool_)
    if _drops_duplicates(job.parameters):
        is_repeated = find_repeated(hash_urls(rows, lists) for rows in _documents(job))
    counts = Counts()
    samples: list[dict[str, Any]] = []
    with partition_writer(job, attempt, name="urls") as writer:
        at = 0
        for rows in _documents(job):
            judged = judge_urls(rows, lists, is_repeated[at : at + len(rows)])
            at += len(rows)
            dropped = count_reasons(judged["drop_reason"])
            counts += Counts(rows_in=len(rows), kept=len(rows) - sum(dropped.values()), dropped=dropped)
            if len(samples) < 10:
                samples += truncate_sample(judged.filter(judged["drop_reason"].is_valid()), columns=URLS.names)
            writer.write(judged)
    return Outcome(files=writer.files, counts=counts, samples=samples[:10])


def _documents(job: Job) -> Iterator[pa.Table]:
    """Yield doc_id and url of the documents that have a text, in the order of files and rows."""
    for file in job.lake.files(extract.table(job.dataset), [job.partition]):
        key = job.lake.store.key(file.path)
        for batch in read_batches(job.lake.store, key, columns=_COLUMNS, batch_rows=_BATCH_ROWS):
            yield batch.filter(pc.is_null(batch["failure"]))


def _lists(job: Job) -> UrlLists:
    entries = job.lake.read(url_lists.table(url_lists.SOURCE), partitions=[UNPARTITIONED]).select(
        url_lists.ENTRIES.names
    )
    as_of = job.parameters.get("as_of")
    parameters = {
        "agents": tuple(job.parameters.get("agents", ())),
        "as_of": None if as_of is None else datetime.date.fromisoformat(as_of),
    }
    return url_lists.entries_to_lists(entries, parameters)


def _check_parameters(parameters: Mapping[str, Any]) -> None:
    if unknown := sorted(set(parameters) - set(_PARAMETERS)):
        raise ValueError(f"unknown parameter {', '.join(unknown)} of URLs; known are {', '.join(_PARAMETERS)}")


def _drops_duplicates(parameters: Mapping[str, Any]) -> bool:
    given = parameters.get("duplicates", "drop")
    if given not in ("drop", "keep"):
        raise ValueError(f"the parameter duplicates is drop or keep, got {given!r}")
    return bool(given == "drop")
