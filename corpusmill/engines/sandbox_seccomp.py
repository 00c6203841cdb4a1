"""System calls that untrusted programs do not get: what reaches past namespaces or past the limits on memory.

Memory that is in no process's map (System V segments, message queues, files in memory) is counted by no limit; key rings
and sockets to the host of a virtual machine lie in no namespace; new user namespaces, tracing, BPF and the like open
much of the kernel. A denied call fails with an error, as on a kernel that lacks it. On processors that are not listed
nothing is denied; the namespaces and limits hold there all the same.
"""

import ctypes
import errno
import platform
import socket
import struct
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Numbers:
    """The numbers of system calls on one kind of processor."""

    architecture: int
    denied: dict[str, int]
    clone: int
    socket: int


NUMBERS = {
    "x86_64": Numbers(
        architecture=0xC000003E,
        denied={
            "shmget": 29,
            "semget": 64,
            "msgget": 68,
            "ptrace": 101,
            "mq_open": 240,
            "add_key": 248,
            "request_key": 249,
            "keyctl": 250,
            "unshare": 272,
            "perf_event_open": 298,
            "setns": 308,
            "process_vm_readv": 310,
            "process_vm_writev": 311,
            "memfd_create": 319,
            "bpf": 321,
            "userfaultfd": 323,
            "io_uring_setup": 425,
            "memfd_secret": 447,
        },
        clone=56,
        socket=41,
    ),
    "aarch64": Numbers(
        architecture=0xC00000B7,
        denied={
            "shmget": 194,
            "semget": 190,
            "msgget": 186,
            "ptrace": 117,
            "mq_open": 180,
            "add_key": 217,
            "request_key": 218,
            "keyctl": 219,
            "unshare": 97,
            "perf_event_open": 241,
            "setns": 268,
            "process_vm_readv": 270,
            "process_vm_writev": 271,
            "memfd_create": 279,
            "bpf": 280,
            "userfaultfd": 282,
            "io_uring_setup": 425,
            "memfd_secret": 447,
        },
        clone=220,
        socket=198,
    ),
}
CLONE3 = 435
"""Its flags lie in memory, where a filter cannot look: as if it were not there, callers take clone instead."""
FOREIGN_CALLS = 0x40000000
"""From here on stand the calls of x86's third ABI, by which the numbers above could be gone round."""
NAMESPACE_FLAGS = 0x7E020000
FAMILIES = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, 16)
"""Of sockets; 16 is netlink, which lists a namespace's network devices. All four end at the namespace."""

LOAD, JUMP_EQUAL, JUMP_AT_LEAST, JUMP_ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
NUMBER_AT, ARCHITECTURE_AT, FIRST_ARGUMENT_AT = 0, 4, 16
ALLOW, ERROR = 0x7FFF0000, 0x00050000
PR_SET_SECCOMP, MODE_FILTER = 22, 2


class _Filter(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def deny_calls() -> None:
    """Deny the calls to this process and all that it starts, for good; new rights must have been given up before."""
    numbers = NUMBERS.get(platform.machine())
    if numbers is None:
        return
    spelled = b"".join(struct.pack("HBBI", *instruction) for instruction in instructions(numbers))
    given = _Filter(len(spelled) // 8, spelled)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_SECCOMP, MODE_FILTER, ctypes.byref(given), 0, 0):
        raise OSError(ctypes.get_errno(), "this kernel has no filters for system calls (seccomp)")


def instructions(numbers: Numbers) -> list[tuple[int, int, int, int]]:
    """Return the filter as (code, jump if true, jump if false, value)."""
    denied = [
        instruction for number in numbers.denied.values() for instruction in _if_equal(number, _fail(errno.EPERM))
    ]
    families = [instruction for family in FAMILIES for instruction in _if_equal(int(family), [(RETURN, 0, 0, ALLOW)])]
    flags = [(LOAD, 0, 0, FIRST_ARGUMENT_AT), (JUMP_ANY_BIT, 0, 1, NAMESPACE_FLAGS), *_fail(errno.EPERM)]
    return [
        (LOAD, 0, 0, ARCHITECTURE_AT),
        (JUMP_EQUAL, 1, 0, numbers.architecture),
        *_fail(errno.EPERM),
        (LOAD, 0, 0, NUMBER_AT),
        (JUMP_AT_LEAST, 0, 1, FOREIGN_CALLS),
        *_fail(errno.EPERM),
        *denied,
        *_if_equal(CLONE3, _fail(errno.ENOSYS)),
        *_if_equal(numbers.clone, [*flags, (RETURN, 0, 0, ALLOW)]),
        *_if_equal(numbers.socket, [(LOAD, 0, 0, FIRST_ARGUMENT_AT), *families, *_fail(errno.EAFNOSUPPORT)]),
        (RETURN, 0, 0, ALLOW),
    ]


def _if_equal(value: int, then: list[tuple[int, int, int, int]]) -> list[tuple[int, int, int, int]]:
    return [(JUMP_EQUAL, 0, len(then), value), *then]


def _fail(number: int) -> list[tuple[int, int, int, int]]:
    return [(RETURN, 0, 0, ERROR | number)]
