"""What a person says about a source: which files to take, which columns hold what, and what holds for all of it."""

import fnmatch
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from corpusmill.meant import did_you_mean

_MEBIBYTE = 1 << 20
_TEXTS = (
    *("text_column", "url_column", "language_column", "license_column"),
    *("content_type", "declared_language", "declared_license"),
)


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """Options of one source. All have a default that fits most snapshots."""

    include: tuple[str, ...] = ()
    """Shell patterns; a file (or package member) is taken when its path or its name matches one. Empty takes all."""
    exclude: tuple[str, ...] = ()
    """Shell patterns of paths or names that are left out, even when included."""
    text_column: str = "text"
    url_column: str | None = None
    language_column: str | None = None
    license_column: str | None = None
    meta_columns: tuple[str, ...] = ()
    """Further columns of Parquet and JSONL rows, kept as strings in `meta`."""
    content_type: str | None = None
    """Content type of every record, where the source's own is missing or wrong."""
    declared_language: str | None = None
    declared_license: str | None = None
    """SPDX expression that holds for the whole source; a record's own licence goes first."""
    max_page_bytes: int = 256 * _MEBIBYTE
    """Largest Parquet page that is decoded; a row group with a larger one is quarantined."""
    max_payload_bytes: int = 64 * _MEBIBYTE
    """Largest payload of one record; a larger one becomes a failed row."""

    def __post_init__(self) -> None:
        for name in ("include", "exclude", "meta_columns"):
            value = getattr(self, name)
            if isinstance(value, str):
                raise ValueError(f'the option {name} takes a list of strings, got {value!r}: write ["{value}"]')
            if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
                raise ValueError(f"the option {name} takes a list of strings, got {value!r}")
            object.__setattr__(self, name, tuple(value))
        for name in ("max_page_bytes", "max_payload_bytes"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(f"the option {name} must be a whole number of at least 1, got {value!r}")
        for name in _TEXTS:
            value = getattr(self, name)
            if not isinstance(value, str) and (value is not None or name == "text_column"):
                raise ValueError(f"the option {name} must be text, got {value!r}")

    @classmethod
    def from_mapping(cls, value: Mapping[str, Any]) -> "ReadOptions":
        """Return the options that `value` spells; raises ValueError for a name that does not exist."""
        known = [field.name for field in fields(cls)]
        unknown = sorted(set(value) - set(known))
        if unknown:
            meant = did_you_mean(unknown[0], known)
            raise ValueError(f"unknown read option {', '.join(unknown)}; the options are {', '.join(known)}{meant}")
        return cls(**value)

    def takes(self, path: str) -> bool:
        """Return whether the file or package member at `path` belongs to the source."""
        if self.include and not _matches(path, self.include):
            return False
        return not _matches(path, self.exclude)

    @property
    def row_columns(self) -> list[str]:
        """Columns of a row that are listed with the record: everything but the text."""
        named = (self.url_column, self.language_column, self.license_column)
        return list(dict.fromkeys([*(name for name in named if name), *self.meta_columns]))


def _matches(path: str, patterns: tuple[str, ...]) -> bool:
    name = path.rsplit("/", 1)[-1]
    return any(fnmatch.fnmatchcase(path, pattern) or fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
