"""How a new snapshot meets the earlier ones, band by band over sorted band files. No signature and no text is read.

A known row group's keys are read; its ordinals only where a key is shared, and what splits a bucket only where that is
oversize. Members are numbered snapshot by snapshot: the snapshot's rank, then the ordinal.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from corpusmill.dedup.meetings import Meetings, Rows, meet, meet_in_parts, shared_rows
from corpusmill.dedup.parameters import DedupParameters
from corpusmill.engines.shard import ShardContext
from corpusmill.lake.damage import damage_named
from corpusmill.lake.pages import open_parquet
from corpusmill.lake.store import Store
from corpusmill.tasks.band_files import REMEDY, number_members, statistics_of

PAIRS = pa.schema(
    [
        pa.field("worse", pa.int64(), nullable=False),
        pa.field("better", pa.int64(), nullable=False),
        pa.field("band", pa.int32(), nullable=False),
        pa.field("level", pa.int32(), nullable=False),
    ]
)
NOTHING = Rows(keys=np.empty(0, np.int64), members=np.empty(0, np.int64), further=np.empty(0, np.int64))


def meet_shard(inputs: Mapping[str, Any], parameters: Mapping[str, Any], context: ShardContext) -> Iterator[pa.Table]:
    """Yield the PAIRS of some bands in which a fresh document is the worse one, once for each time that they met.

    `known` and `fresh` are files by rank; `apart` names an object with the sorted members that no bucket holds.
    """
    settings = DedupParameters.from_json(parameters)
    apart = np.frombuffer(context.store.read(inputs["apart"]), dtype=np.int64)
    with ExitStack() as opened:
        known, fresh = (OpenBands(context.store, inputs[name], apart, opened) for name in ("known", "fresh"))
        for band in range(*inputs["bands"]):
            for meetings in _meet_band(known, fresh, band, settings, context):
                yield _pair_table(meetings, band)


def _meet_band(
    known: "OpenBands", fresh: "OpenBands", band: int, parameters: DedupParameters, context: ShardContext
) -> Iterator[Meetings]:
    new = fresh.rows(band)
    meetings, hot = meet(known.rows(band, np.unique(new.keys), with_further=False), new, parameters)
    context.note("hot_buckets", hot.added)
    context.note("skipped", hot.skipped)
    context.note(f"largest_in_band_{band}", hot.largest)
    yield meetings
    if len(hot.keys):
        crowd = new.take(np.flatnonzero(np.isin(new.keys, hot.keys)))
        yield from meet_in_parts(known.rows(band, hot.keys), crowd, parameters)


class _Group(NamedTuple):
    """A row group of an open band file."""

    name: str
    rank: int
    file: pq.ParquetFile
    number: int


class OpenBands:
    """Open band files of some snapshots, by rank; closed with `opened`. A row group holds rows of one band."""

    def __init__(self, store: Store, files: Mapping[str, Sequence[str]], apart: np.ndarray, opened: ExitStack) -> None:
        self._store = store
        self._apart = apart
        self._groups: dict[int, list[_Group]] = {}
        for rank, names in files.items():
            for name in names:
                with damage_named(store, name, remedy=REMEDY):
                    source = opened.enter_context(store.open_input(name))
                    file = opened.enter_context(open_parquet(source))
                for group in range(file.num_row_groups):
                    band = statistics_of(file, group, "band").min
                    self._groups.setdefault(band, []).append(_Group(name, int(rank), file, group))

    def rows(self, band: int, wanted: np.ndarray | None = None, *, with_further: bool = True) -> Rows:
        """Return the rows of a band with one of the sorted keys `wanted`, or all, less those of members that stand apart."""
        columns = ["ordinal", "further"] if with_further else ["ordinal"]
        found = [NOTHING]
        for name, rank, file, group in self._groups.get(band, []):
            with damage_named(self._store, name, remedy=REMEDY):
                read = _read_group(file, group, wanted, columns)
            if read is not None:
                found.append(_named(*read, rank, self._apart))
        return Rows(
            keys=np.concatenate([rows.keys for rows in found]),
            members=np.concatenate([rows.members for rows in found]),
            further=np.concatenate([rows.further for rows in found]),
        )


def _read_group(
    file: pq.ParquetFile, group: int, wanted: np.ndarray | None, columns: Sequence[str]
) -> tuple[np.ndarray, pa.Table] | None:
    """Return keys and `columns` of the wanted rows of a row group; None where it has none."""
    if wanted is None:
        rows = file.read_row_group(group, columns=["key", *columns])
        return rows.column("key").to_numpy(), rows
    statistics = statistics_of(file, group, "key")
    first, end = np.searchsorted(wanted, statistics.min), np.searchsorted(wanted, statistics.max, side="right")
    if first == end:
        return None
    keys = file.read_row_group(group, columns=["key"]).column("key").to_numpy()
    shared = shared_rows(keys, wanted)
    return (keys[shared], file.read_row_group(group, columns=columns).take(shared)) if len(shared) else None


def _named(keys: np.ndarray, table: pa.Table, rank: int, apart: np.ndarray) -> Rows:
    members = number_members(rank, table.column("ordinal").to_numpy())
    further = table.column("further").to_numpy() if "further" in table.column_names else np.zeros_like(keys)
    stays = np.flatnonzero(~_is_among(members, apart))
    return Rows(keys=keys, members=members, further=further).take(stays)


def _is_among(members: np.ndarray, ordered: np.ndarray) -> np.ndarray:
    if not len(ordered):
        return np.zeros(len(members), dtype=bool)
    places = np.searchsorted(ordered, members)
    return ordered[np.minimum(places, len(ordered) - 1)] == members


def _pair_table(meetings: Meetings, band: int) -> pa.Table:
    columns = {
        "worse": pa.array(meetings.worse, pa.int64()),
        "better": pa.array(meetings.better, pa.int64()),
        "band": pa.array(np.full(len(meetings.worse), band, dtype=np.int32)),
        "level": pa.array(meetings.levels, pa.int32()),
    }
    return pa.table(columns, schema=PAIRS)
