"""curated/<dataset>/bands: where the documents of one snapshot can meet others. Made with `signatures`, after its commit.

Its state names an object with the snapshot's MEMBERS by ordinal. Memory: 8 bytes a document and band, and a document's id,
file and hash. No asset of its own: it holds nothing that signatures do not.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from corpusmill.counts import Counts
from corpusmill.dedup.band_table import band_tables, read_members
from corpusmill.dedup.evidence import rank_snapshots
from corpusmill.dedup.parameters import DedupParameters
from corpusmill.document import BANDS
from corpusmill.fingerprint import code_version, fingerprint
from corpusmill.lake.names import report_directory
from corpusmill.lake.tables import Attempt, PartitionState
from corpusmill.tasks.task import Job, Outcome, execute, partition_writer

IS_SHARED = True
"""A resolution makes the band tables that it misses, maybe while the run of their signatures does."""
MEMBER_ROWS = 8192
"""In a row group of members: a few documents are looked up without the others."""


def table(dataset: str) -> str:
    return f"curated/{dataset}/bands"


def signatures_table(dataset: str) -> str:
    return f"curated/{dataset}/signatures"


def schema(parameters: Mapping[str, Any]) -> pa.Schema:
    return BANDS


def inputs(job: Job) -> dict[str, Any]:
    name = signatures_table(job.dataset)
    job.upstream(name)
    signatures = job.lake.partition(name, job.partition)
    assert signatures is not None
    return _source(signatures)


def run(job: Job, attempt: Attempt) -> Outcome:
    parameters = DedupParameters.from_json(job.parameters)
    made_from = inputs(job)
    ranking = rank_snapshots([job.partition], parameters=parameters, order=None)
    members, keys = read_members(_signatures(job), ranking, parameters)
    with partition_writer(job, attempt, name="bands") as writer:
        for rows in band_tables(keys):
            writer.write(rows)
            # Row groups of their own for each band: what merges a band reads no other.
            writer.end_row_group()
    key = f"{report_directory(attempt.table, attempt.partition)}/{attempt.attempt}-members.parquet"
    with job.lake.store.open_output(key) as out:
        pq.write_table(members, out, compression="zstd", row_group_size=MEMBER_ROWS, write_page_checksum=True)
    return Outcome(
        files=writer.files,
        counts=Counts(rows_in=len(members), kept=len(members)),
        state={
            "objects": {"members": key},
            "made_from": {**made_from, "version": version(parameters)},
        },
    )


def version(parameters: DedupParameters) -> str:
    """Return the name of the code and the settings that make a band table of given signatures."""
    ranked = {name: getattr(parameters, name) for name in ("rank", "quality_statistic", "validation_share", "scope")}
    return fingerprint(
        {"code": code_version(__name__), "signed_with": parameters.signature_fingerprint, "ranked": ranked}
    )


def make_missing(job: Job, snapshots: Sequence[str]) -> None:
    """Make the band tables that are not there or were made of other signatures; remove those of removed snapshots."""
    signed = job.lake.partitions(signatures_table(job.dataset))
    made = job.lake.partitions(table(job.dataset))
    for name in made.keys() - signed.keys():
        job.lake.remove(table(job.dataset), name)
    wanted = version(DedupParameters.from_json(job.parameters))
    for name in snapshots:
        source = _source(signed[name]) | {"version": wanted}
        if job.again or name not in made or made[name].state["made_from"] != source:
            execute("bands", job.arguments(name, job.parameters), job.report)


def refuse_other_signatures(job: Job) -> None:
    """Raise ValueError unless all signatures were made with the parameters of the job."""
    wanted = DedupParameters.from_json(job.parameters).signature_fingerprint
    name = signatures_table(job.dataset)
    found = {snapshot: state.state.get("signed_with", "none") for snapshot, state in job.lake.partitions(name).items()}
    others = sorted(snapshot for snapshot, fingerprint in found.items() if fingerprint != wanted)
    if others:
        raise ValueError(
            f"{name} was signed with other parameters (shingle, its size, bands, rows or seed): {', '.join(others)} with "
            f"{found[others[0]]}, wanted is {wanted}; materialize the signatures of these partitions again, or put the "
            "former parameters back"
        )


def _source(signatures: PartitionState) -> dict[str, str]:
    return {"signatures": signatures.content_hash, "places": signatures.placed_hash}


def _signatures(job: Job) -> Iterator[pa.Table]:
    for batch in job.lake.scan(signatures_table(job.dataset), partitions=[job.partition]):
        yield pa.Table.from_batches([batch])
