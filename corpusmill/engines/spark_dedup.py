"""Deduplication evidence on Spark: the shuffles are Spark's, hashing and verification are the kernels of corpusmill.dedup.

Works over Spark Connect and in a classic session alike. Signature and text files are read inside the tasks, with Arrow
through the store, and texts only of candidates. Memory of a task: a batch of rows, the best members of one bucket, the
doc_ids wanted from one text file; sorts, joins and kept intermediates spill to disk.

Costs: signatures are read twice and their band rows shuffled once; each text file with a candidate is read once; each
compared pair shuffles two shingle sets.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.dedup.bands import NUM_LEVELS, band_rows
from corpusmill.dedup.buckets import bucket_pairs
from corpusmill.dedup.duplicates import Preferences, Resolution, resolve_documents
from corpusmill.dedup.evidence import EDGES, EXACT, HISTOGRAM_BINS, Evidence, Ranking, member_names
from corpusmill.dedup.ledger import DOCUMENT_COLUMNS
from corpusmill.dedup.parameters import DedupParameters
from corpusmill.dedup.scopes import scope_columns, within_scope
from corpusmill.dedup.shingles import jaccard, shingle_sets
from corpusmill.dedup.texts import select_texts, stored_columns
from corpusmill.dedup.withdrawn import NOTHING_WITHDRAWN, Withdrawn
from corpusmill.engines.spark import active
from corpusmill.lake.store import Store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MAX_READERS = 10_000
"""Most tasks that read signature files; above, a task reads several."""
ROWS_PER_SHUFFLE_TASK = 500_000
MIN_SHUFFLE_TASKS = 4
SET_BATCH_BYTES = 32 << 20

_TYPES = {"text_file": pa.string(), "text_hash": pa.string(), "signature": pa.binary()}
_REFUSAL = re.compile(r"^ValueError: (.+)$", re.MULTILINE)

Batches = Iterator[pa.RecordBatch]

_BEST = "select text_hash, min(member) as better from {documents} where text_hash <> '' group by 1 having count(*) > 1"
_EXACT = """
    select documents.member as worse, best.better
    from {documents} as documents join {best} as best on documents.text_hash = best.text_hash
    where documents.member <> best.better
"""
_DISTINCT = "select signed.* from {signed} as signed left anti join {exact} as exact on signed.member = exact.worse"
_PARTS = (
    "select rows.* from {rows} as rows left semi join {hot} as hot on rows.band = hot.band and rows.parent = hot.key"
)
_CANDIDATES = """
    select worse, better, bit_or(shiftleft(1L, band)) as bands, bit_or(if(level = 0, shiftleft(1L, band), 0L)) as whole
    from {pairs} group by worse, better
"""
_COMPARED = """
    select worse, better, bands from (
        select *, row_number() over (partition by worse order by bit_count(bands) desc, better) as place from {candidates}
    ) where place <= {most}
"""
_WANTED = """
    select documents.text_file, documents.member from {documents} as documents left semi join (
        select worse as member from {compared} union all select better from {compared}
    ) as wanted on documents.member = wanted.member
"""
_WITH_SETS = """
    select compared.*, worse.shingles as worse_set, better.shingles as better_set
    from {compared} as compared
    join {sets} as worse on compared.worse = worse.member
    join {sets} as better on compared.better = better.member
