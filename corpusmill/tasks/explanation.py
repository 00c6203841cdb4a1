"""Why a document was removed as a duplicate, or what it stands for: out of the committed resolution and its links."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.dedup.evidence import Ranking, rank_snapshots
from corpusmill.dedup.parameters import DedupParameters
from corpusmill.dedup.shared_text import SharedSpan, shared_spans
from corpusmill.dedup.shingles import jaccard, shingle_sets
from corpusmill.dedup.texts import select_texts
from corpusmill.document import RESOLUTION
from corpusmill.lake.tables import Lake, PartitionState
from corpusmill.tasks import resolve
from corpusmill.tasks.band_files import BandFiles
from corpusmill.tasks.known_links import Known, read_links
from corpusmill.tasks.removals import read_withdrawn
from corpusmill.tasks.task import UNPARTITIONED


@dataclass(frozen=True, kw_only=True)
class Edge:
    """One verified step from a document to a better one."""

    worse: str
    better: str
    jaccard: float | None
    """None where the two have the same text."""


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """What is known of one signed document."""

    dataset: str
    snapshot: str
    decision: Mapping[str, Any] | None
    """Its row of the resolution; None for a document that stays."""
    path: Sequence[Edge] = ()
    measured: float | None = None
    """The exact Jaccard with the document that it duplicates, of the texts as they are now."""
    text: str = ""
    spans: Sequence[SharedSpan] = ()
    """Of `text`, what the other one has too, longest first."""
    duplicates: Sequence[Mapping[str, Any]] = field(default_factory=list)
    """Rows of the resolution that name it."""
    is_withdrawn: bool = False


def explain(lake: Lake, dataset: str, doc_id: str) -> Explanation | None:
    """Return what the resolution of a dataset knows of a document; None where it was not signed."""
    committed = lake.partition(resolve.table(dataset), UNPARTITIONED)
    if committed is None:
        return None
    files = BandFiles(lake, dataset, sorted(committed.state["signatures"]))
    signed = _find(files, [doc_id])
    if doc_id not in signed:
        return None
    own = signed[doc_id]
    named = _rows(lake, dataset, doc_id)
    decision = next((row for row in named if row["doc_id"] == doc_id), None)
    duplicates = [row for row in named if row["duplicate_of"] == doc_id]
    if decision is None:
        told = pa.table({"doc_id": [doc_id], "text_hash": [own["text_hash"]]})
        is_withdrawn = bool(read_withdrawn(lake, dataset).names(told)[0])
        return Explanation(
            dataset=dataset,
            snapshot=own["snapshot"],
            decision=None,
            duplicates=duplicates,
            is_withdrawn=is_withdrawn,
        )
    return _removed(lake, dataset, committed, files, decision)


def _removed(
    lake: Lake, dataset: str, committed: PartitionState, files: BandFiles, decision: Mapping[str, Any]
) -> Explanation:
    parameters = DedupParameters.from_json(committed.state["parameters"])
    ids = (decision["doc_id"], decision["duplicate_of"])
    signed = _find(files, ids)
    if missing := [name for name in ids if name not in signed]:
        raise ValueError(
            f"{missing[0]} is not in the signatures any more: a snapshot changed since the resolution of {dataset} was made; "
            f"make it again: corpusmill materialize --assets {resolve.table(dataset)}"
        )
    texts = [_text(lake, signed[name]["text_file"], name) for name in ids]
    sets = shingle_sets(pa.array(texts, pa.large_string()), parameters)
    same = texts[0] == texts[1]
    ranking = rank_snapshots(files.snapshots, parameters=parameters, order=None)
    return Explanation(
        dataset=dataset,
        snapshot=decision["snapshot"],
        decision=decision,
        path=_path(read_links(lake.store, Known.from_state(committed.state)), ranking, decision),
        measured=1.0 if same else jaccard(*sets),
        text=texts[0],
        spans=shared_spans(*texts),
    )


def _find(files: BandFiles, doc_ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return snapshot, text_file and text_hash of signed documents."""
    wanted = pa.array(list(doc_ids), pa.string())
    found = {}
    for snapshot in files.snapshots:
        for row in files.find(snapshot, wanted, ["doc_id", "text_file", "text_hash"]).to_pylist():
            found[row["doc_id"]] = {**row, "snapshot": snapshot}
    return found


def _rows(lake: Lake, dataset: str, doc_id: str) -> list[dict[str, Any]]:
    """Return the rows of the resolution that are about a document, or that name it."""
    rows: list[dict[str, Any]] = []
    batches = lake.scan(
        resolve.table(dataset), partitions=[UNPARTITIONED], columns=RESOLUTION.names, allow_failed_gate=True
    )
    for batch in batches:
        is_named = pc.or_(pc.equal(batch["doc_id"], doc_id), pc.equal(batch["duplicate_of"], doc_id))
        rows += batch.filter(is_named).to_pylist()
    return rows


def _text(lake: Lake, text_file: str, doc_id: str) -> str:
    tables = select_texts(lake.store, text_file, [doc_id])
    (text,) = [text for table in tables for text in table["text"].to_pylist()]
    return text or ""


def _path(links: Mapping[str, pa.Table], ranking: Ranking, decision: Mapping[str, Any]) -> list[Edge]:
    """Return the edge to the kept document; that of the document of equal text comes first where only it has one."""
    kept = decision["duplicate_of"]
    edges = _edges(links[decision["snapshot"]], ranking, decision["doc_id"])
    direct = [edge for edge in edges if edge.better == kept]
    if direct:
        return direct[:1]
    (copy,) = [edge for edge in edges if edge.jaccard is None]
    for table in links.values():
        onward = [edge for edge in _edges(table, ranking, copy.better) if edge.better == kept]
        if onward:
            return [copy, onward[0]]
    raise AssertionError(f"no edge from {copy.better} to {kept}")


def _edges(links: pa.Table, ranking: Ranking, doc_id: str) -> list[Edge]:
    is_own = np.asarray(pc.ends_with(links["worse"], f"/{doc_id}")) & np.asarray(pc.is_valid(links["better"]))
    return [
        Edge(worse=doc_id, better=ranking.split(row["better"]).doc_id, jaccard=row["jaccard"])
        for row in links.filter(pa.array(is_own)).to_pylist()
    ]


def signed_datasets(lake: Lake) -> list[str]:
    """Return the datasets that have a resolution."""
    found = [name.split("/") for name in lake.tables()]
    return sorted(parts[1] for parts in found if len(parts) == 3 and "/".join(parts) == resolve.table(parts[1]))
