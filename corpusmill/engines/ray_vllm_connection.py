"""The process that talks to Ray (`ray_vllm_driver`) from outside: the server starts it, clients ask it over its socket.

Any number of threads of a client ask at once over one line, each waits for its own reply.
"""

import itertools
import json
import os
import queue
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from corpusmill.engines.worker_path import worker_path

DRIVER = "corpusmill.engines.ray_vllm_driver"
END_SECONDS = 10.0
CONNECT_SECONDS = 20.0
"""What a driver that died gets to be started again."""
GREETING = b"\n"
"""What a driver sends first. A dying one's socket may still take a line that nobody will read."""
POLL_SECONDS = 0.05


class Driver:
    """The process, as the one who started it sees it."""

    def __init__(self, cluster: Mapping[str, Any], *, address: Path, log: Path, max_restarts: int) -> None:
        """`cluster`: its address, namespace, token_file and the names of the engines."""
        self.address = address
        self.log = log
        self._cluster = dict(cluster)
        self._restarts_left = max_restarts
        self._process = self._start()

    def keep_running(self) -> bool:
        """Start the process again where it ended; return False once that was done too often."""
        if self._process.poll() is None:
            return True
        print(f"the process that talks to Ray ended with exit code {self._process.poll()}", flush=True)
        if self._restarts_left == 0:
            return False
        self._restarts_left -= 1
        self._process = self._start()
        return True

    def await_clients(self, seconds: float) -> bool:
        """Wait until clients can ask; return whether they can."""
        deadline = time.monotonic() + seconds
        while not self.address.exists() and self._process.poll() is None and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
        return self.address.exists() and self._process.poll() is None

    def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _start(self) -> "subprocess.Popen[bytes]":
        self.address.unlink(missing_ok=True)
        with self.log.open("ab") as words:
            return subprocess.Popen(
                [sys.executable, "-W", "ignore", "-m", DRIVER, json.dumps(self._cluster), str(self.address)],
                stdin=subprocess.PIPE,
                stdout=words,
                stderr=words,
                env={**os.environ, "PYTHONPATH": worker_path()},
            )


class DriverConnection:
    """One client's line, from its start to its end; raises OSError where no driver answers in time."""

    def __init__(self, address: str) -> None:
        self._line = _connected(address)
        self._orders = self._line.makefile("w", encoding="utf-8")
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._replies: dict[int, queue.SimpleQueue[dict[str, Any] | None]] = {}
        self._is_over = False
        self._reader = threading.Thread(target=self._read, name="ray-vllm-replies", daemon=True)
        self._reader.start()

    def ask(self, order: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the reply to an order, or None when the line is cut."""
        reply: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        with self._lock:
            if self._is_over:
                return None
            number = next(self._numbers)
            self._replies[number] = reply
            with suppress(OSError):  # the end of the line is seen by who reads
                self._orders.write(json.dumps({"number": number, **order}) + "\n")
                self._orders.flush()
        return reply.get()

    def close(self) -> None:
        """Cut the line: what was asked over it is thrown out. A second call does nothing."""
        with self._lock:
            self._is_over = True
        with suppress(OSError):  # it was cut already
            self._line.shutdown(socket.SHUT_RDWR)
        self._reader.join()
        with suppress(OSError):  # what was not yet written is lost with it
            self._orders.close()
        self._line.close()

    def _read(self) -> None:
        with suppress(OSError), self._line.makefile("r", encoding="utf-8") as replies:
            for line in replies:
                told = json.loads(line)
                self._replies.pop(told["number"]).put(told["reply"])
        with self._lock:
            self._is_over = True
            unanswered, self._replies = self._replies, {}
        for reply in unanswered.values():
            reply.put(None)


def _connected(address: str) -> socket.socket:
    deadline = time.monotonic() + CONNECT_SECONDS
    while True:
        line = socket.socket(socket.AF_UNIX)
        try:
            line.connect(address)
            _await_greeting(line)
            return line
        except (FileNotFoundError, ConnectionError):
            line.close()
            if time.monotonic() > deadline:
                raise
            time.sleep(POLL_SECONDS)
        except OSError:
            line.close()
            raise


def _await_greeting(line: socket.socket) -> None:
    line.settimeout(CONNECT_SECONDS)
    if line.recv(len(GREETING)) != GREETING:
        raise ConnectionResetError("the driver ended before it took the line")
    line.settimeout(None)
