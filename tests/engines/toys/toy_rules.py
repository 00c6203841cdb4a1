"""Rules and row functions that tests send to engines' workers."""

import os
import signal


def shout(row: bytes) -> bytes:
    return row.upper()


def fail(row: bytes) -> bytes:
    raise KeyError(f"no such key: {row.decode()}")


def die(row: bytes) -> bytes:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("unreachable")
