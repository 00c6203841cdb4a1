"""The jail's own program: `corpusmill.engines.sandbox` starts it as a script, it runs one untrusted program after another.

Reads one JSON document from its input and writes one line of JSON per job. Only the standard library is used, and what
programs often need is imported before the first of them is forked, so a program costs a few milliseconds.

    jailer          new namespaces (mounts, network, processes, System V IPC; users, where it is not root)
      warden        process 1 of the jail; its file system is the interpreter and the system's libraries, read-only
        cell        per program: fresh process namespace and a fresh, small, writable /work
          keeper    process 1 of the cell: watches clock and output; when it ends, the kernel ends the cell
            program
"""

import ast
import ctypes
import doctest
import errno
import json
import os
import re
import resource
import select
import signal
import sys
import threading
import time
import traceback
import types
from typing import Any, NoReturn

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x00020000, 0x04000000, 0x08000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
MS_NOSUID, MS_NODEV, MS_BIND, MS_REC, MS_PRIVATE = 0x2, 0x4, 0x1000, 0x4000, 0x40000
SYS_MOUNT_SETATTR, AT_RECURSIVE, MOUNT_ATTR_RDONLY, MOUNT_ATTR_NOSUID = 442, 0x8000, 0x1, 0x2
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 36, 38
CAPABILITY_VERSION = 0x20080522

SYSTEM_FOLDERS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/ld.so.cache", "/etc/alternatives")
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
OWN_PROCESSES = 6
"""Where processes are counted per user of a namespace, those of the jail count too."""
NOBODY = 65534
DOCTEST_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")

libc = ctypes.CDLL(None, use_errno=True)


def main() -> int:
    """Run all jobs; the exit code is 0 unless the jail could not be built."""
    order = json.load(sys.stdin)
    _die_with_parent()
    if not order["limits"]["require_namespaces"]:
        return _serve(order, in_namespaces=False, user=_other_user())
    try:
        has_own_users = _enter_namespaces()
    except OSError as error:
        _answer({"refused": f"namespaces are not permitted here: {error}"})
        return 1
    warden = os.fork()
    if not warden:
        _end(_warden(order, user=os.geteuid() if has_own_users else _other_user()))
    return os.waitstatus_to_exitcode(os.waitpid(warden, 0)[1])


def _warden(order: dict[str, Any], *, user: int) -> int:
    _die_with_parent()
    try:
        _build_root(order["mount_point"])
    except OSError as error:
        _answer({"refused": f"mounts are not permitted here: {error}"})
        return 1
    return _serve(order, in_namespaces=True, user=user)


def _serve(order: dict[str, Any], *, in_namespaces: bool, user: int) -> int:
    for job in order["jobs"]:
        reader, writer = os.pipe()
        cell = os.fork()
        if not cell:
            os.close(reader)
            _end(_cell(job, order["limits"], result=writer, in_namespaces=in_namespaces, user=user))
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            said = pipe.read()
        os.waitpid(cell, 0)
        _answer(json.loads(said) if said else {"lost": True})
    return 0


def _cell(job: dict[str, Any], limits: dict[str, Any], *, result: int, in_namespaces: bool, user: int) -> int:
    _die_with_parent()
    if in_namespaces:
        _check(libc.unshare(CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC))
        options = f"size={limits['file_bytes']},nr_inodes=10k,mode=700,uid={user},gid={user}"
        _mount("tmpfs", "/work", "tmpfs", MS_NOSUID | MS_NODEV, options)
    keeper = os.fork()
    if not keeper:
        _end(_keeper(job, limits, result=result, in_namespaces=in_namespaces, user=user))
    os.waitpid(keeper, 0)
    return 0


def _keeper(job: dict[str, Any], limits: dict[str, Any], *, result: int, in_namespaces: bool, user: int) -> int:
    _die_with_parent()
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1)
    pipes = [os.pipe() for _ in range(3)]
    program = os.fork()
    if not program:
        os.chdir("/work" if in_namespaces else job["folder"])
        _become_program([writer for _, writer in pipes])
        _restrict(limits, user=user, num_others=OWN_PROCESSES if in_namespaces else 0)
        with _ProgramEnd():
            _JOBS[job["kind"]](job)
    for _, writer in pipes:
        os.close(writer)
    watched = _watch(program, [reader for reader, _ in pipes], limits)
    _end_descendants(program)
    os.write(result, json.dumps(watched).encode()) if False else _write_all(result, json.dumps(watched).encode())
    return 0


def _watch(program: int, readers: list[int], limits: dict[str, Any]) -> dict[str, Any]:
    """Collect output until the program ends or its time is up. Output beyond the limit is read and forgotten."""
    kept: dict[int, bytearray] = {reader: bytearray() for reader in readers}
    sizes = dict.fromkeys(readers, 0)
    ending = os.pidfd_open(program)
    poll = select.poll()
    for descriptor in (*readers, ending):
        poll.register(descriptor, select.POLLIN)
    deadline = time.monotonic() + limits["wall_seconds"]
    timed_out = has_ended = False
    while not has_ended and not timed_out:
        events = poll.poll(max(0.0, deadline - time.monotonic()) * 1000)
        timed_out = not events and time.monotonic() >= deadline
        has_ended = any(descriptor == ending for descriptor, _ in events)
        _drain(poll, [descriptor for descriptor, _ in events if descriptor != ending], kept=kept, sizes=sizes, limit=limits["output_bytes"])
    if timed_out:
        os.kill(program, signal.SIGKILL)
    _, status = os.waitpid(program, 0)
    for reader in readers:
        os.set_blocking(reader, False)
    _drain_rest
    return {}
