"""Pages are read in a child process, which is ended when a page takes too long or too much memory.

A time-out raised inside an extractor can be swallowed there, and C code does not listen to it at all; a killed process
always ends. The child is kept for the next page: its start costs 0.2 s, a page then less than half a millisecond. The kernel
ends the child by an alarm that the child sets itself before each page, so one whose parent died ends too.
"""

import atexit
import json
import os
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import IO

from corpusmill.curate.html import HtmlPage, read_html
from corpusmill.curate.main_text import Confidence
from corpusmill.curate.rst import rst_to_text

_ROOT = str(Path(__file__).resolve().parents[2])
_CHILD = "import sys; sys.path.insert(0, sys.argv[1]); from corpusmill.curate.isolation import main; main()"
_LENGTHS = struct.Struct("<IQ")
"""Before each request: bytes of the way to read, bytes of the page. Before each answer: 0, bytes of the answer."""
_OUT_OF_MEMORY = 71
_DEFAULT_CONFIDENCE = Confidence()


class ExtractionFailedError(Exception):
    """The page could not be extracted; the message is the failure's name."""


class PageReader:
    """A child process that reads one page after the other; started with the first, started anew after one that ended it."""

    def __init__(self, *, timeout_seconds: float, memory_bytes: int) -> None:
        self.limits = (timeout_seconds, memory_bytes)
        self.owner = os.getpid()
        self._child: subprocess.Popen[bytes] | None = None

    def read(self, text: str, method: str, confidence: Confidence = _DEFAULT_CONFIDENCE) -> HtmlPage:
        """Return the page as `read_page` does; raises ExtractionFailedError when the child was ended or died."""
        if self._child is None:
            self._child = self._start()
        way = json.dumps({"method": method, "confidence": asdict(confidence)})
        try:
            answer = _ask(self._child, way.encode(), text.encode("utf-8", "replace"))
        except BaseException:
            self.close()  # An answer that nobody waited for would be taken for the next page's.
            raise
        if answer is None:
            raise ExtractionFailedError(self._bury())
        return HtmlPage(**json.loads(answer))

    def close(self) -> None:
        """End the child."""
        if self._child is not None:
            self._child.kill()
            self._bury()

    def _start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", _CHILD, _ROOT, *map(str, self.limits)]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def _bury(self) -> str:
        assert self._child is not None
        code = self._child.wait()
        # What the child did not read any more is flushed here, in vain.
        with suppress(BrokenPipeError), self._child:
            self._child = None
        return {-signal.SIGALRM: "extraction_timed_out", _OUT_OF_MEMORY: "extraction_out_of_memory"}.get(
            code, "extraction_crashed"
        )


@contextmanager
def borrowed_reader(*, timeout_seconds: float, memory_bytes: int) -> Iterator[PageReader]:
    """Lend a reader of this process, kept for the next borrower; two borrowers at once have two."""
    reader = _take_idle((timeout_seconds, memory_bytes))
    if reader is None:
        reader = PageReader(timeout_seconds=timeout_seconds, memory_bytes=memory_bytes)
    try:
        yield reader
    finally:
        _idle.append(reader)


def read_page(text: str, method: str, confidence: Confidence) -> HtmlPage:
    """Read a page in this process: `rst` for documentation sources, else a method of `corpusmill.curate.html`."""
    if method == "rst":
        plain, title = rst_to_text(text)
        return HtmlPage(text=plain, title=title)
    return read_html(text, method, confidence)


_idle: list[PageReader] = []
_idle_lock = threading.Lock()


def _take_idle(limits: tuple[float, int]) -> PageReader | None:
    """Take a reader with these limits; one inherited by a fork belongs to the parent."""
    with _idle_lock:
        found = next((one for one in _idle if one.limits == limits and one.owner == os.getpid()), None)
        if found is not None:
            _idle.remove(found)
        return found


@atexit.register
def _close_idle() -> None:
    for reader in _idle:
        if reader.owner == os.getpid():
            reader.close()


def _ask(child: subprocess.Popen[bytes], way: bytes, text: bytes) -> bytes | None:
    """Return the child's answer, or None when it died."""
    assert child.stdin is not None and child.stdout is not None
    try:
        child.stdin.write(_LENGTHS.pack(len(way), len(text)) + way)
        child.stdin.write(text)
        child.stdin.flush()
    except BrokenPipeError:
        return None
    head = child.stdout.read(_LENGTHS.size)
    if len(head) < _LENGTHS.size:
        return None
    size = _LENGTHS.unpack(head)[1]
    answer = child.stdout.read(size)
    return answer if len(answer) == size else None


def main() -> None:
    """Read pages from stdin and write them extracted to stdout, until stdin ends; run in the child."""
    import logging
    import resource

    timeout_seconds, memory_bytes = float(sys.argv[2]), int(sys.argv[3])
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # What a library prints must not stand between two answers.
    logging.disable()
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGALRM])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        while head := sys.stdin.buffer.read(_LENGTHS.size):
            signal.setitimer(signal.ITIMER_REAL, timeout_seconds)
            _answer(head, answers)
            signal.setitimer(signal.ITIMER_REAL, 0)
    except MemoryError:
        os._exit(_OUT_OF_MEMORY)


def _answer(head: bytes, answers: IO[bytes]) -> None:
    way_bytes, text_bytes = _LENGTHS.unpack(head)
    way = json.loads(sys.stdin.buffer.read(way_bytes))
    page = read_page(sys.stdin.buffer.read(text_bytes).decode("utf-8"), way["method"], Confidence(**way["confidence"]))
    answer = json.dumps(asdict(page), ensure_ascii=False).encode()
    answers.write(_LENGTHS.pack(0, len(answer)) + answer)
    answers.flush()
