"""Who is equal or similar to whom: what is known stands, and new snapshots are met with it; else all is found anew.

Known links stand when the oldest are preferred, nothing known changed, and what is new comes last. Anew means from the
signatures, in memory where the engine is plain, and by Spark's shuffles elsewhere.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.dedup.evidence import Evidence, Ranking, member_names
from corpusmill.dedup.in_memory import gather_evidence
from corpusmill.dedup.ledger import KEPT_SOURCES, LEDGER
from corpusmill.dedup.links import effort_of, evidence_to_links, link_table, linked_sources, links_to_evidence
from corpusmill.dedup.parameters import DedupParameters
from corpusmill.dedup.texts import stored_texts
from corpusmill.dedup.withdrawn import Withdrawn
from corpusmill.engines import spark_dedup
from corpusmill.engines.spark import SparkEngine
from corpusmill.fingerprint import work_version
from corpusmill.lake.tables import Attempt
from corpusmill.tasks import bands, removals
from corpusmill.tasks.band_files import BandFiles
from corpusmill.tasks.engine import curation_engine
from corpusmill.tasks.increment import Increment
from corpusmill.tasks.known_links import Known, read_ledger, read_links, write_links
from corpusmill.tasks.task import Job


@dataclass(frozen=True, kw_only=True)
class FoundEvidence:
    evidence: Evidence
    known: Known
    """What to keep for the next resolution."""
    num_fresh: int
    """Snapshots that were met with what was known; all of them where that did not stand."""
    num_withdrawn: int
    """Documents that a removal names."""
    ledger: pa.Table
    """LEDGER of the snapshots that are not fresh."""
    kept_sources: pa.Table
    """KEPT_SOURCES of their documents that others are linked to."""


def find_evidence(
    job: Job, attempt: Attempt, *, ranking: Ranking, signatures: Mapping[str, str], before: Known
) -> FoundEvidence:
    """Return the evidence among all snapshots, whose signatures have these content hashes."""
    wanted = Known(
        version=work_version(__name__, job.parameters),
        removals=removals.version(job.lake, job.dataset),
        signatures=signatures,
    )
    withdrawn = removals.read_withdrawn(job.lake, job.dataset)
    stands = before.is_extended_by(wanted, ranking.snapshots) and not job.again
    if stands and DedupParameters.from_json(job.parameters).rank == "oldest":
        return _extended(Increment(job, attempt, ranking, num_known=len(before.signatures)), before, wanted, withdrawn)
    evidence = _all_evidence(job, ranking, withdrawn)
    links = _links(job, evidence, ranking, withdrawn)
    objects = write_links(job.lake.store, attempt, links)
    return FoundEvidence(
        evidence=evidence,
        known=replace(wanted, effort=effort_of(evidence), objects=objects),
        num_fresh=len(ranking.snapshots),
        num_withdrawn=_num_withdrawn(links),
        ledger=LEDGER.empty_table(),
        kept_sources=KEPT_SOURCES.empty_table(),
    )


def _extended(search: Increment, before: Known, wanted: Known, withdrawn: Withdrawn) -> FoundEvidence:
    store = search.job.lake.store
    links = read_links(store, before)
    fresh, effort = search.find(links, withdrawn)
    links |= fresh
    objects = {**before.objects, **write_links(store, search.attempt, fresh)}
    known = replace(wanted, effort=before.effort.plus(effort), objects=objects)
    return FoundEvidence(
        evidence=links_to_evidence(links.values(), known.effort),
        known=known,
        num_fresh=len(fresh),
        num_withdrawn=_num_withdrawn(links),
        ledger=read_ledger(store, before),
        kept_sources=linked_sources(links.values(), search.ranking),
    )


def _all_evidence(job: Job, ranking: Ranking, withdrawn: Withdrawn) -> Evidence:
    parameters = DedupParameters.from_json(job.parameters)
    name = bands.signatures_table(job.dataset)
    with curation_engine(job) as engine:
        if isinstance(engine, SparkEngine):
            return spark_dedup.find_evidence(
                engine.session,
                [file.path for file in job.lake.files(name, ranking.snapshots)],
                ranking=ranking,
                parameters=parameters,
                store=job.lake.store,
                withdrawn=withdrawn,
            )
    return gather_evidence(
        withdrawn.left(job.lake.read(name, partitions=ranking.snapshots)),
        ranking=ranking,
        parameters=parameters,
        read_texts=stored_texts(job.lake.store),
    )


def _links(job: Job, evidence: Evidence, ranking: Ranking, withdrawn: Withdrawn) -> dict[str, pa.Table]:
    files = BandFiles(job.lake, job.dataset, ranking.snapshots)
    signed = {name: files.members(name, ["doc_id", "source"]) for name in ranking.snapshots}
    links = evidence_to_links(evidence, ranking, signed)
    if not withdrawn:
        return links
    for name in ranking.snapshots:
        members = files.members(name, [column for column in ranking.columns if column != "snapshot"])
        members = members.append_column("snapshot", pa.repeat(pa.scalar(name), len(members)))
        ordinals = np.flatnonzero(withdrawn.names(members))
        gone = {"worse": member_names(members, ranking).take(ordinals), "ordinal": pa.array(ordinals)}
        links[name] = pa.concat_tables([links[name], link_table(pa.table(gone))])
    return links


def _num_withdrawn(links: Mapping[str, pa.Table]) -> int:
    return sum(pc.sum(pc.is_null(table.column("better"))).as_py() or 0 for table in links.values())