"""


def find_duplicates(
    spark: "SparkSession",
    signature_files: Sequence[str],
    *,
    parameters: DedupParameters,
    store: Store,
    preferences: Preferences | None = None,
) -> Resolution:
    """Resolve the signature files of all partitions. Their order, their cut and the number of tasks do not matter."""

    def read_documents() -> Iterator[pa.Table]:
        for file in signature_files:
            yield from stored_columns(store, file, DOCUMENT_COLUMNS)

    def find(ranking: Ranking) -> Evidence:
        return find_evidence(spark, signature_files, ranking=ranking, parameters=parameters, store=store)

    return resolve_documents(read_documents, find, parameters=parameters, preferences=preferences or Preferences())


def find_evidence(
    spark: "SparkSession",
    signature_files: Sequence[str],
    *,
    ranking: Ranking,
    parameters: DedupParameters,
    store: Store,
    withdrawn: Withdrawn = NOTHING_WITHDRAWN,
) -> Evidence:
    """Find equal texts and verified near-duplicates; the same evidence as `corpusmill.dedup.in_memory`."""
    with active(spark), _plain_refusals(), ExitStack() as kept:
        search = _Search(spark, store, parameters, ranking, kept)
        documents = search.keep(search.read_signatures(signature_files, ("text_file", "text_hash"), withdrawn))
        search.size_shuffles(documents.count() * parameters.num_bands)
        exact = search.find_equals(documents)
        signed = search.read_signatures(signature_files, ("signature",), withdrawn)
        distinct = search.query(_DISTINCT, signed=signed, exact=exact)
        meetings = search.meet(distinct)
        candidates = search.keep(search.query(_CANDIDATES, pairs=meetings.pairs))
        compared = search.keep(search.query(_COMPARED, candidates=candidates, most=parameters.max_comparisons))
        measured = search.measure(compared, documents)
        return search.evidence(exact, meetings, candidates, measured)


@dataclass(frozen=True, kw_only=True)
class _Meetings:
    pairs: "DataFrame"
    """worse, better, band, level: every pair that some bucket yields."""
    hot_buckets: int
    largest_hot_bucket: int
    skipped: int
    """Pairs of oversize buckets that level 0 left out."""


class _Search:
    """One search on a session, whose settings are put back when `kept` closes."""

    def __init__(
        self, spark: "SparkSession", store: Store, parameters: DedupParameters, ranking: Ranking, kept: ExitStack
    ) -> None:
        self.spark = spark
        self.store = store
        self.parameters = parameters
        self.ranking = ranking
        self.kept = kept

    def query(self, text: str, **inputs: Any) -> "DataFrame":
        """Run SQL over data frames and numbers by name."""
        return self.spark.sql(text, **inputs)

    def keep(self, frame: "DataFrame") -> "DataFrame":
        """Keep a data frame's rows for its later uses, on disk where memory is short.

        Unlike `persist` this also forgets how they came about: plans are trees, and would double with every join.
        """
        return frame.localCheckpoint()

    def read_signatures(self, files: Sequence[str], columns: Sequence[str], withdrawn: Withdrawn) -> "DataFrame":
        """Return member and `columns` of all signature rows that have them and that no removal names."""
        paths = self.spark.createDataFrame([(file,) for file in files], "file string")
        read = _ReadSignatures(
            store=self.store,
            ranking=self.ranking,
            scope=self.parameters.scope,
            columns=tuple(columns),
            withdrawn=withdrawn,
        )
        types = [f"{name} {'binary' if name == 'signature' else 'string'}" for name in columns]
        return paths.repartition(max(1, min(len(files), MAX_READERS))).mapInArrow(
            read, ", ".join(["member string", *types])
        )

    def size_shuffles(self, num_rows: int) -> None:
        """Cut shuffles by their rows: what is kept is not re-cut by Spark, and its default suits no small corpus."""
        name = "spark.sql.shuffle.partitions"
        before = self.spark.conf.get(name)
        self.kept.callback(self.spark.conf.set, name, before)
        self.spark.conf.set(name, str(max(MIN_SHUFFLE_TASKS, -(-num_rows // ROWS_PER_SHUFFLE_TASK))))

    def find_equals(self, documents: "DataFrame") -> "DataFrame":
        best = self.query(_BEST, documents=documents)
        return self.keep(self.query(_EXACT, documents=documents, best=best))

    def meet(self, distinct: "DataFrame") -> _Meetings:
        """Let documents meet in their buckets, and those of oversize buckets again in their parts."""
        pairs: list[DataFrame] = []
        hot = None
        sizes = (0, 0, 0)
        for level in range(NUM_LEVELS):
            rows = distinct.mapInArrow(
                _BandRows(parameters=self.parameters, level=level),
                "band int, parent long, key long, member string",
            )
            if hot is not None:
                rows = self.query(_PARTS, rows=rows, hot=hot)
            found = self.keep(self._pair_up(rows))
            pairs.append(found.where("size is null").selectExpr("worse", "better", "band", f"{level} as level"))
            hot = found.where("size is not null").select("band", "key", "size")
            measured = self._hot_sizes(hot)
            if level == 0:
                sizes = measured
            if not measured[0]:
                break
        whole = pairs[0]
        for part in pairs[1:]:
            whole = whole.unionAll(part)
        return _Meetings(pairs=whole, hot_buckets=sizes[0], largest_hot_bucket=sizes[1], skipped=sizes[2])

    def _pair_up(self, rows: "DataFrame") -> "DataFrame":
        names = ("band", "key", "member")
        ordered = rows.select(*names).repartition("band", "key").sortWithinPartitions(*names)
        return ordered.mapInArrow(
            _PairBuckets(parameters=self.parameters), "band int, key long, better string, worse string, size long"
        )

    def _hot_sizes(self, hot: "DataFrame") -> tuple[int, int, int]:
        """Return the number of oversize buckets, the largest one's size, and the pairs that they leave out."""
        most, few = self.parameters.max_bucket, self.parameters.num_representatives
        left_out = f"size * (size - 1) div 2 - {most * (most - 1) // 2} - (size - {most}) * {few}"
        sums = (
            "count(*) as buckets, coalesce(max(size), 0) as largest, coalesce(sum(cast({} as decimal(38))), 0) as pairs"
        )
        (row,) = self.query(f"select {sums.format(left_out)} from {{hot}}", hot=hot).toArrow().to_pylist()
        return row["buckets"], row["largest"], int(row["pairs"])

    def measure(self, compared: "DataFrame", documents: "DataFrame") -> "DataFrame":
        """Return worse, better, bands and exact Jaccard of the compared pairs."""
        wanted = self.query(_WANTED, documents=documents, compared=compared)
        by_file = wanted.repartition("text_file").sortWithinPartitions("text_file", "member")
        read = _ReadSets(store=self.store, parameters=self.parameters)
        sets = self.keep(by_file.mapInArrow(read, "member string, shingles binary"))
        pairs = self.query(_WITH_SETS, compared=compared, sets=sets)
        return self.keep(pairs.mapInArrow(_measure_pairs, "worse string, better string, bands long, jaccard double"))

    def evidence(
        self, exact: "DataFrame", meetings: _Meetings, candidates: "DataFrame", measured: "DataFrame"
    ) -> Evidence:
        sums = "count(*) as pairs, coalesce(sum(bit_count(bands & ~whole)), 0) as fresh"
        (totals,) = self.query(f"select {sums} from {{candidates}}", candidates=candidates).toArrow().to_pylist()
        bins = f"cast(least(floor(jaccard * {HISTOGRAM_BINS}), {HISTOGRAM_BINS - 1}) as int)"
        counts = self.query(f"select {bins} as bin, count(*) as pairs from {{measured}} group by 1", measured=measured)
        histogram = {row["bin"]: row["pairs"] for row in counts.toArrow().to_pylist()}
        edges = measured.where(f"jaccard >= {self.parameters.threshold!r}D").selectExpr(
            "worse", "better", "jaccard", "cast(bit_count(bands) as int) as shared_bands"
        )
        return Evidence(
            exact=_collect(exact, EXACT),
            edges=_collect(edges, EDGES),
            candidate_pairs=totals["pairs"],
            compared_pairs=sum(histogram.values()),
            histogram=dict(sorted(histogram.items())),
            hot_buckets=meetings.hot_buckets,
            largest_hot_bucket=meetings.largest_hot_bucket,
            skipped_in_hot_buckets=meetings.skipped - totals["fresh"],
        )


