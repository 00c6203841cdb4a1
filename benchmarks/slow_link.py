"""A link to a local server that takes time: what is sent arrives later, in both directions, as much of it as before.

    python -m benchmarks.slow_link PORT SECONDS      prints the port that stands for PORT

SECONDS is the time of a round trip: an answer's first byte comes that much later than it would.
"""

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_PIECE_BYTES = 1 << 20
_MOST_PIECES = 256


@contextmanager
def slow_link(port: int, *, seconds: float) -> Iterator[int]:
    """Run the link in a process of its own; gives its port."""
    command = [sys.executable, "-m", "benchmarks.slow_link", str(port), str(seconds)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.terminate()


async def serve(port: int, seconds: float) -> None:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there_reader, there_writer = await asyncio.open_connection("127.0.0.1", port, limit=_PIECE_BYTES)
        await asyncio.gather(
            _carry(reader, there_writer, seconds / 2), _carry(there_reader, writer, seconds / 2), return_exceptions=True
        )

    server = await asyncio.start_server(connected, "127.0.0.1", 0, limit=_PIECE_BYTES)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seconds: float) -> None:
    under_way: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(_MOST_PIECES)

    async def take() -> None:
        is_open = True
        while is_open:
            piece = b""
            with suppress(ConnectionError):
                piece = await reader.read(_PIECE_BYTES)
            is_open = bool(piece)
            await under_way.put((time.monotonic() + seconds, piece))

    taking = asyncio.create_task(take())
    with suppress(ConnectionError):
        while True:
            due, piece = await under_way.get()
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            if not piece:
                break
            writer.write(piece)
            await writer.drain()
    taking.cancel()
    writer.close()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), float(sys.argv[2])))
