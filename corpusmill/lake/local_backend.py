"""Objects in a local folder.

Everything is written under `.tmp/` in the root and moved into place, so a killed writer leaves nothing that a listing
shows. The filesystem must offer hard links, atomic renames and locks; `check` tries them.
"""

import errno
import fcntl
import os
import stat
import threading
import uuid
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import PurePosixPath
from types import TracebackType

import pyarrow as pa
from pyarrow import fs

from corpusmill.lake.errors import UnsuitableStoreError

TEMPORARY = ".tmp"
"""Folder in the root for objects that are being written."""

_CHECK_TIMEOUT_SECONDS = 20.0


class LocalBackend:
    """Files of one machine. Writes stay below `root`; reads may be anywhere."""

    def __init__(self, root: str) -> None:
        self.filesystem: fs.FileSystem = fs.LocalFileSystem()
        self._root = root

    def path(self, location: str) -> str:
        return location

    def read(self, location: str) -> bytes:
        with open(location, "rb") as file:
            return file.read()

    def write(self, location: str, data: bytes) -> None:
        temporary = self._write_temporary(data)
        _move(temporary, location)

    def create(self, location: str, data: bytes) -> bool:
        temporary = self._write_temporary(data)
        os.makedirs(os.path.dirname(location), exist_ok=True)
        try:
            os.link(temporary, location)
        except FileExistsError:
            return False
        finally:
            os.unlink(temporary)
        return True

    def size(self, location: str) -> int | None:
        try:
            found = os.stat(location)
        except (FileNotFoundError, NotADirectoryError):
            return None
        return found.st_size if stat.S_ISREG(found.st_mode) else None

    def delete(self, locations: Iterable[str]) -> None:
        for location in locations:
            try:
                os.unlink(location)
            except FileNotFoundError:
                continue

    def list(self, prefix: str) -> Iterator[tuple[str, int, datetime]]:
        return _walk(prefix.rpartition("/")[0] or "/", prefix)

    def entries(self, location: str) -> Sequence[tuple[str, bool]]:
        with os.scandir(location) as found:
            return [(entry.name, _is_folder(entry)) for entry in found if _is_folder(entry) or _is_file(entry)]

    def open_output(self, location: str) -> "_PendingFile":
        return _PendingFile(self._temporary_path(), location)

    def check(self, root: str) -> None:
        """Try what commits need, in a thread: a dead network mount would otherwise hang without a word."""
        outcome: list[UnsuitableStoreError] = []
        thread = threading.Thread(target=_probe_into, args=(root, outcome), daemon=True)
        thread.start()
        thread.join(_CHECK_TIMEOUT_SECONDS)
        if thread.is_alive():
            raise UnsuitableStoreError(
                f"the folder {root} did not answer within {_CHECK_TIMEOUT_SECONDS:.0f} s; "
                "check the mount, or put the lake on a local disk or on S3"
            )
        if outcome:
            raise outcome[0]

    def _write_temporary(self, data: bytes) -> str:
        temporary = self._temporary_path()
        with open(temporary, "wb") as file:
            file.write(data)
        return temporary

    def _temporary_path(self) -> str:
        folder = os.path.join(self._root, TEMPORARY)
        os.makedirs(folder, exist_ok=True)
        return os.path.join(folder, uuid.uuid4().hex)


class _PendingFile:
    def __init__(self, temporary: str, location: str) -> None:
        self.stream = pa.OSFile(temporary, "wb")
        self._temporary = temporary
        self._location = location

    def publish(self) -> None:
        self.stream.close()
        _move(self._temporary, self._location)

    def discard(self) -> None:
        self.stream.close()
        os.unlink(self._temporary)

    def __enter__(self) -> pa.NativeFile:
        return self.stream

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if error is None:
            self.publish()
        else:
            self.discard()


def _move(temporary: str, location: str) -> None:
    os.makedirs(os.path.dirname(location), exist_ok=True)
    os.replace(temporary, location)


def _walk(folder: str, prefix: str) -> Iterator[tuple[str, int, datetime]]:
    try:
        entries = [(entry.name + "/" if _is_folder(entry) else entry.name, entry) for entry in os.scandir(folder)]
    except (FileNotFoundError, NotADirectoryError):
        return
    base = folder.rstrip("/")
    # A folder sorts as "name/", which is where its keys stand among the others.
    for name, entry in sorted(entries, key=lambda pair: pair[0]):
        location = f"{base}/{name}"
        if name == f"{TEMPORARY}/" and not prefix.startswith(location):
            continue
        if name.endswith("/"):
            is_above = entry.is_symlink() and _leads_back(location.rstrip("/"))
            if (location.startswith(prefix) or prefix.startswith(location)) and not is_above:
                yield from _walk(location.rstrip("/"), prefix)
        elif location.startswith(prefix) and _is_file(entry):
            yield from _stat(entry, location)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    return _leads_somewhere(entry) and entry.is_dir()


def _is_file(entry: os.DirEntry[str]) -> bool:
    """Return whether there are bytes to read; a pipe or a socket has none, and opening it may wait for ever."""
    return _leads_somewhere(entry) and entry.is_file()


def _leads_somewhere(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry is no link, or one that ends: links to one another never do."""
    try:
        return not entry.is_symlink() or entry.stat() is not None
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            return False
        raise


def _leads_back(location: str) -> bool:
    """Return whether a link leads to a folder in which it lies: what is there is listed already, and without end."""
    target = os.path.realpath(location)
    return any(os.path.realpath(folder) == target for folder in PurePosixPath(location).parents)


def _stat(entry: os.DirEntry[str], location: str) -> Iterator[tuple[str, int, datetime]]:
    try:
        status = entry.stat()
    except FileNotFoundError:
        return
    yield location, status.st_size, datetime.fromtimestamp(status.st_mtime, UTC)


def _probe_into(root: str, outcome: list[UnsuitableStoreError]) -> None:
    folder = os.path.join(root, TEMPORARY)
    probe = os.path.join(folder, f"probe-{uuid.uuid4().hex}")
    try:
        os.makedirs(folder, exist_ok=True)
        _probe(probe)
    except UnsuitableStoreError as error:
        outcome.append(error)
    except OSError as error:
        outcome.append(
            UnsuitableStoreError(
                f"the folder {root} cannot keep a lake: {error}; a lake needs a writable local disk with hard links, "
                "renames and file locks, or an s3:// root"
            )
        )
    finally:
        for name in (probe, f"{probe}-link", f"{probe}-moved"):
            if os.path.lexists(name):
                os.unlink(name)


def _probe(probe: str) -> None:
    with open(probe, "wb") as first, open(probe, "rb") as second:
        first.write(b"probe")
        first.flush()
        fcntl.flock(first, fcntl.LOCK_EX | fcntl.LOCK_NB)
        try:
            fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pass
        else:
            raise UnsuitableStoreError(
                f"the filesystem of {os.path.dirname(probe)} grants one file lock twice, so two writers would destroy "
                "each other's commits; put the lake on a local disk or on S3"
            )
    os.link(probe, f"{probe}-link")
    os.replace(probe, f"{probe}-moved")