@contextmanager
def _plain_refusals() -> Iterator[None]:
    """Raise the ValueError that a task raised, without the frames of the JVM around it."""
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as error:
        refusals = _REFUSAL.findall(str(error))
        if not refusals:
            raise
        raise ValueError(refusals[0]) from error


def _collect(frame: "DataFrame", schema: pa.Schema) -> pa.Table:
    collected = frame.toArrow().select(schema.names).cast(schema)
    return collected.sort_by([("worse", "ascending"), ("better", "ascending")]).combine_chunks()


@dataclass(frozen=True, kw_only=True)
class _ReadSignatures:
    """From paths of signature files to member and columns; rows without a signature are left out where it is asked."""

    store: Store
    ranking: Ranking
    scope: str
    columns: tuple[str, ...]
    withdrawn: Withdrawn

    def __call__(self, batches: Batches) -> Batches:
        names = (*self.ranking.columns, *scope_columns(self.scope), *self.columns)
        for batch in batches:
            for file in batch.column("file").to_pylist():
                for table in stored_columns(self.store, file, tuple(dict.fromkeys(names))):
                    yield from self._named(self.withdrawn.left(table)).to_batches()

    def _named(self, table: pa.Table) -> pa.Table:
        scoped = within_scope(table, self.scope).select(list(self.columns))
        named = scoped.add_column(0, "member", member_names(table, self.ranking))
        plain = named.cast(pa.schema([("member", pa.string()), *((name, _TYPES[name]) for name in self.columns)]))
        return plain.filter(pc.is_valid(plain.column("signature"))) if "signature" in self.columns else plain


