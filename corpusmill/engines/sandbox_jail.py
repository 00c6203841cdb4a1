"""The jail: runs one untrusted program after another, each in a cell of its own. A program of its own; see `sandbox`.

Reads a line of JSON about all jobs and then a line a job from its input, and writes a line of JSON per job. Only the
standard library is used, and it is imported before the first program is forked, so that a Python program costs some
milliseconds and not an interpreter's start.

    jailer          enters new namespaces: mounts, network, processes, IPC, and users where it is not root
      warden        process 1 of the jail; its file system is the interpreter, the system's libraries and what the
                    language needs, read-only
        cell        per job: a fresh process namespace and a fresh, small, writable /work
          keeper    process 1 of the cell; watches clock, output and memory, and when it ends the kernel ends the cell
            program, or first its compiler
"""

import json
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from corpusmill.engines import sandbox_linux as linux
from corpusmill.engines.sandbox_keeper import Cell, run_steps

SYSTEM_FOLDERS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/ld.so.cache", "/etc/alternatives")
MOUNT_POINT = "/sys"
"""Any folder that every machine has and no interpreter lies in; only the jail sees what is mounted there."""
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
NOBODY = 65534


def main() -> int:
    """Run all jobs; the exit code is 0 unless the jail could not be built."""
    order = json.loads(sys.stdin.buffer.readline())
    linux.die_with_parent()
    os.umask(0o022)
    sys.path[:] = [path for path in sys.path if Path(path) != Path(order["source_root"])]
    sys.executable = os.path.realpath(sys.executable)
    if linux.run_child(_gives_up_rights):
        return _refuse("this kernel does not let a process give up its rights for good")
    proc = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY)
    if not order["require_namespaces"]:
        return _serve_without_namespaces(order, user=_other_user(), proc=proc)
    user = _other_user()
    try:
        _enter_namespaces(user)
    except OSError as error:
        return _refuse(f"this machine permits no namespaces ({error})")
    return linux.run_child(partial(_warden, order, Cell(folder="/work", user=user, in_namespaces=True, proc=proc)))


def _gives_up_rights() -> int:
    linux.give_up_rights()
    return 0


def _warden(order: dict[str, Any], cell: Cell) -> int:
    try:
        _build_root(MOUNT_POINT, order["shown"])
    except OSError as error:
        return _refuse(f"this machine permits no mounts ({error})")
    return _serve(order, lambda job: partial(_cell, job, cell))


def _serve_without_namespaces(order: dict[str, Any], *, user: int, proc: int) -> int:
    needed = [Path(os.__file__).parent, *map(Path, order["shown"])]
    for folder in needed if user != os.geteuid() else []:
        if not all(parent.stat().st_mode & 0o001 for parent in [folder, *folder.parents]):
            return _refuse(f"{folder}, which the program needs, is closed to other users than root")

    def in_folder(job: dict[str, Any]) -> Callable[[int], int]:
        return partial(_keeper, job, Cell(folder=job["folder"], user=user, in_namespaces=False, proc=proc))

    return _serve(order, in_folder)


def _serve(order: dict[str, Any], cell_of: Callable[[dict[str, Any]], Callable[[int], int]]) -> int:
    for _ in range(order["num_jobs"]):
        job = json.loads(sys.stdin.buffer.readline())
        reader, writer = os.pipe()
        cell = linux.fork(partial(cell_of(job), writer))
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            told = pipe.read()
        os.waitpid(cell, 0)
        _answer(json.loads(told or b'{"lost": true}'))
    return 0


def _cell(job: dict[str, Any], cell: Cell, result: int) -> int:
    linux.unshare(linux.CLONE_NEWPID | linux.CLONE_NEWNS | linux.CLONE_NEWIPC)
    options = f"size={job['steps'][0]['limits']['file_bytes']},nr_inodes=10k,mode=700,uid={cell.user},gid={cell.user}"
    linux.mount("tmpfs", cell.folder, kind="tmpfs", flags=linux.MS_NOSUID | linux.MS_NODEV, options=options)
    return linux.run_child(partial(_keeper, job, cell, result))


