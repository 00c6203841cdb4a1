"""One running instance over the real definitions, shared by the tests of this folder: web pages in, Spark's work in plain Python.

Two snapshots are good and the second mostly repeats the first; a third one names its text column otherwise and fails.
"""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.jobs.live_instance import ROOT, LiveInstance, live_instance
from tests.live.web_pages import PAGES, write_snapshot

SETTINGS = """
[sources.web]
uri = "pages"
format = "jsonl"

[spark]
engine = "plain"

[inference]
engine = "scripted"
script = "toy_answers:shout"
"""


@pytest.fixture(scope="session")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveInstance]:
    """Return a code server, webserver and daemon over three snapshots; nothing ran yet."""
    folder = tmp_path_factory.mktemp("live")
    Path(folder, "corpusmill.toml").write_text(SETTINGS, encoding="utf-8")
    write_snapshot(folder / "pages", "2024-10", PAGES[:30])
    write_snapshot(folder / "pages", "2025-10", PAGES[5:35])
    write_snapshot(folder / "pages", "broken", PAGES[35:45], column="body")
    paths = ":".join(str(ROOT / place) for place in ("", "tests/live", "tests/engines/toys"))
    with live_instance(folder, definitions="quick_definitions", PYTHONPATH=paths) as running:
        running.add_partitions("web_snapshots", ["2024-10", "2025-10", "broken"])
        yield running


@pytest.fixture(scope="session")
def backfilled(live: LiveInstance) -> subprocess.CompletedProcess[str]:
    """Return what the backfill command said about everything of the web."""
    return live.corpusmill("backfill", "--assets", "sources/web,curated/web", "--all")
