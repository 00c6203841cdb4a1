"""Serving a mixture's sequences by Arrow Flight, to ranks that cannot read the lake.

The server opens one version of a mix and knows nothing of its clients: which sequences come is reckoned by them
(`corpusmill.stream.flight_client`), so that a server that is killed and started again goes on with any of them. Blocks are
read and decoded once for all ranks. Memory: the stream's cache and the answers under way.

A ticket is JSON: `mix` (name@version), `components` and `indexes` of at most MOST_SEQUENCES sequences, and `pieces`, true
for whose tokens they are instead of the tokens.
"""

import hmac
import json
import socket
import threading
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.flight as flight

from corpusmill.lake.store import LakeSettings
from corpusmill.stream.course import LiveCourse
from corpusmill.stream.loader import MixtureStream

MOST_SEQUENCES = 4_096
TOKENS = pa.schema([pa.field("tokens", pa.list_(pa.int32())), pa.field("lengths", pa.list_(pa.int32()))])
PIECES = pa.schema(
    [
        pa.field("partition", pa.string()),
        pa.field("doc_ids", pa.list_(pa.string())),
        pa.field("starts", pa.list_(pa.int64())),
        pa.field("lengths", pa.list_(pa.int32())),
    ]
)


_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def serve(
    settings: LakeSettings, mix: str, *, host: str, port: int, token: str | None, say: Callable[[str], None]
) -> None:
    """Open a mix and serve it until the process is interrupted; raises ValueError for an open address without a token."""
    if token is None and host not in _LOOPBACK:
        raise ValueError(
            f"whoever reaches {host}:{port} could read the mix: set CORPUSMILL_STREAM_TOKEN here and give it to the ranks, "
            "or listen on 127.0.0.1"
        )
    stream = MixtureStream(settings, mix)
    try:
        _try_address(host, port)
        server = MixtureServer(stream, host=host, port=port, token=token)
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"cannot listen on {host}:{port}; is the port taken? Give another --port") from error
    with server:
        say(f"{stream.mix}, {stream.num_positions:,} sequences, at grpc://{host}:{server.port} (Ctrl-C ends it)")
        server.serve()


def _try_address(host: str, port: int) -> None:
    """Raise OSError where nobody can listen; gRPC writes lines of its own besides."""
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    with socket.socket(family, kind, protocol) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(address)


class MixtureServer(flight.FlightServerBase):
    """Answers tickets until it is shut down. Without a token anybody who reaches the port may read the mix."""

    def __init__(
        self, stream: MixtureStream, *, host: str = "127.0.0.1", port: int = 0, token: str | None = None
    ) -> None:
        middleware = {"token": _TokenCheck(token)} if token else None
        super().__init__(f"grpc://{host}:{port}", middleware=middleware)
        self._stream = stream
        # The reader's cache is for one thread at a time.
        self._reading = threading.Lock()

    def do_action(self, context: Any, action: flight.Action) -> list[flight.Result]:
        """Return JSON: for the action `plan` the plan, for `decisions` those about live components from a number on.

        With `decides` the next one is made where there is none; `none` says what it needs.
        """
        if action.type == "plan":
            return [flight.Result(json.dumps(self._stream.whole_plan.to_json()).encode())]
        if action.type != "decisions":
            raise flight.FlightServerError(f"wanted the action plan or decisions, got {action.type!r}")
        try:
            said = self._decisions(**json.loads(action.body.to_pybytes()))
        except (ValueError, TypeError) as error:
            raise flight.FlightServerError(str(error)) from error
        return [flight.Result(json.dumps(said).encode())]

    def _decisions(self, *, mix: str, number: int, decides: bool) -> dict[str, Any]:
        if mix != self._stream.mix:
            raise ValueError(f"wanted mix {mix}, this server has {self._stream.mix}; start one for it")
        course = self._stream.course
        if not isinstance(course, LiveCourse):
            raise ValueError(f"mix {mix} has no live components")
        with self._reading:
            course.reach(self._stream.num_positions, decides=False)
            lacking = course.try_next() if decides and number >= len(course.plan.decided.decisions) else None
            made = course.plan.decided.decisions[number:]
        if made:
            return {"decisions": [one.to_json() for one in made]}
        return {"none": lacking or "nothing more is decided"}

    def do_get(self, context: Any, ticket: flight.Ticket) -> flight.RecordBatchStream:
        """Return a row for each sequence of a ticket, in its order."""
        try:
            with self._reading:
                components, indexes, is_pieces = self._asked(ticket)
                found = self._pieces(components, indexes) if is_pieces else self._tokens(components, indexes)
        except ValueError as error:
            raise flight.FlightServerError(str(error)) from error
        return flight.RecordBatchStream(found)

    def _asked(self, ticket: flight.Ticket) -> tuple[list[int], list[int], bool]:
        try:
            asked = json.loads(ticket.ticket)
            mix, components, indexes = asked["mix"], [*map(int, asked["components"])], [*map(int, asked["indexes"])]
        except (ValueError, TypeError, LookupError, OverflowError, RecursionError) as error:
            raise ValueError(
                f"wanted a ticket with mix, components and indexes, got {ticket.ticket[:200]!r}"
            ) from error
        if mix != self._stream.mix:
            raise ValueError(f"wanted mix {mix}, this server has {self._stream.mix}; start one for it")
        if len(components) != len(indexes) or len(indexes) > MOST_SEQUENCES:
            raise ValueError(f"a ticket is for up to {MOST_SEQUENCES} sequences, got {len(components)}, {len(indexes)}")
        for component, index in zip(components, indexes, strict=True):
            self._check(component, index)
        return components, indexes, bool(asked.get("pieces"))

    def _check(self, component: int, index: int) -> None:
        if component >= len(self._stream.plan.components):
            # Another server may have told of what arrived.
            self._stream.course.reach(self._stream.num_positions, decides=False)
        held = self._stream.plan.components
        if not 0 <= component < len(held) or not 0 <= index < held[component].num_sequences:
            raise ValueError(f"mix {self._stream.mix} has no sequence {index} of component {component}")

    def _tokens(self, components: list[int], indexes: list[int]) -> pa.Table:
        rows = [self._stream.reader.read(*pair) for pair in zip(components, indexes, strict=True)]
        columns = [pa.array(values, pa.list_(pa.int32())) for values in zip(*rows, strict=True)]
        return pa.table(columns or [[], []], schema=TOKENS)

    def _pieces(self, components: list[int], indexes: list[int]) -> pa.Table:
        rows = [vars(self._stream.reader.read_pieces(*pair)) for pair in zip(components, indexes, strict=True)]
        return pa.Table.from_pylist(rows, schema=PIECES)


class _TokenCheck(flight.ServerMiddlewareFactory):
    def __init__(self, token: str) -> None:
        self._wanted = f"Bearer {token}".encode()

    def start_call(self, info: Any, headers: dict[str, list[str]]) -> None:
        given = "".join(headers.get("authorization", [""])[:1]).encode()
        if not hmac.compare_digest(given, self._wanted):
            raise flight.FlightUnauthenticatedError("a token is wanted, got none or another")
