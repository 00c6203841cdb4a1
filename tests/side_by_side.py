"""How `pytest -n 2` shares the tests between its workers; without workers they run one after the other, as collected.

Much of the time is waiting: for a JVM, a daemon, an engine to start. A second worker uses it. Files stay whole, since the
tests of one share what its fixtures started and some tell a story in order. Shares begin in the order of SHARES, the
longest first, then file by file: so the workers end together. Only one share starts engines of a language model, which
need most memory.
"""

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from xdist.scheduler import LoadScopeScheduling

SHARES: tuple[tuple[str, ...], ...] = (
    ("tests/test_whole_way.py", "tests/engines/test_vllm.py"),
    ("tests/test_killed.py",),
    ("tests/live/",),
    ("tests/dedup/test_spark_dedup.py",),
    ("tests/jobs/test_backfill_live.py",),
    ("tests/engines/test_spark.py",),
    ("tests/jobs/test_interruption.py",),
    ("tests/tasks/test_incremental_resolution.py",),
    ("tests/tasks/test_killed_increment.py",),
    ("tests/tasks/test_synthesized_duplicates.py",),
    ("tests/assets/test_curation_lists.py",),
    ("tests/jobs/test_postgres_profile.py",),
    ("tests/test_sample.py",),
    ("tests/test_docs.py",),
)
"""Starts of paths. What a share lists runs in one worker, in this order."""


def share(nodeid: str) -> str:
    """Return the name of the share that a test belongs to: where it begins, or its file."""
    file = nodeid.partition("::")[0]
    return next((places[0] for places in SHARES if file.startswith(places)), file)


def place(nodeid: str) -> int:
    """Return how early a test is handed out; tests of one place keep the order in which they were collected."""
    listed = [path for places in SHARES for path in places]
    return next((number for number, path in enumerate(listed) if nodeid.startswith(path)), len(listed))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: place(item.nodeid))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> "LoadScopeScheduling":
    from xdist.scheduler import LoadScopeScheduling

    class Shares(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return share(nodeid)

    config.option.loadscopereorder = False
    return Shares(config, log)
