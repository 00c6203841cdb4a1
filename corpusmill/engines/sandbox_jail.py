"""The jail: runs one untrusted program after another, each in a cell of its own. A program of its own; see `sandbox`.

Reads one JSON document from its input and writes a line of JSON per job. Only the standard library is used, and it is
imported before the first program is forked, so that a program costs some milliseconds and not an interpreter's start.

    jailer          enters new namespaces: mounts, network, processes, IPC, and users where it is not root
      warden        process 1 of the jail; its file system is the interpreter and the system's libraries, read-only
        cell        per program: a fresh process namespace and a fresh, small, writable /work
          keeper    process 1 of the cell; watches clock and output, and when it ends the kernel ends the cell
            program
"""

import ctypes
import json
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from corpusmill.engines.sandbox_program import REPORT, run_job

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x00020000, 0x04000000, 0x08000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
MS_NOSUID, MS_NODEV, MS_BIND, MS_REC, MS_PRIVATE = 0x2, 0x4, 0x1000, 0x4000, 0x40000
SYS_MOUNT_SETATTR, AT_FDCWD, AT_RECURSIVE, MOUNT_ATTR_RDONLY, MOUNT_ATTR_NOSUID = 442, -100, 0x8000, 0x1, 0x2
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 36, 38
CAPABILITY_VERSION = 0x20080522

SYSTEM_FOLDERS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/ld.so.cache", "/etc/alternatives")
MOUNT_POINT = "/sys"
"""Any folder that every machine has and no interpreter lies in; only the jail sees what is mounted there."""
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
JAIL_PROCESSES = 5
"""A user namespace counts the jail's processes with those of the program."""
NOBODY = 65534
REPORT_BYTES = 4 << 20

_libc = ctypes.CDLL(None, use_errno=True)


def main() -> int:
    """Run all jobs; the exit code is 0 unless the jail could not be built."""
    order = json.load(sys.stdin)
    _die_with_parent()
    sys.path[:] = [path for path in sys.path if Path(path) != Path(order["source_root"])]
    sys.executable = os.path.realpath(sys.executable)
    if not order["limits"]["require_namespaces"]:
        return _serve_without_namespaces(order, user=_other_user())
    try:
        has_own_users = _enter_namespaces()
    except OSError as error:
        return _refuse(f"this machine permits no namespaces ({error})")
    user = os.geteuid() if has_own_users else _other_user()
    return _run_child(partial(_warden, order, user=user))


def _warden(order: dict[str, Any], *, user: int) -> int:
    try:
        _build_root(MOUNT_POINT)
    except OSError as error:
        return _refuse(f"this machine permits no mounts ({error})")
    return _serve(order, in_namespaces=True, user=user)


def _serve_without_namespaces(order: dict[str, Any], *, user: int) -> int:
    library = Path(os.__file__)
    if user != os.geteuid() and not all(folder.stat().st_mode & 0o001 for folder in library.parents):
        return _refuse(f"{library.parent} of this interpreter is closed to other users than root")
    return _serve(order, in_namespaces=False, user=user)


def _serve(order: dict[str, Any], *, in_namespaces: bool, user: int) -> int:
    limits = order["limits"]
    for job in order["jobs"]:
        reader, writer = os.pipe()
        cell = _fork(partial(_cell, job, limits, writer, in_namespaces=in_namespaces, user=user))
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            told = pipe.read()
        os.waitpid(cell, 0)
        _answer(json.loads(told or b'{"lost": true}'))
    return 0


def _cell(job: dict[str, Any], limits: dict[str, Any], result: int, *, in_namespaces: bool, user: int) -> int:
    if in_namespaces:
        _check(_libc.unshare(CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC), "unshare")
        options = f"size={limits['file_bytes']},nr_inodes=10k,mode=700,uid={user},gid={user}"
        _mount("tmpfs", "/work", kind="tmpfs", flags=MS_NOSUID | MS_NODEV, options=options)
    job = {**job, "folder": "/work" if in_namespaces else job["folder"]}
    num_others = JAIL_PROCESSES if in_namespaces and user == os.geteuid() else 0
    return _run_child(partial(_keeper, job, limits, result, user=user, num_others=num_others))