def _keeper(job: dict[str, Any], cell: Cell, result: int) -> int:
    linux.write_all(result, json.dumps(run_steps(job, cell)).encode())
    return 0


def _enter_namespaces(user: int) -> None:
    """Enter new namespaces, and a user namespace where it takes one; in it are this user and that of the programs."""
    wanted = linux.CLONE_NEWNS | linux.CLONE_NEWNET | linux.CLONE_NEWIPC | linux.CLONE_NEWUTS | linux.CLONE_NEWPID
    if os.geteuid() == 0:
        with suppress(OSError):
            linux.unshare(wanted)
            return
    reader, writer = os.pipe()
    mapper = linux.fork(partial(_map_users, reader, writer, os.getpid(), [os.geteuid(), user], [os.getegid(), user]))
    os.close(reader)
    linux.unshare(wanted | linux.CLONE_NEWUSER)
    os.close(writer)
    if os.waitstatus_to_exitcode(os.waitpid(mapper, 0)[1]):
        raise PermissionError("the users of a new user namespace cannot be named")


def _map_users(reader: int, writer: int, process: int, users: list[int], groups: list[int]) -> int:
    """Name the users and groups of a process that entered a user namespace; naming another than one's own takes root."""
    os.close(writer)
    os.read(reader, 1)
    if len({*users}) == 1:
        groups = groups[:1]
        Path(f"/proc/{process}/setgroups").write_text("deny")
    for kind, numbers in (("uid", users), ("gid", groups)):
        lines = [f"{number} {number} 1" for number in dict.fromkeys(numbers)]
        Path(f"/proc/{process}/{kind}_map").write_text("\n".join(lines))
    return 0


def _build_root(root: str, shown: list[str]) -> None:
    """Make `root` the file system: interpreter, libraries and some devices, all read-only, and an empty /work.

    `shown` are more folders and files, at the same paths.
    """
    linux.mount(None, "/", flags=linux.MS_REC | linux.MS_PRIVATE)
    linux.mount("tmpfs", root, kind="tmpfs", flags=linux.MS_NOSUID | linux.MS_NODEV, options="size=1m,mode=755")
    interpreter = [sys.base_prefix, sys.base_exec_prefix, str(Path(os.__file__).parent)]
    covered: list[Path] = []
    for source in map(Path, dict.fromkeys((*SYSTEM_FOLDERS, *DEVICES, *interpreter, *shown))):
        if source.exists() and not any(source.is_relative_to(parent) for parent in covered):
            covered.append(source)
            _show(source, Path(root + str(source)))
    for folder in ("work", "var", "dev"):
        Path(root, folder).mkdir(exist_ok=True)
    for link in ("tmp", "var/tmp", "dev/shm"):
        if not Path(root, link).exists():  # else something shown lies there; TMPDIR is /work all the same
            Path(root, link).symlink_to("/work")
    linux.make_read_only(root)
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
    linux.mount(str(source), str(target), flags=linux.MS_BIND | linux.MS_REC)


def _other_user() -> int:
    """Return the user that programs run as: this one, or for root one that nobody else is."""
    if os.geteuid():
        return os.geteuid()
    ranges = [line.split() for line in Path("/proc/self/uid_map").read_text().splitlines()]
    unused = 2_000_000_000 + os.getpid()
    is_mapped = any(int(start) <= unused < int(start) + int(count) for start, _, count in ranges)
    return unused if is_mapped else NOBODY


def _refuse(reason: str) -> int:
    _answer({"refused": reason})
    return 1


def _answer(value: dict[str, Any]) -> None:
    linux.write_all(1, json.dumps(value).encode() + b"\n")


if __name__ == "__main__":
    sys.exit(main())
