"""Forgetting in a process of its own that is killed with SIGKILL right before one of the steps that change something."""

import multiprocessing
import os
import signal
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from pyiceberg.catalog.sql import SqlCatalog

from corpusmill.lake import local_backend
from corpusmill.lake.store import LakeSettings
from corpusmill.lake.tables import Lake
from corpusmill.trace.erase import erase
from corpusmill.trace.forget import Found, withdraw

_CHANGES = (
    (local_backend, "_move"),
    (local_backend.LocalBackend, "create"),
    (local_backend.LocalBackend, "delete"),
    (SqlCatalog, "commit_table"),
)


def killed(work: Callable[[LakeSettings, Found], None], settings: LakeSettings, found: Found, *, before: int) -> bool:
    """Do the work in a child that is killed before its `before`-th step; say whether it came so far."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    child = context.Process(target=_work, args=(work, settings, found, before))
    child.start()
    child.join()
    assert child.exitcode in (0, -signal.SIGKILL), child.exitcode
    return child.exitcode != 0


def erase_all(settings: LakeSettings, found: Found) -> None:
    lake = Lake(settings)
    erase(lake, found, now=datetime.now(UTC), lease_seconds=60)
    lake.close()


def withdraw_all(settings: LakeSettings, found: Found) -> None:
    lake = Lake(settings)
    withdraw(lake, found)
    lake.close()


def _work(work: Callable[[LakeSettings, Found], None], settings: LakeSettings, found: Found, before: int) -> None:
    num_calls = 0

    def counted(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **more: Any) -> Any:
            nonlocal num_calls
            num_calls += 1
            if num_calls == before:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*args, **more)

        return call

    for owner, name in _CHANGES:
        setattr(owner, name, counted(getattr(owner, name)))
    work(settings, found)
