"""A mixture's stream on a machine that cannot read the lake: the plan and the sequences come from a server.

The order is reckoned here, from the plan, and each ticket names its sequences, so a server that went away and came back, or
another one of the same mix and version, goes on with the very next. What comes is fetched CHUNK sequences at a time by a few
threads. Memory: AHEAD + 2 chunks.
"""

import json
import os
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa
import pyarrow.flight as flight

from corpusmill.mix.availability import Decided, Decision
from corpusmill.mix.decided import DecidedPlan, decided_plan
from corpusmill.mix.order import IntArray
from corpusmill.mix.plan import Plan
from corpusmill.stream.block import Block, one_sequence
from corpusmill.stream.course import FixedCourse, LiveCourse
from corpusmill.stream.live import PATIENCE_SECONDS, Waiting, say_to_stderr
from corpusmill.stream.loader import MixtureStream
from corpusmill.stream.reader import Pieces, Tokens

CHUNK = 128
AHEAD = 4
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.1, 2.0
_LEAST_TIMEOUT_SECONDS = 1.0
_MOST_TOKEN_CHARACTERS = 4_096
"""All headers of a call together may have 8 KB."""

Pair = tuple[int, int]


class ServerGoneError(ConnectionError):
    """The server did not answer for as long as the client waits."""


def open_remote(
    url: str,
    *,
    token: str | None = None,
    rank: int = 0,
    world_size: int = 1,
    start: int = 0,
    patience_seconds: float = 60.0,
    late_seconds: float = PATIENCE_SECONDS,
    say: Callable[[str], None] = say_to_stderr,
) -> MixtureStream:
    """Return the stream of the mix that a server has, `grpc://host:port`; it waits so long for one that is away.

    Of a mix with live components the server decides; a stream waits `late_seconds` for what has not come.

    Raises PermissionError where the token is not the server's, and ServerGoneError.
    """
    client = _Client(url, token=token, patience_seconds=patience_seconds)
    plan = Plan.from_json(client.plan())
    reader = RemoteReader(client, mix=f"{plan.mix}@{plan.version}")
    waiting = Waiting(patience_seconds=late_seconds, say=None if rank else say)
    course = (
        LiveCourse(decided_plan(Decided.of(plan)), _RemoteSource(client), waiting)
        if plan.is_live
        else FixedCourse(plan)
    )
    return MixtureStream.over(course, reader, rank=rank, world_size=world_size, start=start)


class RemoteReader:
    """Gives any sequence of any component from a server. Pickles without what it fetched."""

    def __init__(self, client: "_Client", *, mix: str) -> None:
        self._client = client
        self._mix = mix
        self._coming: deque[Pair] = deque()
        self._chunks: dict[int, _Chunk] = {}
        self._where: dict[Pair, tuple[int, int]] = {}
        self._num_begun = 0
        self._threads: ThreadPoolExecutor | None = None
        self._process = os.getpid()

    def __reduce__(self) -> tuple[Any, ...]:
        return _open_reader, (self._client, self._mix)

    def read(self, component: int, index: int) -> tuple[Tokens, Tokens]:
        """Return the tokens of a sequence and the lengths of its pieces; both must not be changed."""
        pair = (component, index)
        self._refuse_if_forked()
        if pair not in self._where:
            return _row(self._client.fetch(self._mix, [pair]), 0)
        number, row = self._where[pair]
        rows = self._chunks[number].rows.result()
        # One behind is kept: what comes twice mostly comes soon.
        self._forget([old for old in self._chunks if old < number - 1])
        self._fetch_ahead()
        return _row(rows, row)

    def blocks(self, component_B: IntArray, index_B: IntArray) -> tuple[list[Block], IntArray, IntArray]:
        """Return a block of its own for each sequence."""
        pairs = zip(component_B.tolist(), index_B.tolist(), strict=True)
        found = [one_sequence(*self.read(*pair)) for pair in pairs]
        return found, np.arange(len(found)), np.zeros(len(found), np.int64)

    def read_pieces(self, component: int, index: int) -> Pieces:
        """Return whose tokens a sequence holds."""
        self._refuse_if_forked()
        rows = self._client.fetch(self._mix, [(component, index)], pieces=True)
        return Pieces(**rows.to_pylist()[0])

    def expect(self, components: Sequence[int], indexes: Sequence[int]) -> None:
        """Fetch these sequences in the background, in the order in which they come; forgets what was expected before."""
        self._refuse_if_forked()
        pairs = dict.fromkeys(zip(components, indexes, strict=True))
        self._forget([number for number, chunk in self._chunks.items() if pairs.keys().isdisjoint(chunk.pairs)])
        self._coming = deque(pair for pair in pairs if pair not in self._where)
        self._fetch_ahead()

    def _refuse_if_forked(self) -> None:
        # Neither the threads nor gRPC's own are there: the first call would never return.
        if self._process != os.getpid():
            raise ValueError(
                f"the stream of {self._mix} from a server was opened before this process was forked; start workers with "
                'multiprocessing_context="forkserver" or "spawn", or open it in the worker'
            )

    def _fetch_ahead(self) -> None:
        while self._coming and len(self._chunks) < AHEAD + 2:
            pairs = [self._coming.popleft() for _ in range(min(CHUNK, len(self._coming)))]
            self._threads = self._threads or ThreadPoolExecutor(AHEAD, thread_name_prefix="sequences")
            rows = self._threads.submit(self._client.fetch, self._mix, pairs)
            self._chunks[self._num_begun] = _Chunk(pairs, rows)
            self._where.update((pair, (self._num_begun, row)) for row, pair in enumerate(pairs))
            self._num_begun += 1

    def _forget(self, numbers: Sequence[int]) -> None:
        for number in numbers:
            for pair in self._chunks.pop(number).pairs:
                del self._where[pair]


