"""Ctrl-C in a command that holds engines: said at once, ended soon, and by force where it must be.

Dagster takes a step's interrupt into its own hands, and a thread may wait in an engine's client. So the word comes from a
thread that hears the signal itself, whatever the main thread does.
"""

import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from corpusmill.engines.lease import ask_to_end, end_unheld

if TYPE_CHECKING:
    from dagster import DagsterInstance

PATIENCE_SECONDS = 20.0
"""What the work gets to end in good order, and then the engines to end."""
SIGNALS = (signal.SIGINT, signal.SIGTERM)
STDERR = 2


@contextmanager
def ends_on_interrupt(state_folder: Path, *, then: str) -> Iterator[None]:
    """Turn an interrupt of the block into KeyboardInterrupt once the engines that nobody else holds have ended.

    `then` says how to go on, as the end of a sentence. A second Ctrl-C, or work that does not end within PATIENCE_SECONDS,
    ends this process at once.
    """
    from dagster import DagsterExecutionInterruptedError

    with interrupted_by_signals(), _heard(state_folder):
        try:
            yield
        except (KeyboardInterrupt, DagsterExecutionInterruptedError):
            left = end_unheld(state_folder, wait_seconds=PATIENCE_SECONDS)
            _say(
                f"Still ending: {', '.join(left)}"
                if left
                else f"Ended. Finished shards and partitions are kept: {then}"
            )
            raise KeyboardInterrupt from None


@contextmanager
def interrupted_by_signals(*, told: str = "") -> Iterator[None]:
    """Make SIGTERM do what Ctrl-C does, and SIGINT too where a shell started us with it ignored; say `told` at once."""

    def interrupt(number: int, frame: object) -> None:
        os.write(sys.stderr.fileno(), f"{told}\n".encode() if told else b"")  # a print may be under way
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def keep_from_log_watchers(instance: "DagsterInstance") -> None:
    """Let the programs by which Dagster mirrors what a step prints start deaf to Ctrl-C, which reaches all of a terminal's.

    Each would end with a stack trace on it. Dagster ends them with the step.
    """
    manager = instance.compute_log_manager
    capture = manager.capture_logs

    @contextmanager
    def capture_deaf(log_key: Sequence[str]) -> Iterator[Any]:
        with ExitStack() as stack:
            # What a program is started with stays blocked in it; here it is only put off.
            before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            try:
                captured = stack.enter_context(capture(log_key))
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
            yield captured

    manager.capture_logs = capture_deaf  # type: ignore[method-assign]


@contextmanager
def _heard(state_folder: Path) -> Iterator[None]:
    """Listen for signals in a thread: Python writes the number of each to a socket before any handler runs."""
    listener, speaker = socket.socketpair()
    speaker.setblocking(False)
    before = signal.set_wakeup_fd(speaker.fileno(), warn_on_full_buffer=False)
    # While a step is at work, Dagster leads what is written to stderr through a file and a program that may not run yet.
    words = os.dup(STDERR)
    thread = threading.Thread(target=_listen, args=(listener, words, state_folder), name="interrupts", daemon=True)
    thread.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        speaker.close()
        thread.join()
        listener.close()
        os.close(words)


def _listen(listener: socket.socket, words: int, state_folder: Path) -> None:
    num_heard = 0
    while numbers := listener.recv(64):
        before, num_heard = num_heard, num_heard + sum(number in SIGNALS for number in numbers)
        if num_heard > 1:
            _leave(state_folder)
        if num_heard > before:
            os.write(words, b"Interrupted: ending the run and its engines. Ctrl-C again ends at once\n")
            _end_children()
            timer = threading.Timer(2 * PATIENCE_SECONDS, _leave, [state_folder])
            timer.daemon = True  # ends with the process, if that is sooner
            timer.start()


def _end_children() -> None:
    """End what threads of ours wait for, such as a download; engines have sessions of their own."""
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess, ProcessLookupError):
            if os.getsid(child.pid) == os.getsid(0):
                child.terminate()


def _leave(state_folder: Path) -> None:
    """End this process now; its leases die with it, and its engines with them."""
    ask_to_end(state_folder)
    os._exit(128 + signal.SIGINT)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
