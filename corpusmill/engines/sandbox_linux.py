"""The kernel's calls that the jail needs and Python does not have: namespaces, mounts, rights, processes that die along.

Only the standard library is used. Whatever fails raises OSError with the kernel's words.
"""

import ctypes
import os
import signal
import sys
from collections.abc import Callable

from corpusmill.engines.sandbox_seccomp import deny_calls

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x00020000, 0x04000000, 0x08000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
MS_NOSUID, MS_NODEV, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 0x2, 0x4, 0x20, 0x1000, 0x4000, 0x40000
SYS_MOUNT_SETATTR, AT_FDCWD, AT_RECURSIVE, MOUNT_ATTR_RDONLY, MOUNT_ATTR_NOSUID = 442, -100, 0x8000, 0x1, 0x2
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 36, 38
CAPABILITY_VERSION = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True)


def unshare(flags: int) -> None:
    """Enter new namespaces."""
    _check(_libc.unshare(flags), "unshare")


def mount(source: str | None, target: str, *, flags: int, kind: str | None = None, options: str | None = None) -> None:
    spelled = [value.encode() if value is not None else None for value in (source, target, kind, options)]
    _check(_libc.mount(spelled[0], spelled[1], spelled[2], ctypes.c_ulong(flags), spelled[3]), f"mount {target}")


def make_read_only(folder: str) -> None:
    """Forbid writing and set-user-id programs on every mount below the folder."""
    attributes = (ctypes.c_uint64 * 4)(MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID)
    answer = _libc.syscall(SYS_MOUNT_SETATTR, AT_FDCWD, folder.encode(), AT_RECURSIVE, attributes, 32)
    _check(answer, "mount_setattr")


def give_up_rights() -> None:
    """Drop every capability and some system calls for good: no program that is started later gets them back."""
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0)
    _check(_libc.capset(header, (ctypes.c_uint32 * 6)()), "capset")
    _check(_libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl")
    deny_calls()


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends."""
    _check(_libc.prctl(PR_SET_CHILD_SUBREAPER, 1), "prctl")


def die_with_parent() -> None:
    _check(_libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL), "prctl")


def fork(work: Callable[[], int]) -> int:
    """Start `work` in a child that dies with this process and ends with what it returns; return the child's pid."""
    child = os.fork()
    if child:
        return child
    code = 70
    try:
        die_with_parent()
        code = work()
    finally:
        if code == 70:
            sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
        os._exit(code)


def run_child(work: Callable[[], int]) -> int:
    """Run `work` in a child and return its exit code."""
    return os.waitstatus_to_exitcode(os.waitpid(fork(work), 0)[1])


def write_all(descriptor: int, value: bytes) -> None:
    rest = memoryview(value)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _check(answer: int, what: str) -> None:
    if answer:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