class _RemoteSource:
    """Decisions as the server has them, or makes them when it is asked for more; what arrived is read there."""

    def __init__(self, client: "_Client") -> None:
        self._client = client

    def known(self, decided: Decided) -> Decided | None:
        found = self._asked(decided, decides=False)
        return None if isinstance(found, str) else found

    def decide(self, decided: Decided) -> Decided | str:
        return self._asked(decided, decides=True)

    def _asked(self, decided: Decided, *, decides: bool) -> Decided | str:
        answer = self._client.decisions(decided, decides=decides)
        if isinstance(answer, str):
            return answer
        for decision in answer:
            decided = decided.after(decision)
        return decided

    def open(self, plan: DecidedPlan, first: int) -> None: ...
    def close(self) -> None: ...


@dataclass(frozen=True)
class _Chunk:
    pairs: list[Pair]
    rows: Future[pa.Table]


class _Client:
    """Asks the server, again and again while it is away. Pickles without its connection."""

    def __init__(self, url: str, *, token: str | None, patience_seconds: float) -> None:
        if not _is_address(url):
            raise ValueError(f"wanted the URL of a server, grpc://host:port or grpc+tls://host:port, got {url!r}")
        if not isinstance(patience_seconds, int | float):
            raise ValueError(f"patience_seconds must be a number, got {patience_seconds!r}")
        if token is not None and not _fits_header(token):
            raise ValueError(
                f"wanted a token of up to {_MOST_TOKEN_CHARACTERS:,} visible ASCII characters, got {len(token):,} characters, or "
                "others among them; take the one that the server has"
            )
        self._url = url
        self._token = token
        self._patience_seconds = patience_seconds
        self._connection: flight.FlightClient | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_connection": None}

    def plan(self) -> dict[str, Any]:
        """Return the server's plan, as JSON spells it."""
        [answer] = self._ask(lambda client, options: list(client.do_action("plan", options)))
        found: dict[str, Any] = json.loads(answer.body.to_pybytes())
        return found

    def decisions(self, decided: Decided, *, decides: bool) -> list[Decision] | str:
        """Return the decisions after those that are known, or why there are none."""
        asked = {
            "mix": f"{decided.plan.mix}@{decided.plan.version}",
            "number": len(decided.decisions),
            "decides": decides,
        }
        action = flight.Action("decisions", json.dumps(asked).encode())
        [answer] = self._ask(lambda client, options: list(client.do_action(action, options)))
        said = json.loads(answer.body.to_pybytes())
        return said["none"] if "none" in said else [Decision.from_json(one) for one in said["decisions"]]

    def fetch(self, mix: str, pairs: Sequence[Pair], *, pieces: bool = False) -> pa.Table:
        """Return a row for each (component, index)."""
        components, indexes = zip(*pairs, strict=True)
        ticket = flight.Ticket(
            json.dumps({"mix": mix, "components": components, "indexes": indexes, "pieces": pieces}).encode()
        )
        return self._ask(lambda client, options: client.do_get(ticket, options).read_all())

    def _ask(self, call: Callable[[flight.FlightClient, flight.FlightCallOptions], Any]) -> Any:
        given_up, pause_seconds = time.monotonic() + self._patience_seconds, _FIRST_PAUSE_SECONDS
        while True:
            try:
                return self._call(call)
            except flight.FlightUnauthenticatedError as error:
                raise PermissionError(f"the server {self._url} wants a token, got none or another") from error
            except flight.FlightServerError as error:
                raise ValueError(f"the server {self._url} refuses: {_first_line(error)}") from error
            except (flight.FlightError, OSError) as error:
                if time.monotonic() + pause_seconds > given_up:
                    raise ServerGoneError(
                        f"no answer from {self._url} for {self._patience_seconds:g} s ({_first_line(error)}); start "
                        "`corpusmill serve` again and go on from the checkpoint"
                    ) from error
            time.sleep(pause_seconds)
            pause_seconds = min(2 * pause_seconds, _LONGEST_PAUSE_SECONDS)

    def _call(self, call: Callable[[flight.FlightClient, flight.FlightCallOptions], Any]) -> Any:
        headers = [(b"authorization", f"Bearer {self._token}".encode())] if self._token else []
        self._connection = self._connection or flight.connect(self._url)
        # A server that hangs, or whose machine is gone, closes no connection.
        timeout_seconds = max(self._patience_seconds, _LEAST_TIMEOUT_SECONDS)
        return call(self._connection, flight.FlightCallOptions(headers=headers, timeout=timeout_seconds))


def _is_address(url: object) -> bool:
    if not isinstance(url, str):
        return False
    parts = urlsplit(url)
    try:
        return parts.scheme in ("grpc", "grpc+tls") and bool(parts.hostname and parts.port)
    except ValueError:  # a port that is no number
        return False


def _open_reader(client: _Client, mix: str) -> RemoteReader:
    return RemoteReader(client, mix=mix)


def _fits_header(token: str) -> bool:
    return len(token) <= _MOST_TOKEN_CHARACTERS and token.isascii() and token.isprintable()


def _row(rows: pa.Table, number: int) -> tuple[Tokens, Tokens]:
    tokens, lengths = (rows[name].chunk(0)[number].values.to_numpy() for name in ("tokens", "lengths"))
    return tokens, lengths


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0].partition(". gRPC client debug context")[0]
