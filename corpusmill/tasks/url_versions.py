"""curated/<dataset>/url_versions: sees the URLs of all snapshots; which documents another snapshot has a better version of.

Unpartitioned. The parameter `versions` says which version of a page stays: the `newest` or the `oldest`. Only documents
that their verdict keeps count, so that no page is lost to a version that goes anyway. Its state keeps, for each snapshot,
what it saw and a hash of its decisions, so that `urls` is made again only where they changed. Memory: about 25 bytes a
document, for at most ROWS_AT_ONCE of them; with more, URLs are read several times.
"""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.counts import Counts
from corpusmill.curate.urls import canonical_urls
from corpusmill.curate.urls_judged import hash_canonical
from corpusmill.curate.urls_versions import REASONS, VERSIONS, KeptVersions, find_kept_versions, rank_versions
from corpusmill.lake.tables import Attempt
from corpusmill.tasks import extract, judge
from corpusmill.tasks.judged_urls import judged_urls
from corpusmill.tasks.task import UNPARTITIONED, Job, Outcome, partition_writer, truncate_sample

ROWS_AT_ONCE = 1 << 26


def table(dataset: str) -> str:
    return f"curated/{dataset}/url_versions"


def schema(parameters: Mapping[str, Any]) -> pa.Schema:
    return VERSIONS


def inputs(job: Job) -> dict[str, Any]:
    return {"snapshots": snapshot_versions(job)}


def snapshot_versions(job: Job) -> dict[str, str]:
    """Return what decides about the URLs of each judged snapshot: its verdicts and texts. Raises when none is there."""
    job.lake.files(judge.table(job.dataset))
    judged, extracted = (job.lake.partitions(task.table(job.dataset)) for task in (judge, extract))
    return {
        name: f"{state.content_hash}-{extracted[name].content_hash}"
        for name, state in sorted(judged.items())
        if name in extracted
    }


def run(job: Job, attempt: Attempt) -> Outcome:
    seen = snapshot_versions(job)
    ranked = rank_versions(seen, keep=job.parameters["versions"])
    hashes = {name: hashlib.sha256() for name in ranked}
    removed = dict.fromkeys(ranked, 0)
    sample: list[dict[str, Any]] = []
    with partition_writer(job, attempt, name="versions") as writer:
        for rows in _worse_versions(job, ranked):
            name = rows["snapshot"][0].as_py()
            removed[name] += len(rows)
            hashes[name].update("\n".join([*rows["doc_id"].to_pylist(), ""]).encode())
            sample += truncate_sample(rows, columns=VERSIONS.names, num_rows=10 - len(sample))
            writer.write(rows)
    num_rows = sum(file.num_rows for file in job.lake.files(judge.table(job.dataset)))
    dropped = {REASONS[job.parameters["versions"]]: sum(removed.values())} if any(removed.values()) else {}
    decisions = {name: hashes[name].hexdigest()[:32] for name, number in removed.items() if number}
    return Outcome(
        files=writer.files,
        counts=Counts(rows_in=num_rows, kept=num_rows - sum(dropped.values()), dropped=dropped),
        tables={"removed": [{"snapshot": name, "documents": number} for name, number in removed.items() if number]},
        listings={"changed_snapshots": [{"snapshot": name} for name in _changed(job, decisions)]},
        samples=sample,
        state={"seen": seen, "decisions": decisions},
    )


def decisions_about(job: Job) -> str:
    """Return a hash of the decisions about the job's own snapshot; ValueError where they are not of its present version."""
    job.upstream(table(job.dataset), UNPARTITIONED)
    committed = job.lake.partition(table(job.dataset), UNPARTITIONED)
    assert committed is not None
    decided = committed.state["seen"].get(job.partition)
    current = "-".join(job.upstream(task.table(job.dataset)) for task in (judge, extract))
    if decided != current:
        raise ValueError(
            f"{table(job.dataset)} does not know this version of snapshot {job.partition!r} (it saw {decided}, its verdicts "
            f"and texts are now {current}); materialize {table(job.dataset)} first"
        )
    return str(committed.state["decisions"].get(job.partition, "none"))


def worse_documents(job: Job) -> pa.Array:
    """Return the ids of the documents of the job's own snapshot that another snapshot has a better version of."""
    batches = job.lake.scan(table(job.dataset), partitions=[UNPARTITIONED], columns=["doc_id", "snapshot"])
    ours = [batch.filter(pc.equal(batch["snapshot"], job.partition))["doc_id"] for batch in batches]
    return pa.chunked_array(ours, pa.string()).combine_chunks()


def _worse_versions(job: Job, ranked: list[str]) -> Iterator[pa.Table]:
    """Yield VERSIONS rows, those of one snapshot at a time."""
    num_rows = sum(file.num_rows for file in job.lake.files(judge.table(job.dataset)))
    num_parts = max(1, -(-num_rows // ROWS_AT_ONCE))
    for part in range(num_parts):
        kept = find_kept_versions(
            (rank, _only_part(hash_canonical(rows["canonical_url"]), part, num_parts))
            for rank, name in enumerate(ranked)
            for rows in _documents(job, name)
        )
        for rank, name in enumerate(ranked):
            for rows in _documents(job, name):
                yield from _worse(
                    rows, rank, kept, ranked, _only_part(hash_canonical(rows["canonical_url"]), part, num_parts)
                )


def _worse(rows: pa.Table, rank: int, kept: KeptVersions, ranked: list[str], hashes: np.ndarray) -> Iterator[pa.Table]:
    better = kept.better_ranks(hashes, rank)
    worse = np.flatnonzero(better >= 0)
    if len(worse):
        found = rows.take(pa.array(worse))
        columns = [
            found["doc_id"],
            pa.array([ranked[rank]] * len(found), pa.string()),
            found["canonical_url"],
            pa.array(ranked, pa.string()).take(pa.array(better[worse])),
        ]
        yield pa.Table.from_arrays(columns, schema=VERSIONS)


def _documents(job: Job, snapshot: str) -> Iterator[pa.Table]:
    """Yield doc_id and canonical_url of the documents that their verdict keeps and that have one."""
    for rows in judged_urls(job, snapshot):
        kept = rows.filter(pc.is_null(rows["drop_reason"]))
        named = pa.table({"doc_id": kept["doc_id"], "canonical_url": canonical_urls(kept["url"])})
        yield named.filter(pc.is_valid(named["canonical_url"]))


def _only_part(hashes: np.ndarray, part: int, num_parts: int) -> np.ndarray:
    """Return the hashes with those of other parts 0, which is no URL."""
    return np.where(hashes % np.uint64(num_parts) == part, hashes, np.uint64(0))


def _changed(job: Job, decisions: Mapping[str, str]) -> list[str]:
    """Return the snapshots that were decided otherwise before: their `urls` and what is made of them are due again."""
    before = job.lake.partition(table(job.dataset), UNPARTITIONED)
    if before is None:
        return []
    earlier = before.state["decisions"]
    return [name for name in before.state["seen"] if earlier.get(name) != decisions.get(name)]
