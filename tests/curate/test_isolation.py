"""The child that reads pages: what ends it, what it says then, and that nothing is left behind."""

import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from corpusmill.curate.html import METHODS, read_html
from corpusmill.curate.isolation import ExtractionFailedError, PageReader, borrowed_reader

ROOT = Path(__file__).parents[2]
GIBIBYTE = 1 << 30
ENDLESS = "x " + ":" * 400_000 + " y"
"""Quadratic for the roles of reStructuredText: minutes."""
PAGE = "<html lang=de><title>Füchse</title><main><h1>Füchse</h1>" + "<p>Der Fuchs läuft über das weite Feld.</p>" * 20


@pytest.fixture
def reader():
    reader = PageReader(timeout_seconds=8, memory_bytes=GIBIBYTE)
    yield reader
    reader.close()


def failure(reader: PageReader, text: str, method: str) -> str:
    with pytest.raises(ExtractionFailedError) as caught:
        reader.read(text, method)
    return str(caught.value)


@pytest.mark.parametrize("method", METHODS)
def test_child_gives_what_this_process_gives(reader, method):
    assert reader.read(PAGE, method) == read_html(PAGE, method)
    assert reader.read("a\ud800b", method) == read_html("a?b", method)


def test_what_never_ends_is_killed_and_the_next_page_is_read():
    reader = PageReader(timeout_seconds=0.5, memory_bytes=GIBIBYTE)
    assert failure(reader, ENDLESS, "rst") == "extraction_timed_out"
    assert reader.read("Fox\n===\n\nwords", "rst").title == "Fox"
    reader.close()


def test_what_takes_too_much_memory_is_killed_and_the_next_page_is_read():
    reader = PageReader(timeout_seconds=60, memory_bytes=256 << 20)
    page = "<html><body>" + "<p>some words here</p>" * 600_000
    assert failure(reader, page, "fast") in ("extraction_out_of_memory", "extraction_crashed")
    assert reader.read(PAGE, "fast").title == "Füchse"
    reader.close()


def test_crash_is_told_and_the_next_page_is_read(reader):
    assert failure(reader, PAGE, "no such method") == "extraction_crashed"
    assert reader.read(PAGE, "fast").language == "de"


def test_interrupted_page_leaves_no_answer_for_the_next_one(reader):
    def interrupt(*_):
        raise InterruptedError

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    with pytest.raises(InterruptedError):
        reader.read(ENDLESS, "rst")
    signal.signal(signal.SIGALRM, before)
    assert reader.read(PAGE, "fast").title == "Füchse"


def test_reader_is_kept_for_the_next_borrower_and_two_at_once_have_two():
    limits = {"timeout_seconds": 7.5, "memory_bytes": GIBIBYTE}
    with borrowed_reader(**limits) as first, borrowed_reader(**limits) as second:
        assert first is not second
        first.read(PAGE, "fast")
    with borrowed_reader(**limits) as again:
        assert again in (first, second)
    with borrowed_reader(timeout_seconds=7.25, memory_bytes=GIBIBYTE) as other:
        assert other not in (first, second)


ORPHAN = """
import os, sys, threading
from corpusmill.curate.isolation import PageReader
reader = PageReader(timeout_seconds=1, memory_bytes=1 << 30)
reader.read("words", "rst")
print(reader._child.pid, flush=True)
threading.Timer(0.2, os._exit, [1]).start()
reader.read("x " + ":" * 400_000 + " y", "rst")
"""


def test_child_of_a_dead_parent_ends():
    done = subprocess.run([sys.executable, "-c", ORPHAN], cwd=ROOT, capture_output=True, text=True)
    try:
        child = psutil.Process(int(done.stdout))
    except psutil.NoSuchProcess:
        return
    child.wait(timeout=20)
