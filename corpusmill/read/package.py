"""Members of source packages: sdists, wheels, tar and zip archives, with what the package says about their licences.

A tar is read as a stream, so members in archive order cost one pass; a zip member is read where it lies. A cut or
garbled archive gives the members before the damage, and one failed row.
"""

import gzip
import lzma
import posixpath
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any, Protocol, cast

import pyarrow as pa

from corpusmill.curate.license_evidence import LICENSE_FILE
from corpusmill.read.file_types import file_type
from corpusmill.read.license_files import MAX_BYTES, PackageLicenses, is_about_licenses, package_licenses
from corpusmill.read.options import ReadOptions
from corpusmill.read.rows import FoundRecord, Payload, SnapshotFile, clean_unicode
from corpusmill.read.source_file import InputFile

_TAR_SUFFIXES = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
_ZIP_SUFFIXES = (".zip", ".whl")
SUFFIXES = (*_TAR_SUFFIXES, *_ZIP_SUFFIXES)

_READ_ERRORS = (
    *(OSError, EOFError, tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, gzip.BadGzipFile),
    # zipfile says with RuntimeError that a member is encrypted or packed in an unknown way.
    *(RuntimeError, pa.ArrowInvalid),
)


@dataclass(frozen=True, kw_only=True)
class Member:
    """A regular file of an archive, by its number among all entries."""

    index: int
    name: str
    size: int


class Archive(Protocol):
    """A tar or zip: its files in order, and the bytes of the one that was just given (tar) or of any (zip)."""

    def members(self) -> Iterator[Member]: ...

    def read(self, member: Member) -> bytes: ...


def list_package(file: InputFile, source: SnapshotFile, options: ReadOptions) -> Iterator[FoundRecord]:
    """Yield the text files of a package in archive order."""
    if source.size == 0:
        yield FoundRecord(position="", failure="empty_file")
        return
    package, licenses = _package_name(source.path), _licenses(file, source)
    seen: dict[str, int] = {}
    try:
        for member in _open(file, source.path).members():
            kind = file_type(member.name)
            if kind is None or not options.takes(member.name):
                continue
            position = clean_unicode(member.name)
            seen[position] = seen.get(position, 0) + 1
            in_file = licenses.nearest(member.name)
            meta = {"index": str(member.index), "path": position, "language": kind[0], "package": package}
            yield FoundRecord(
                position=position if seen[position] == 1 else f"{position}#{seen[position]}",
                length=member.size,
                content_type=options.content_type or kind[1],
                declared_license=licenses.declared or in_file or options.declared_license,
                meta=meta | ({LICENSE_FILE: in_file} if in_file else {}),
                failure="payload_too_large" if member.size > options.max_payload_bytes else None,
            )
    except _READ_ERRORS:
        yield FoundRecord(position="", failure="damaged_archive")


class PackageCursor:
    """Payloads of one package; members in archive order cost one pass."""

    def __init__(self, file: InputFile, path: str) -> None:
        self._file = file
        self._path = path
        self._next = -1
        self._archive: Archive
        self._members: Iterator[Member] = iter(())

    def payload(self, row: dict[str, Any], *, max_bytes: int) -> Payload:
        """Return the bytes of the listed `row`."""
        index = int(dict(row["meta"])["index"])
        try:
            if self._next < 0 or index < self._next:
                self._archive = _open(self._file, self._path)
                self._members = self._archive.members()
            self._next = index + 1
            member = next((member for member in self._members if member.index == index), None)
            if member is None:
                return Payload(failure="file_changed")
            if member.size > max_bytes:
                return Payload(failure="payload_too_large")
            return Payload(data=self._archive.read(member))
        except _READ_ERRORS:
            self._next = -1
            return Payload(failure="damaged_archive")


def _open(file: InputFile, path: str) -> Archive:
    file.seek(0)
    stream = cast(IO[bytes], file)  # of which neither library asks more than an InputFile has
    return _Zip(stream) if path.lower().endswith(_ZIP_SUFFIXES) else _Tar(stream)


def _package_name(path: str) -> str:
    """Return what identifies the package: its file's name without the suffix."""
    name = posixpath.basename(path)
    suffix = next(suffix for suffix in sorted(SUFFIXES, key=len, reverse=True) if name.lower().endswith(suffix))
    return clean_unicode(name[: -len(suffix)])


def _licenses(file: InputFile, source: SnapshotFile) -> PackageLicenses:
    found = []
    try:
        archive = _open(file, source.path)
        for member in archive.members():
            if member.size <= MAX_BYTES and is_about_licenses(member.name):
                found.append((member.name, archive.read(member).decode("utf-8", "replace")))  # noqa: PERF401 (it may raise)
    except _READ_ERRORS:
        pass  # The listing meets the same damage and reports it.
    return package_licenses(found)


class _Tar:
    def __init__(self, file: IO[bytes]) -> None:
        self._tar = tarfile.open(fileobj=file, mode="r|*")  # noqa: SIM115 (the caller owns the file)
        self._current: tarfile.TarInfo | None = None

    def members(self) -> Iterator[Member]:
        for index, entry in enumerate(self._tar):
            # tarfile keeps every entry that it has seen; a stream never goes back to one.
            self._tar.members = []  # type: ignore[attr-defined]
            if entry.isreg():
                self._current = entry
                yield Member(index=index, name=entry.name, size=entry.size)

    def read(self, member: Member) -> bytes:
        assert self._current is not None
        content = self._tar.extractfile(self._current)
        assert content is not None
        data = content.read()
        if len(data) < member.size:
            raise tarfile.ReadError(f"{member.name} is cut")
        return data


class _Zip:
    def __init__(self, file: IO[bytes]) -> None:
        self._zip = zipfile.ZipFile(file)
        self._entries = self._zip.infolist()

    def members(self) -> Iterator[Member]:
        for index, entry in enumerate(self._entries):
            if not entry.is_dir():
                yield Member(index=index, name=entry.filename, size=entry.file_size)

    def read(self, member: Member) -> bytes:
        with self._zip.open(self._entries[member.index]) as content:
            data = content.read(member.size + 1)
        if len(data) != member.size:
            raise zipfile.BadZipFile(f"{member.name} does not have the size that the archive declares")
        return data
