"""curated/<dataset>/urls: each document's canonical URL, and whether a list or an earlier page takes it away.

A partition is one piece, as an earlier page may lie in any of its files: of documents with the same canonical URL that
their verdict keeps the first in the order of files and rows stays. Versions of a page in several snapshots are decided by
`url_versions`. Parameters are those of UrlPolicy. Memory: about 25 bytes a document, and the lists.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.counts import Counts, count_reasons
from corpusmill.curate.urls_judged import DUPLICATE, URLS, find_repeated, hash_urls, judge_urls
from corpusmill.curate.urls_lists import UrlLists
from corpusmill.curate.urls_policy import UrlPolicy
from corpusmill.curate.urls_versions import REASONS
from corpusmill.curate.verdicts import Check
from corpusmill.lake.tables import Attempt
from corpusmill.tasks import extract, judge, url_lists, url_versions
from corpusmill.tasks.judged_urls import judged_urls
from corpusmill.tasks.task import UNPARTITIONED, Job, Outcome, partition_writer, truncate_sample


def table(dataset: str) -> str:
    return f"curated/{dataset}/urls"


def schema(parameters: Mapping[str, Any]) -> pa.Schema:
    return URLS


def inputs(job: Job) -> dict[str, Any]:
    policy = UrlPolicy.from_json(job.parameters)
    versions = {"versions": url_versions.decisions_about(job)} if policy.sees_all_snapshots else {}
    return {
        "extracted": job.upstream(extract.table(job.dataset)),
        "verdicts": job.upstream(judge.table(job.dataset)),
        **versions,
        "lists": job.upstream(url_lists.table(url_lists.SOURCE), UNPARTITIONED),
    }


def run(job: Job, attempt: Attempt) -> Outcome:
    policy = UrlPolicy.from_json(job.parameters)
    lists = _lists(job, policy)
    is_repeated = _find_repeated(job, lists, policy)
    worse = url_versions.worse_documents(job) if policy.sees_all_snapshots else pa.array([], pa.string())
    counts = Counts()
    samples: list[dict[str, Any]] = []
    with partition_writer(job, attempt, name="urls") as writer:
        at = 0
        for rows in judged_urls(job, job.partition):
            others = _checks(rows, is_repeated[at : at + len(rows)], worse, policy)
            judged = judge_urls(rows, lists, others)
            at += len(rows)
            dropped = count_reasons(judged["drop_reason"])
            counts += Counts(rows_in=len(rows), kept=len(rows) - sum(dropped.values()), dropped=dropped)
            if len(samples) < 10:
                samples += truncate_sample(judged.filter(judged["drop_reason"].is_valid()), columns=URLS.names)
            writer.write(judged)
    return Outcome(files=writer.files, counts=counts, samples=samples[:10])


def _checks(rows: pa.Table, is_repeated: np.ndarray, worse: pa.Array, policy: UrlPolicy) -> list[Check]:
    repeated = Check(reason=DUPLICATE, is_broken=is_repeated)
    if not policy.sees_all_snapshots:
        return [repeated]
    # A set of the few rows at hand is made at once, one of all worse documents is not.
    ours = worse.filter(pc.is_in(worse, value_set=rows["doc_id"].combine_chunks()))
    is_worse = np.asarray(pc.is_in(rows["doc_id"], value_set=ours))
    return [Check(reason=REASONS[policy.versions], is_broken=is_worse), repeated]


def _find_repeated(job: Job, lists: UrlLists, policy: UrlPolicy) -> np.ndarray:
    """Return whether an earlier document of the partition that nothing drops has the same URL, in the order of documents."""
    if policy.duplicates == "keep":
        return np.zeros(
            sum(file.num_rows for file in job.lake.files(judge.table(job.dataset), [job.partition])), np.bool_
        )
    return find_repeated(
        np.where(np.asarray(pc.is_null(rows["drop_reason"])), hash_urls(rows, lists), np.uint64(0))
        for rows in judged_urls(job, job.partition)
    )


def _lists(job: Job, policy: UrlPolicy) -> UrlLists:
    entries = job.lake.read(url_lists.table(url_lists.SOURCE), partitions=[UNPARTITIONED]).select(
        url_lists.ENTRIES.names
    )
    return url_lists.entries_to_lists(entries, {"agents": policy.agents, "as_of": policy.day})
