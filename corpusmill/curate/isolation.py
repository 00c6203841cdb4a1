"""Extracting a suspicious page in a process of its own, which can be killed when it takes too long or too much memory.

A time-out raised inside an extractor can be swallowed there, and C code does not listen to it at all; a killed process
always ends. Costs about a second for the child's start, so only pages that look dangerous come here.
"""

import json
import resource
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from corpusmill.curate.html import HtmlPage, read_html

_ROOT = str(Path(__file__).resolve().parents[2])
_CHILD = "import sys; sys.path.insert(0, sys.argv[1]); from corpusmill.curate.isolation import main; main()"


class ExtractionFailedError(Exception):
    """The page could not be extracted; the message is the failure's name."""


def read_html_in_child(html: str, method: str, *, timeout_seconds: float, memory_bytes: int) -> HtmlPage:
    """Return the page as `read_html` does; raises ExtractionFailedError when the child had to be ended or died."""
    command = [sys.executable, "-c", _CHILD, _ROOT, method, str(memory_bytes)]
    try:
        done = subprocess.run(
            command, input=html.encode("utf-8", "replace"), capture_output=True, timeout=timeout_seconds, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise ExtractionFailedError("extraction_timed_out") from error
    if done.returncode == _OUT_OF_MEMORY:
        raise ExtractionFailedError("extraction_out_of_memory")
    if done.returncode != 0:
        raise ExtractionFailedError("extraction_crashed")
    return HtmlPage(**json.loads(done.stdout))


_OUT_OF_MEMORY = 71


def main() -> None:
    """Read a page from stdin and write it extracted to stdout; run in the child."""
    _, _, method, memory_bytes = sys.argv
    resource.setrlimit(resource.RLIMIT_AS, (int(memory_bytes), int(memory_bytes)))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        page = read_html(sys.stdin.buffer.read().decode("utf-8"), method)
        sys.stdout.write(json.dumps(asdict(page)))
    except MemoryError:
        sys.exit(_OUT_OF_MEMORY)
