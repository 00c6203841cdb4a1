"""The line to the process that talks to Ray: any number of threads ask over it at once, each waits for its own reply."""

import itertools
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from corpusmill.engines.ray_vllm_driver import Patience
from corpusmill.engines.worker_path import worker_path

DRIVER = "corpusmill.engines.ray_vllm_driver"
CLOSE_SECONDS = 10.0
LAST_WORDS_BYTES = 2_000


class DriverConnection:
    """One such process, from its start to its end."""

    def __init__(self, endpoint: Mapping[str, Any], patience: Patience) -> None:
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 (closed at the end)
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", DRIVER, json.dumps(dict(endpoint)), json.dumps(asdict(patience))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env={**os.environ, "PYTHONPATH": worker_path()},
            start_new_session=True,
        )
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._replies: dict[int, queue.SimpleQueue[dict[str, Any] | None]] = {}
        self._is_over = False
        self._reader = threading.Thread(target=self._read, name="ray-vllm-replies", daemon=True)
        self._reader.start()

    def ask(self, order: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the reply to an order, or None when the process is gone."""
        reply: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        with self._lock:
            if self._is_over:
                return None
            number = next(self._numbers)
            self._replies[number] = reply
            assert self._process.stdin is not None
            with suppress(BrokenPipeError):  # its end is seen by who reads
                self._process.stdin.write(json.dumps({"number": number, **order}) + "\n")
                self._process.stdin.flush()
        return reply.get()

    def close(self) -> tuple[int, str]:
        """End the process, and return its exit code and last words; a second call returns the same."""
        assert self._process.stdin is not None and self._process.stdout is not None
        with self._lock:
            self._is_over = True
            with suppress(BrokenPipeError):  # what was not yet written is lost with it
                self._process.stdin.close()
        try:
            code = self._process.wait(CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        self._reader.join()
        return code, self._last_words()

    def _last_words(self) -> str:
        with self._lock:
            if self._log.closed:
                return ""
            self._log.seek(0)
            words = self._log.read()[-LAST_WORDS_BYTES:].decode(errors="replace").strip()
            self._log.close()
        return words

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                told = json.loads(line)
                self._replies.pop(told["number"]).put(told["reply"])
        with self._lock:
            self._is_over = True
            unanswered, self._replies = self._replies, {}
        for reply in unanswered.values():
            reply.put(None)
