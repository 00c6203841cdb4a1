"""Synthetic documents that are too much like the seeds that they were made from: a rephrasing must say it otherwise.

Every document is compared with its own seeds, exactly and without bands, so that none is missed. Among one another
synthetic documents are compared like any others (`corpusmill.dedup.duplicates`).
"""

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.dedup.parameters import DedupParameters
from corpusmill.dedup.shingles import jaccard, shingle_sets
from corpusmill.dedup.token_hashes import Hashes
from corpusmill.document import DUPLICATES

SEED = "seed"
"""The kind of a removal in favour of a document's own seed."""


def seed_duplicates(outputs: pa.Table, seeds: Iterable[pa.Table], *, parameters: DedupParameters) -> pa.Table:
    """Return DUPLICATES for the outputs (doc_id, snapshot, parent_ids, text) whose Jaccard to a seed reaches the threshold.

    `seeds` are tables of doc_id, snapshot and text; an output names the seed of highest Jaccard, ties to the smaller id.
    Raises ValueError when a seed is missing. Memory: the shingle sets of the outputs, and one table of seeds.
    """
    own = shingle_sets(outputs["text"], parameters)
    children: dict[str, list[int]] = {}
    for place, parents in enumerate(outputs["parent_ids"].to_pylist()):
        for parent in parents or ():
            children.setdefault(parent, []).append(place)
    best: dict[int, tuple[float, str, str]] = {}
    for table in seeds:
        named = table.filter(pc.is_in(table["doc_id"], pa.array(list(children), pa.string())))
        for seed, its_set in zip(
            named.select(["doc_id", "snapshot"]).to_pylist(), _sets(named, parameters), strict=True
        ):
            for place in children.pop(seed["doc_id"]):
                score = jaccard(own[place], its_set)
                found = (-score, seed["doc_id"], seed["snapshot"])
                best[place] = min(best.get(place, found), found)
    if children:
        raise ValueError(
            f"{len(children)} seeds are not among the documents, {min(children)} is one: they changed after the requests "
            "were made; materialize the requests again"
        )
    rows = [_row(outputs, place, found) for place, found in sorted(best.items()) if -found[0] >= parameters.threshold]
    return pa.Table.from_pylist(rows, schema=DUPLICATES)


def _sets(table: pa.Table, parameters: DedupParameters) -> list[Hashes]:
    return shingle_sets(table["text"], parameters)


def _row(outputs: pa.Table, place: int, found: tuple[float, str, str]) -> dict[str, Any]:
    score, seed, snapshot = found
    return {
        "doc_id": outputs["doc_id"][place].as_py(),
        "snapshot": outputs["snapshot"][place].as_py(),
        "duplicate_of": seed,
        "duplicate_of_snapshot": snapshot,
        "kind": SEED,
        "jaccard": -score,
    }
