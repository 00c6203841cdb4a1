"""Rules and row functions that tests send to engines' workers."""

import os
import signal
import threading
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc


def shout(row: bytes) -> bytes:
    return row.upper()


def worker_pid(row: bytes) -> bytes:
    return str(os.getpid()).encode()


def fail(row: bytes) -> bytes:
    raise KeyError(f"no such key: {row.decode()}")


def die(row: bytes) -> bytes:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("unreachable")


def wait_for_ever(row: bytes) -> bytes:
    """Say who works, in the file named by the row, and never end."""
    Path(row.decode()).write_text(str(os.getpid()))
    threading.Event().wait()
    raise AssertionError("unreachable")


def stretch(table: pa.Table, parameters: dict) -> pa.Table:
    """A rule over kinds of columns that engines like to change: it drops rows and adds a column."""
    kept = table.filter(pc.greater_equal(pc.fill_null(table["small"], 0), parameters["least"]))
    return kept.append_column(pa.field("doubled", pa.uint8()), pc.multiply(kept["small"], pa.scalar(2, pa.uint8())))


def first_or_wait(row: bytes) -> bytes:
    return row if row == b"first" else wait_for_ever(row)
