"""curated/<dataset>/resolution: sees the signatures of all snapshots and decides which document duplicates which.

Unpartitioned. Its state keeps, for each snapshot, which signatures it saw, what it found there (`known_links`), and a hash
of that snapshot's decisions, so that `duplicates` is made again only where they changed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.counts import Counts
from corpusmill.dedup.duplicates import Preferences, Resolution, resolve_evidence
from corpusmill.dedup.evidence import rank_snapshots
from corpusmill.dedup.ledger import DOCUMENT_COLUMNS, add_ledgers, count_documents
from corpusmill.dedup.parameters import DedupParameters
from corpusmill.dedup.resolve import KINDS
from corpusmill.document import DUPLICATES, RESOLUTION
from corpusmill.lake.content_hash import hash_table, to_hex
from corpusmill.lake.errors import DataFileError, StaleAttemptError
from corpusmill.lake.tables import Attempt, PartitionState
from corpusmill.tasks import bands, removals, sign
from corpusmill.tasks.band_files import BandFiles
from corpusmill.tasks.changes import Changes, compare
from corpusmill.tasks.evidence import FoundEvidence, find_evidence
from corpusmill.tasks.known_links import Known, write_ledger
from corpusmill.tasks.task import UNPARTITIONED, Gate, Job, Outcome, partition_writer, truncate_sample


def table(dataset: str) -> str:
    return f"curated/{dataset}/resolution"


def schema(parameters: Mapping[str, Any]) -> pa.Schema:
    return RESOLUTION


def inputs(job: Job) -> dict[str, Any]:
    bands.refuse_other_signatures(job)
    return {"signatures": signature_versions(job), "removals": removals.version(job.lake, job.dataset)}


def signature_versions(job: Job) -> dict[str, str]:
    """Return the content hash of every snapshot's signatures; raises when none is there."""
    job.lake.files(sign.table(job.dataset))
    return {name: state.content_hash for name, state in sorted(job.lake.partitions(sign.table(job.dataset)).items())}


def run(job: Job, attempt: Attempt) -> Outcome:
    parameters = DedupParameters.from_json(job.parameters)
    seen = signature_versions(job)
    bands.make_missing(job, list(seen))
    ranking = rank_snapshots(list(seen), parameters=parameters, order=None)
    committed = job.lake.partition(table(job.dataset), UNPARTITIONED)
    before = Known.from_state(committed.state if committed else {})
    found = find_evidence(job, attempt, ranking=ranking, signatures=seen, before=before)
    fresh = ranking.snapshots[len(seen) - found.num_fresh :]

    def count(removals: pa.Table) -> pa.Table:
        counted = count_documents(
            _documents(job, fresh), removals, shingle_size=parameters.shingle_size, kept_sources=found.kept_sources
        )
        return add_ledgers([found.ledger, counted])

    resolution = resolve_evidence(found.evidence, ranking, count, parameters=parameters, preferences=Preferences())
    with partition_writer(job, attempt, name="resolution") as writer:
        writer.write(resolution.table)
    _refuse_overtaken(job, seen)
    told = _outcome(resolution, found, _changes(job, committed, resolution, found), shingle=parameters.shingle)
    known = replace(found.known, ledger=write_ledger(job.lake.store, attempt, resolution.statistics.ledger))
    state = {
        "signatures": seen,
        "snapshots": _decisions(resolution.table),
        "parameters": parameters.to_json(),
        **known.to_state(),
    }
    return Outcome(files=writer.files, state=state, **told)


def _refuse_overtaken(job: Job, seen: Mapping[str, str]) -> None:
    """Raise StaleAttemptError, so that all is done again, where signatures changed while they were resolved.

    What was found is partly of the later ones, and what is known must never go by the name of the earlier ones.
    """
    now = {name: state.content_hash for name, state in job.lake.partitions(sign.table(job.dataset)).items()}
    changed = sorted(name for name in seen if now.get(name) != seen[name])
    if changed:
        raise StaleAttemptError(f"the signatures of {', '.join(changed)} changed while they were resolved")


def _outcome(resolution: Resolution, found: FoundEvidence, changes: Changes, *, shingle: str) -> dict[str, Any]:
    statistics = resolution.statistics
    kinds = {kind: int(statistics.scalars[f"documents_removed_{kind}"]) for kind in KINDS}
    new = {"fresh_snapshots": found.num_fresh, "documents_withdrawn": found.num_withdrawn}
    return {
        "counts": _counts(int(statistics.scalars["documents_in"]), kinds),
        "metrics": {**statistics.scalars, "shingle": shingle, **new, **changes.metrics()},
        "tables": statistics.tables | changes.tables(),
        "samples": truncate_sample(
            resolution.table, columns=["doc_id", "duplicate_of", "kind", "jaccard"], num_rows=10
        ),
        "gates": {
            "retention": Gate(
                passed=not statistics.gate_failures, message="; ".join(statistics.gate_failures) or "held"
            )
        },
    }


def _documents(job: Job, snapshots: Sequence[str]) -> Iterator[pa.Table]:
    """Yield what statistics count, of the signed documents that no removal names."""
    withdrawn = removals.read_withdrawn(job.lake, job.dataset)
    columns = (*DOCUMENT_COLUMNS, "text_hash") if withdrawn else DOCUMENT_COLUMNS
    for batch in job.lake.scan(sign.table(job.dataset), partitions=snapshots, columns=columns):
        yield withdrawn.left(pa.Table.from_batches([batch]))


def _changes(job: Job, committed: PartitionState | None, resolution: Resolution, found: FoundEvidence) -> Changes:
    """Compare with the committed resolution, unless what it decided stands."""
    if committed is None or found.num_fresh < len(found.known.signatures):
        return Changes()
    earlier = [name for name in committed.state["signatures"] if name in found.known.signatures]
    files = BandFiles(job.lake, job.dataset, earlier)
    withdrawn = removals.read_withdrawn(job.lake, job.dataset)
    present = [withdrawn.left(files.members(name, ["doc_id", "text_hash"])).column("doc_id") for name in earlier]
    try:
        before = job.lake.read(
            table(job.dataset), partitions=[UNPARTITIONED], columns=DUPLICATES.names, allow_failed_gate=True
        )
    except DataFileError as error:
        # This very run replaces the damaged file: to refuse it would leave no way out.
        job.report(f"which decisions changed cannot be told: {error}", {})
        return Changes()
    standing = pa.chunked_array([chunk for column in present for chunk in column.chunks], pa.string())
    return compare(before, resolution.table, standing=standing, snapshots=earlier)


def _counts(documents_in: int, kinds: Mapping[str, int]) -> Counts:
    dropped = {f"{kind}_duplicate": number for kind, number in kinds.items() if number}
    return Counts(rows_in=documents_in, kept=documents_in - sum(dropped.values()), dropped=dropped)


def _decisions(resolution: pa.Table) -> dict[str, str]:
    """Return the content hash of the decisions about each snapshot."""
    decisions = resolution.select(DUPLICATES.names)
    names = pc.unique(decisions["snapshot"]).to_pylist()
    return {name: to_hex(hash_table(decisions.filter(pc.equal(decisions["snapshot"], name)))) for name in names}
