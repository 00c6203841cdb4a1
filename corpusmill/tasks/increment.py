"""What new snapshots add to what is known: their links to better documents, found without the others' signatures.

Steps: equal texts in this process, then shards of bands (`meet`), then shards of pairs (`measure`). Only for documents that
rank after all known ones: what is known then stays as it is. Memory: what is told of new documents and their pairs.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.dedup.band_table import EQUAL_TEXT
from corpusmill.dedup.bands import NUM_LEVELS
from corpusmill.dedup.candidates import GatheredPairs, Pairs, limit_comparisons, pairs_at_level
from corpusmill.dedup.evidence import Ranking, jaccard_bins, member_names
from corpusmill.dedup.links import LINKS, Effort, link_table, standing_apart
from corpusmill.dedup.meetings import equal_texts
from corpusmill.dedup.parameters import DedupParameters
from corpusmill.dedup.withdrawn import Withdrawn
from corpusmill.engines.shard import ShardOutcome
from corpusmill.engines.shards import total
from corpusmill.lake.content_hash import hash_table, to_hex
from corpusmill.lake.reading import read_rows as read_file
from corpusmill.lake.tables import Attempt
from corpusmill.tasks.band_files import BandFiles, ordinals_of, ranks_of
from corpusmill.tasks.engine import run_on_shards
from corpusmill.tasks.measure import COMPARED, MEASURED, TOLD, write_compared
from corpusmill.tasks.meet import PAIRS, OpenBands
from corpusmill.tasks.task import Job

ROWS_PER_SHARD = 20_000_000
"""Band rows that a shard reads, about; a shard of more has one band."""


class Increment:
    """One search for the links of new documents: what its steps share."""

    def __init__(self, job: Job, attempt: Attempt, ranking: Ranking, *, num_known: int) -> None:
        """The first `num_known` snapshots of the ranking are known, the others are fresh."""
        self.job = job
        self.attempt = attempt
        self.ranking = ranking
        self.known = ranking.snapshots[:num_known]
        self.fresh = ranking.snapshots[num_known:]
        self.parameters = DedupParameters.from_json(job.parameters)
        self.files = BandFiles(job.lake, job.dataset, ranking.snapshots)

    def find(self, links: Mapping[str, pa.Table], withdrawn: Withdrawn) -> tuple[dict[str, pa.Table], Effort]:
        """Return the links of the fresh snapshots' documents, and the effort; `links` are those of the known ones."""
        gone = _sorted([self._withdrawn(name, withdrawn) for name in self.fresh])
        apart = [self.files.numbers(name, standing_apart(table)) for name, table in links.items()]
        copies, originals = self._equal_texts(_sorted([*apart, gone]))
        candidates, shards = self._meet(_sorted([*apart, gone, copies]))
        compared = limit_comparisons(candidates, self.parameters.max_comparisons)
        told = self._look_up([copies, originals, gone, compared.worse, compared.better])
        measured = self._measure(compared, told)
        found = self._links(copies, originals, measured=measured, gone=gone, told=told)
        return found, _effort(candidates, measured, shards)

    def _withdrawn(self, snapshot: str, withdrawn: Withdrawn) -> np.ndarray:
        if not withdrawn:
            return np.empty(0, dtype=np.int64)
        is_named = withdrawn.names(self.files.members(snapshot, ["doc_id", "text_hash"]))
        return self.files.numbers(snapshot, np.flatnonzero(is_named))

    def _equal_texts(self, apart: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        store = self.job.lake.store
        with ExitStack() as opened:
            known, fresh = (
                OpenBands(store, self.files.files(names), apart, opened) for names in (self.known, self.fresh)
            )
            rows = fresh.rows(EQUAL_TEXT)
            return equal_texts(known.rows(EQUAL_TEXT, np.unique(rows.keys)), rows)

    def _meet(self, apart: np.ndarray) -> tuple[Pairs, list[ShardOutcome]]:
        spelled = apart.tobytes()
        key = f"{self.attempt.staging}/apart-{hashlib.sha256(spelled).hexdigest()[:32]}"
        self.job.lake.store.write(key, spelled)
        shared = {"known": self.files.files(self.known), "fresh": self.files.files(self.fresh), "apart": key}
        step = max(1, ROWS_PER_SHARD * self.parameters.num_bands // max(self.files.num_rows, 1))
        inputs = [
            {"bands": [band, min(band + step, self.parameters.num_bands)], **shared}
            for band in range(0, self.parameters.num_bands, step)
        ]
        shards = self._run("corpusmill.tasks.meet:meet_shard", inputs, PAIRS)
        gathered = GatheredPairs()
        for pairs in self._read(shards, PAIRS):
            for level in range(NUM_LEVELS):
                gathered.add(pairs_at_level(pairs.filter(pc.equal(pairs.column("level"), level)), level))
        return gathered.pairs(), shards

    def _look_up(self, members: Sequence[np.ndarray]) -> pa.Table:
        """Return what is told of some members, by number; once, since it reads most of MEMBERS where there are many."""
        columns = sorted({*TOLD, "doc_id", "source", *(["text_hash"] if self.ranking.validation_share else [])})
        return self.files.look_up(np.unique(np.concatenate(members)), columns)

    def _measure(self, compared: Pairs, told: pa.Table) -> pa.Table:
        if not len(compared.worse):
            return MEASURED.empty_table()
        columns = {"worse": compared.worse, "better": compared.better, "bands": compared.bands}
        for side in ("worse", "better"):
            places = pa.array(np.searchsorted(told.column("number").to_numpy(), columns[side]))
            columns |= {f"{side}_{name}": told.column(name).take(places) for name in TOLD}
        pairs = pa.table(columns).cast(COMPARED)
        key = f"{self.attempt.staging}/compared-{to_hex(hash_table(pairs))}.parquet"
        num_groups = write_compared(self.job.lake.store, key, pairs)
        inputs = [{"compared": key, "row_group": group} for group in range(num_groups)]
        shards = self._run("corpusmill.tasks.measure:measure_shard", inputs, MEASURED)
        return pa.concat_tables([MEASURED.empty_table(), *self._read(shards, MEASURED)]).combine_chunks()

    def _run(self, function: str, inputs: Sequence[Mapping[str, object]], schema: pa.Schema) -> list[ShardOutcome]:
        return run_on_shards(
            function,
            job=self.job,
            attempt=self.attempt,
            inputs=inputs,
            parameters=self.parameters.to_json(),
            schema=schema,
        )

    def _read(self, shards: Sequence[ShardOutcome], schema: pa.Schema) -> Iterator[pa.Table]:
        store = self.job.lake.store
        for shard in shards:
            for file in shard.files:
                yield read_file(store, store.key(file.path)).cast(schema)

    def _links(
        self, copies: np.ndarray, originals: np.ndarray, *, measured: pa.Table, gone: np.ndarray, told: pa.Table
    ) -> dict[str, pa.Table]:
        edges = measured.filter(pc.greater_equal(measured.column("jaccard"), self.parameters.threshold))
        worse, better = (edges.column(name).to_numpy() for name in ("worse", "better"))
        if not len(told):
            return {name: LINKS.empty_table() for name in self.fresh}
        names = _member_names(told, self.ranking)
        sources = told.column("source")

        def of(column: pa.Array | pa.ChunkedArray, members: np.ndarray) -> pa.Array | pa.ChunkedArray:
            return column.take(pa.array(np.searchsorted(told.column("number").to_numpy(), members)))

        def linked(worse: np.ndarray, better: np.ndarray) -> dict[str, Any]:
            return {"worse": of(names, worse), "better": of(names, better), "better_source": of(sources, better)}

        shared = pa.array(np.bitwise_count(edges.column("bands").to_numpy()), pa.int32())
        parts = [
            {**linked(copies, originals), "ordinal": ordinals_of(copies)},
            {"worse": of(names, gone), "ordinal": ordinals_of(gone)},
            {**linked(worse, better), "jaccard": edges["jaccard"], "shared_bands": shared},
        ]
        every = pa.concat_tables([link_table(pa.table(part)) for part in parts])
        ranks = ranks_of(np.concatenate([copies, gone, worse]))
        return {
            name: every.filter(pa.array(ranks == rank))
            for rank, name in enumerate(self.ranking.snapshots)
            if name in self.fresh
        }


def _member_names(told: pa.Table, ranking: Ranking) -> pa.Array:
    """Return member names; the hash of a text tells only the side of the validation split."""
    if "text_hash" not in told.column_names:
        told = told.append_column("text_hash", pa.nulls(len(told), pa.string()))
    return member_names(told, ranking)


def _effort(candidates: Pairs, measured: pa.Table, shards: Sequence[ShardOutcome]) -> Effort:
    notes = total(shards).notes
    largest = [int(value) for name, value in notes.items() if name.startswith("largest_in_band_")]
    return Effort(
        candidate_pairs=len(candidates.worse),
        compared_pairs=len(measured),
        histogram=jaccard_bins(measured.column("jaccard").to_numpy()),
        hot_buckets=int(notes["hot_buckets"]),
        largest_hot_bucket=max(largest),
        skipped_in_hot_buckets=int(notes["skipped"]) - candidates.num_fresh(),
    )


def _sorted(parts: Sequence[np.ndarray]) -> np.ndarray:
    return np.sort(np.concatenate([np.empty(0, dtype=np.int64), *parts]))
