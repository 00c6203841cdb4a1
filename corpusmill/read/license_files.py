"""What an archive says about the licences of its files: its metadata, and the licence files that lie in its folders.

Costs a pass over the archive before the listing; only metadata and licence files are kept.
"""

import posixpath
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from corpusmill.curate.license_notices import find_license_file
from corpusmill.curate.licenses import all_of
from corpusmill.read.package_license import declared_in_manifest, declared_license

MAX_BYTES = 1 << 20
"""Metadata and licence files above this are not looked at."""
_MANIFESTS = ("package.json", "composer.json", "Cargo.toml")
_LICENSE_NAME = re.compile(
    r"(?:(?:un)?licen[sc]es?|copying(?:\.lesser)?|[\w.-]*[-_.]licen[sc]e)(?:[-_.](?!(?:py|js|ts|go|rs|c|h|java|rb|json|ya?ml|html?)$)[\w-]+)*",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True)
class PackageLicenses:
    """What was found in one archive."""

    declared: str | None = None
    by_folder: Mapping[str, str]
    """Expressions of the licence files, by the folder that they lie in ("" is the top)."""

    def nearest(self, path: str) -> str | None:
        """Return what the licence file in a member's folder says, or in the nearest one above."""
        folder = posixpath.dirname(_plain(path))
        while folder and folder not in self.by_folder:
            above = posixpath.dirname(folder)
            # Above the root of an absolute path is the root again.
            folder = above if above != folder else ""
        return self.by_folder.get(folder)


def is_about_licenses(path: str) -> bool:
    """Return whether a member is metadata of the package or a licence file."""
    return _is_metadata(path) or _is_manifest(path) or is_license_file(posixpath.basename(path))


def is_license_file(name: str) -> bool:
    """Return whether a file of this name, without folders, holds a licence: LICENSE, COPYING.LESSER, mit-license.txt."""
    return _LICENSE_NAME.fullmatch(name) is not None


def package_licenses(members: Iterable[tuple[str, str]]) -> PackageLicenses:
    """Return what (path, content) of the members that are about licences say; the first metadata that declares one counts."""
    declared = None
    found: dict[str, list[str]] = {}
    for path, content in members:
        name = posixpath.basename(path)
        if _is_metadata(path):
            declared = declared or declared_license(content)
        elif _is_manifest(path):
            declared = declared or declared_in_manifest(name, content)
        elif license := find_license_file(content):
            found.setdefault(_folder(path), []).append(license)
    by_folder = {folder: all_of(dict.fromkeys(names)) for folder, names in found.items()}
    return PackageLicenses(declared=declared, by_folder=by_folder)


def _plain(path: str) -> str:
    return path.removeprefix("./")


def _folder(path: str) -> str:
    """Return the folder that a licence file speaks for: of one in a wheel's `.dist-info`, the top."""
    folder = posixpath.dirname(_plain(path))
    return "" if folder.partition("/")[0].endswith(".dist-info") else folder


def _is_metadata(path: str) -> bool:
    folder, _, name = _plain(path).rpartition("/")
    is_sdist = name == "PKG-INFO" and "/" not in folder
    is_wheel = name == "METADATA" and folder.endswith(".dist-info") and "/" not in folder
    return is_sdist or is_wheel


def _is_manifest(path: str) -> bool:
    folder, _, name = _plain(path).rpartition("/")
    return name in _MANIFESTS and "/" not in folder
