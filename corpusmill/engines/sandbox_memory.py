"""How much memory the processes below one hold together, read from the machine's /proc as the keeper goes along.

Limits of the kernel on one process (address space, data) are hard but add up over a program's processes; control groups
would bound the sum, but most containers may not make any. So the keeper looks every few milliseconds. Pages that forked
processes share count for each of them. Where /proc does not tell (it is mounted to hide other users' processes), the
sum is 0 and the limits of each process remain.
"""

import os
from contextlib import suppress

COUNTED = (b"RssAnon:", b"RssShmem:", b"VmSwap:")
"""Lines of a process's status: memory that is its own. Mapped files, such as libraries, are the machine's cache."""


def descendants(proc: int, process: str) -> list[str]:
    """Return the processes below one, by their numbers in the /proc that the descriptor is open on."""
    found: list[str] = []
    waiting = [process]
    while waiting:
        parent = waiting.pop()
        with suppress(OSError):  # it ended while we looked
            for thread in _entries(proc, f"{parent}/task"):
                children = _read(proc, f"{parent}/task/{thread}/children").decode().split()
                found += children
                waiting += children
    return found


def memory_bytes(proc: int, processes: list[str]) -> int:
    """Return what the processes hold in memory and in swap."""
    total_kb = 0
    for process in processes:
        with suppress(OSError):
            lines = _read(proc, f"{process}/status").splitlines()
            total_kb += sum(int(line.split()[1]) for line in lines if line.startswith(COUNTED))
    return total_kb << 10


def own_number(proc: int) -> str:
    """Return this process's number in that /proc, which differs from its number in its own namespace."""
    return os.readlink("self", dir_fd=proc)


def _entries(proc: int, path: str) -> list[str]:
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY, dir_fd=proc)
    try:
        return os.listdir(folder)
    finally:
        os.close(folder)


def _read(proc: int, path: str) -> bytes:
    file = os.open(path, os.O_RDONLY, dir_fd=proc)
    try:
        return os.read(file, 1 << 16)
    finally:
        os.close(file)
