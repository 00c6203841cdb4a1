"""Who erases in a lake: one at a time, and what it began is finished by the next one if it was killed.

Each erasing leaves a record, `erasures/<number>.json`: which partitions it touches, and in the end what it took away, in numbers
alone. Creating the next record is the right to erase; one that is neither ended nor let go nor renewed for LEASE_SECONDS
belongs to a process that died. No clocks are compared: who comes later watches whether the record changes.
"""

import json
import threading
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from corpusmill.lake.store import Store

LEASE_SECONDS = 20.0
_RENEWALS = 5
"""So often is a record renewed in that time."""
_FOLDER = "erasures/"


class ErasureRunningError(RuntimeError):
    """Another process erases in this lake."""


class ErasureOvertakenError(RuntimeError):
    """Another process took this one for dead and goes on in its place."""


@dataclass
class Erasure:
    """The right to erase, as long as it is held."""

    store: Store
    number: int
    partitions: list[tuple[str, str]]
    """Table and partition of all that is touched, and of what one before it left unfinished."""
    doc_ids: list[str]
    """The documents, and those of an unfinished one: a killed one may have emptied what led to them."""
    owner: str = field(default_factory=lambda: uuid.uuid4().hex)
    _beat: int = 0
    _outcome: dict[str, Any] = field(default_factory=dict)
    _writing: threading.Lock = field(default_factory=threading.Lock)

    def check(self) -> None:
        """Raise ErasureOvertakenError when another process has gone on in this one's place."""
        if _numbers(self.store)[-1] != self.number:
            raise ErasureOvertakenError(
                "another `forget erase` took this one for dead, after it had not moved for long, and finishes its work"
            )

    def renew(self) -> None:
        """Show that it is alive."""
        with self._writing:
            self._beat += 1
            self.store.write(_key(self.number), self.spelled)

    def end(self, numbers: Mapping[str, int]) -> None:
        """Record that all is done, and what was taken away."""
        self._outcome = {"ended": True, "numbers": dict(numbers)}
        self.renew()
        self.store.delete(_ids_key(number) for number in range(1, self.number + 1))

    def let_go(self) -> None:
        """Record that nobody works on it, although not all is done."""
        self._outcome = self._outcome or {"let_go": True}
        self.renew()

    @property
    def spelled(self) -> bytes:
        record = {"owner": self.owner, "beat": self._beat, "partitions": self.partitions, **self._outcome}
        return json.dumps(record).encode()


@dataclass(frozen=True, kw_only=True)
class Unfinished:
    """What an erasing that did not end was about."""

    partitions: list[tuple[str, str]] = field(default_factory=list)
    doc_ids: list[str] = field(default_factory=list)


@contextmanager
def erasing(
    store: Store,
    partitions: Iterable[tuple[str, str]],
    doc_ids: Iterable[str],
    *,
    lease_seconds: float = LEASE_SECONDS,
) -> Iterator[Erasure]:
    """Hold the right to erase; raises ErasureRunningError where another process has it.

    Waits for `lease_seconds` where an earlier one has neither ended nor let go.
    """
    number = _last(store, lease_seconds)
    left = unfinished(store)
    held = Erasure(
        store=store,
        number=number + 1,
        partitions=sorted({*partitions, *left.partitions}),
        doc_ids=sorted({*doc_ids, *left.doc_ids}),
    )
    if not store.create(_key(held.number), held.spelled):
        raise ErasureRunningError(_RUNNING)
    store.write(_ids_key(held.number), json.dumps(held.doc_ids).encode())
    done = threading.Event()
    beats = threading.Thread(target=_renew, args=(held, done, lease_seconds / _RENEWALS), daemon=True)
    beats.start()
    try:
        yield held
    finally:
        done.set()
        beats.join()
        held.let_go()


def unfinished(store: Store) -> Unfinished:
    """Return what the last erasing, and those that it went on from, left unfinished."""
    partitions: set[tuple[str, str]] = set()
    doc_ids: set[str] = set()
    for number in reversed(_numbers(store)):
        record = _read(store, number)
        if record.get("ended"):
            break
        partitions |= {(table, partition) for table, partition in record["partitions"]}
        if store.exists(_ids_key(number)):
            doc_ids |= {*json.loads(store.read(_ids_key(number)))}
    return Unfinished(partitions=sorted(partitions), doc_ids=sorted(doc_ids))


_RUNNING = "another `forget erase` is at work in this lake; wait until it ends, then give the command again"


def _last(store: Store, lease_seconds: float) -> int:
    """Return the last number, once it is sure that nobody works on it."""
    numbers = _numbers(store)
    if not numbers:
        return 0
    before = _read(store, numbers[-1])
    if not before.keys() & {"ended", "let_go"}:
        time.sleep(lease_seconds)
        if _numbers(store) != numbers or _read(store, numbers[-1]) != before:
            raise ErasureRunningError(_RUNNING)
    return numbers[-1]


def _renew(held: Erasure, done: threading.Event, seconds: float) -> None:
    while not done.wait(seconds):
        held.renew()


def _numbers(store: Store) -> list[int]:
    names = [item.key.removeprefix(_FOLDER).removesuffix(".json") for item in store.list(_FOLDER)]
    return sorted(int(name) for name in names if name.isdecimal())


def _read(store: Store, number: int) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(store.read(_key(number)))
    return found


def _key(number: int) -> str:
    return f"{_FOLDER}{number:08d}.json"


def _ids_key(number: int) -> str:
    return f"{_FOLDER}{number:08d}-ids.json"