@dataclass(frozen=True, kw_only=True)
class _BandRows:
    parameters: DedupParameters
    level: int

    def __call__(self, batches: Batches) -> Batches:
        for batch in batches:
            rows = band_rows(
                batch.column("member"), batch.column("signature"), parameters=self.parameters, level=self.level
            )
            yield from rows.to_batches()


@dataclass(frozen=True, kw_only=True)
class _PairBuckets:
    parameters: DedupParameters

    def __call__(self, batches: Batches) -> Batches:
        tables = (pa.Table.from_batches([batch]) for batch in batches)
        for pairs in bucket_pairs(tables, self.parameters):
            yield from pairs.combine_chunks().to_batches()


@dataclass(frozen=True, kw_only=True)
class _ReadSets:
    """From (text_file, member) sorted by file to member and shingle set; each file is read once a task."""

    store: Store
    parameters: DedupParameters

    def __call__(self, batches: Batches) -> Batches:
        for file, members in _runs(batches):
            wanted = {member.partition("/")[2]: member for member in members}
            for texts in select_texts(self.store, file, list(wanted)):
                yield from self._sets(texts, wanted)

    def _sets(self, texts: pa.Table, wanted: dict[str, str]) -> Batches:
        members: list[str] = []
        sets: list[bytes] = []
        num_bytes = 0
        for start in range(len(texts)):
            row = texts.slice(start, 1)
            (shingles,) = shingle_sets(row.column("text"), self.parameters)
            members.append(wanted[row.column("doc_id")[0].as_py()])
            sets.append(shingles.tobytes())
            num_bytes += shingles.nbytes
            if num_bytes > SET_BATCH_BYTES:
                yield _set_batch(members, sets)
                members, sets, num_bytes = [], [], 0
        yield _set_batch(members, sets)


def _runs(batches: Batches) -> Iterator[tuple[str, list[str]]]:
    """Yield (text_file, members) from rows sorted by text_file."""
    current: str | None = None
    members: list[str] = []
    for batch in batches:
        for file, member in zip(batch.column("text_file").to_pylist(), batch.column("member").to_pylist(), strict=True):
            if file != current and current is not None:
                yield current, members
                members = []
            current = file
            members.append(member)
    if current is not None:
        yield current, members


def _set_batch(members: list[str], sets: list[bytes]) -> pa.RecordBatch:
    return pa.record_batch({"member": pa.array(members, pa.string()), "shingles": pa.array(sets, pa.binary())})


def _measure_pairs(batches: Batches) -> Batches:
    for batch in batches:
        pairs = zip(_sets_of(batch.column("worse_set")), _sets_of(batch.column("better_set")), strict=True)
        measured = [jaccard(worse, better) for worse, better in pairs]
        columns = {name: batch.column(name) for name in ("worse", "better", "bands")}
        yield pa.record_batch(columns | {"jaccard": pa.array(measured, pa.float64())})


def _sets_of(column: pa.Array) -> Iterator[np.ndarray]:
    for value in column:
        yield np.frombuffer(value.as_buffer(), dtype=np.uint64)