def _keeper(job: dict[str, Any], limits: dict[str, Any], result: int, *, user: int, num_others: int) -> int:
    _libc.prctl(PR_SET_CHILD_SUBREAPER, 1)
    pipes = [os.pipe() for _ in range(3)]
    writers = [writer for _, writer in pipes]
    program = _fork(partial(_program, job, limits, writers, user=user, num_others=num_others))
    for writer in writers:
        os.close(writer)
    told = _watch(program, [reader for reader, _ in pipes], limits)
    _end_descendants(program)
    _write(result, json.dumps(told).encode())
    return 0


def _program(job: dict[str, Any], limits: dict[str, Any], writers: list[int], *, user: int, num_others: int) -> int:
    os.setsid()
    os.chdir(job["folder"])
    _take_descriptors(writers)
    _restrict(limits, user=user, num_others=num_others)
    for number in range(1, signal.NSIG):
        if number not in (signal.SIGKILL, signal.SIGSTOP, 32, 33):
            signal.signal(number, signal.SIG_IGN if number in (signal.SIGPIPE, signal.SIGXFSZ) else signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    run_job(job)
    return 0


def _take_descriptors(writers: list[int]) -> None:
    """Make the pipes standard output, standard error and the report; close all else."""
    for place, writer in enumerate([os.open("/dev/null", os.O_RDONLY), *writers], start=100):
        os.dup2(writer, place)
    for place in (0, 1, 2, REPORT):
        os.dup2(100 + place, place)
    os.closerange(REPORT + 1, 65536)


def _restrict(limits: dict[str, Any], *, user: int, num_others: int) -> None:
    """Set the limits of the program and give up every right of this process."""
    cpu, files, memory = limits["cpu_seconds"], limits["file_bytes"], limits["memory_bytes"]
    resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + 1))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_FSIZE, (files, files))
    resource.setrlimit(resource.RLIMIT_NOFILE, (limits["num_files"], limits["num_files"]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    num_processes = limits["num_processes"] + num_others
    resource.setrlimit(resource.RLIMIT_NPROC, (num_processes, num_processes))
    if user != os.geteuid():
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
        _die_with_parent()  # changing the user undid it
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0)
    _check(_libc.capset(header, (ctypes.c_uint32 * 6)()), "capset")
    _check(_libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl")
    os.environ.clear()
    os.environ.update(HOME=os.getcwd(), LANG="C.UTF-8", PATH="/usr/bin:/bin", TMPDIR=os.getcwd())


def _watch(program: int, readers: list[int], limits: dict[str, Any]) -> dict[str, Any]:
    """Collect what the program says until it ends or its time is up; what goes beyond the limit is read and dropped."""
    kept = {reader: bytearray() for reader in readers}
    is_cut = False
    ending = os.pidfd_open(program)
    poll = select.poll()
    for descriptor in (*readers, ending):
        poll.register(descriptor, select.POLLIN)
    deadline = time.monotonic() + limits["wall_seconds"]
    has_ended = False
    while not has_ended and (left := deadline - time.monotonic()) > 0:
        ready = [descriptor for descriptor, _ in poll.poll(left * 1000)]
        has_ended = ending in ready
        for reader in [descriptor for descriptor in ready if descriptor != ending]:
            said = os.read(reader, 1 << 16)
            limit = REPORT_BYTES if reader == readers[-1] else limits["output_bytes"]
            room = limit - len(kept[reader])
            kept[reader] += said[:room]
            is_cut = is_cut or len(said) > room
            if not said:
                poll.unregister(reader)
    if not has_ended:
        os.kill(program, signal.SIGKILL)
    status = os.waitpid(program, 0)[1]
    stdout, stderr, report = (bytes(text).decode(errors="replace") for text in kept.values())
    code = os.waitstatus_to_exitcode(status)
    return {
        "exit_code": code,
        "stdout": stdout,
        "stderr": stderr,
        "report": report,
        "is_output_cut": is_cut,
        "timed_out": not has_ended or code == -signal.SIGXCPU,
    }


def _end_descendants(program: int) -> None:
    """Kill the program's group and whatever else of it came to this process; in a cell the kernel does that again."""
    with suppress(ProcessLookupError):
        os.killpg(program, signal.SIGKILL)
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
    while children.exists() and (pids := children.read_text().split()):
        for pid in pids:
            os.kill(int(pid), signal.SIGKILL)
        for _ in pids:
            os.waitpid(-1, 0)


def _enter_namespaces() -> bool:
    """Enter new namespaces; return whether that took a new user namespace, too."""
    user, group = os.geteuid(), os.getegid()
    wanted = CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWPID
    if user == 0 and _libc.unshare(wanted) == 0:
        return False
    _check(_libc.unshare(wanted | CLONE_NEWUSER), "unshare")
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    return True


def _build_root(root: str) -> None:
    """Make `root` the file system: interpreter, libraries and some devices, all read-only, and an empty /work."""
    _mount(None, "/", flags=MS_REC | MS_PRIVATE)
    _mount("tmpfs", root, kind="tmpfs", flags=MS_NOSUID | MS_NODEV, options="size=1m,mode=755")
    interpreter = [sys.base_prefix, sys.base_exec_prefix, str(Path(os.__file__).parent)]
    covered: list[Path] = []
    for source in map(Path, dict.fromkeys((*SYSTEM_FOLDERS, *DEVICES, *interpreter))):
        if source.exists() and not any(source.is_relative_to(parent) for parent in covered):
            covered.append(source)
            _show(source, Path(root + str(source)))
    for folder in ("work", "var", "dev"):
        Path(root, folder).mkdir(exist_ok=True)
    for link in ("tmp", "var/tmp", "dev/shm"):
        Path(root, link).symlink_to("/work")
    attributes = (ctypes.c_uint64 * 4)(MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID)
    answer = _libc.syscall(SYS_MOUNT_SETATTR, AT_FDCWD, root.encode(), AT_RECURSIVE, attributes, 32)
    _check(answer, "mount_setattr")
    os.chroot(root)
    os.chdir("/")


def _show(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_symlink():
        target.symlink_to(os.readlink(source))
        return
    if source.is_dir():
        target.mkdir(exist_ok=True)
    else:
        target.touch()
    _mount(str(source), str(target), flags=MS_BIND | MS_REC)


def _other_user() -> int:
    """Return the user that programs run as: this one, or for root one that nobody else is."""
    if os.geteuid():
        return os.geteuid()
    ranges = [line.split() for line in Path("/proc/self/uid_map").read_text().splitlines()]
    unused = 2_000_000_000 + os.getpid()
    is_mapped = any(int(start) <= unused < int(start) + int(count) for start, _, count in ranges)
    return unused if is_mapped else NOBODY


def _fork(work: Callable[[], int]) -> int:
    """Start `work` in a child that dies with this process and ends with what it returns; return the child's pid."""
    child = os.fork()
    if child:
        return child
    code = 70
    try:
        _die_with_parent()
        code = work()
    finally:
        if code == 70:
            sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
        os._exit(code)


def _run_child(work: Callable[[], int]) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(_fork(work), 0)[1])


def _die_with_parent() -> None:
    _check(_libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL), "prctl")


def _mount(source: str | None, target: str, *, flags: int, kind: str | None = None, options: str | None = None) -> None:
    spelled = [value.encode() if value is not None else None for value in (source, target, kind, options)]
    _check(_libc.mount(spelled[0], spelled[1], spelled[2], ctypes.c_ulong(flags), spelled[3]), f"mount {target}")


def _check(answer: int, what: str) -> None:
    if answer:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def _refuse(reason: str) -> int:
    _answer({"refused": reason})
    return 1


def _answer(value: dict[str, Any]) -> None:
    _write(1, json.dumps(value).encode() + b"\n")


def _write(descriptor: int, value: bytes) -> None:
    rest = memoryview(value)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


if __name__ == "__main__":
    sys.exit(main())
