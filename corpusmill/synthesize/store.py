"""The request store: everything that came back for a partition, found by id, and what of it stands.

Answers are committed in waves, each about a minute of work. The first committed answer to an ask stands, for engines do
not answer twice alike. Nothing here depends on how an engine groups its work: an answer is found by its id alone.
Memory: one entry an id, and the waves as Arrow tables; with a folder only those of the last 32 MiB, the others are mapped
from files there.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from corpusmill.document import COMPLETIONS
from corpusmill.synthesize.asking import Answer, Failed

HELD_BYTES = 32 << 20
_ALONE = -1


@dataclass(frozen=True, kw_only=True)
class RetryPolicy:
    """Which failed requests are asked again."""

    permanent: frozenset[str] = frozenset({"prompt_too_long", "empty_answer", "request_refused"})
    """Failures that asking again would only repeat."""
    max_attempts: int = 3
    """A request that failed so often otherwise is left as it is."""


@dataclass(frozen=True, kw_only=True)
class Spent:
    """What answers took."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    device_seconds: float = 0.0

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            device_seconds=self.device_seconds + other.device_seconds,
        )


def with_device_seconds(rows: pa.Table, seconds: float) -> pa.Table:
    """Return COMPLETIONS with the time that engines took for them, shared out by tokens; tools' answers get none."""
    tokens = [row or 0 for row in rows["completion_tokens"].to_pylist()]
    total = sum(tokens)
    shares = [seconds * number / total if total else 0.0 for number in tokens]
    column = COMPLETIONS.get_field_index("device_seconds")
    return rows.set_column(column, COMPLETIONS.field(column), pa.array(shares, pa.float64()))


def as_completions(rows: pa.Table) -> pa.Table:
    """Return rows as COMPLETIONS: columns that were added since they were written are null."""
    columns = [
        rows[field.name].cast(field.type) if field.name in rows.schema.names else pa.nulls(len(rows), field.type)
        for field in COMPLETIONS
    ]
    return pa.table(columns, schema=COMPLETIONS)


def _mapped(waves: Sequence[pa.Table], path: Path) -> list[pa.Table]:
    """Write waves to a file and return them mapped from it."""
    with pa.ipc.new_file(path, COMPLETIONS) as file:
        for wave in waves:
            columns = [column.combine_chunks() for column in wave.columns]
            file.write_batch(pa.RecordBatch.from_arrays(columns, schema=COMPLETIONS))
    reader = pa.ipc.open_file(pa.memory_map(str(path)))
    return [pa.Table.from_batches([reader.get_batch(number)]) for number in range(len(waves))]


class AnswerStore:
    """What came back, wave by wave: add COMPLETIONS in the order in which they were committed."""

    def __init__(self, waves: Iterable[pa.Table] = (), *, folder: Path | None = None) -> None:
        """`folder`: an empty one that outlives the store."""
        self._waves: list[pa.Table] = []
        self._folder = folder
        self._num_mapped = 0
        self._held_bytes = 0
        self._failed: list[Mapping[str, Any]] = []
        """Rows of what failed by itself, in no wave."""
        self._place: dict[str, tuple[int, int]] = {}
        """Number of the wave, or _ALONE, and the row in it."""
        self._num_failures: Counter[str] = Counter()
        self._answered: set[str] = set()
        for wave in waves:
            self.add(wave)

    def add(self, wave: pa.Table) -> None:
        """Take in a wave. The first answer to an ask stands; where there is none, the last failure."""
        number = len(self._waves)
        wave = as_completions(wave)
        self._hold(wave)
        pairs = zip(wave["request_id"].to_pylist(), wave["failure"].is_null().to_pylist(), strict=True)
        for row, (request_id, is_answer) in enumerate(pairs):
            if request_id in self._answered:
                continue
            self._place[request_id] = (number, row)
            if is_answer:
                self._answered.add(request_id)
            else:
                self._num_failures[request_id] += 1

    def _hold(self, wave: pa.Table) -> None:
        self._waves.append(wave)
        self._held_bytes += wave.nbytes
        if self._folder is not None and self._held_bytes > HELD_BYTES:
            mapped = _mapped(self._waves[self._num_mapped :], self._folder / f"{self._num_mapped:09d}.arrow")
            self._waves[self._num_mapped :] = mapped
            self._num_mapped, self._held_bytes = len(self._waves), 0

    def add_failure(self, row: Mapping[str, Any]) -> None:
        """Take in one failure, as the COMPLETIONS columns that it has."""
        request_id = row["request_id"]
        if request_id not in self._answered:
            self._place[request_id] = (_ALONE, len(self._failed))
            self._failed.append(row)
            self._num_failures[request_id] += 1

    @property
    def num_known(self) -> int:
        """How many asks anything came back for."""
        return len(self._place)

    def find(self, request_id: str) -> Answer | Failed | None:
        """Return the answer that stands, else the last failure, else None."""
        if request_id not in self._place:
            return None
        number, row = self._place[request_id]
        if number == _ALONE:
            return Failed(reason=self._failed[row]["failure"])
        wave = self._waves[number]
        if request_id not in self._answered:
            return Failed(reason=wave["failure"][row].as_py())
        return Answer(text=wave["answer"][row].as_py(), finish_reason=wave["finish_reason"][row].as_py())

    def spent(self, request_ids: Iterable[str]) -> "Spent":
        """Return what the answers to these ids took."""
        places = [self._place[request_id] for request_id in set(request_ids) if request_id in self._place]
        took = [(self._waves[number], row) for number, row in places if number != _ALONE]
        return Spent(
            prompt_tokens=sum(wave["prompt_tokens"][row].as_py() or 0 for wave, row in took),
            completion_tokens=sum(wave["completion_tokens"][row].as_py() or 0 for wave, row in took),
            device_seconds=sum(wave["device_seconds"][row].as_py() or 0.0 for wave, row in took),
        )

    def find_settled(
        self, request_id: str, *, policy: RetryPolicy, just_asked: Collection[str] = ()
    ) -> Answer | Failed | None:
        """Return what `find` does, or None where the policy asks again; what was `just_asked` is not asked again."""
        found = self.find(request_id)
        if not isinstance(found, Failed) or request_id in just_asked or found.reason in policy.permanent:
            return found
        return found if self._num_failures[request_id] >= policy.max_attempts else None

    def table(self, steps: Mapping[str, str]) -> pa.Table:
        """Return COMPLETIONS with one row for each of these ids that anything came back for, in their order.

        `steps` are ids with the step that asks. What came back for anything else, which is not asked any more, is left
        out.
        """
        starts = [0]
        for wave in self._waves:
            starts.append(starts[-1] + len(wave))
        ids = [request_id for request_id in steps if request_id in self._place]
        # Those that failed alone come last: _ALONE is -1, and so the last of `starts` is theirs.
        rows = [starts[number] + row for number, row in (self._place[request_id] for request_id in ids)]
        failed = pa.Table.from_pylist(self._failed, schema=COMPLETIONS)
        everything = pa.concat_tables([COMPLETIONS.empty_table(), *self._waves, failed])
        taken = everything.take(pa.array(rows, pa.int64()))
        step = pa.array([steps[request_id] for request_id in ids], pa.string())
        return taken.set_column(COMPLETIONS.get_field_index("step"), COMPLETIONS.field("step"), step)
