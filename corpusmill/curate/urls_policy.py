"""What a dataset asks of its documents' URLs."""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

_CHOICES = {"duplicates": ("drop", "keep"), "versions": ("all", "newest", "oldest")}


@dataclass(frozen=True, kw_only=True)
class UrlPolicy:
    """Which documents stay of those with equal canonical URLs, and for whom opt-outs count."""

    duplicates: str = "drop"
    """Within a snapshot: `drop` all but the first, or `keep` them."""
    versions: str = "all"
    """Across snapshots, whatever their texts say: `all` versions of a page stay, the `newest` or the `oldest`."""
    agents: tuple[str, ...] = ()
    """Crawlers whose opt-outs count; those for all agents always do."""
    as_of: str | None = None
    """A day as YYYY-MM-DD: later opt-outs do not count."""

    def __post_init__(self) -> None:
        for name, known in _CHOICES.items():
            if getattr(self, name) not in known:
                raise ValueError(f"the parameter {name} is {', '.join(known)}, got {getattr(self, name)!r}")
        if self.as_of is not None:
            datetime.date.fromisoformat(self.as_of)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        known = [field.name for field in fields(cls)]
        if unknown := sorted(set(value) - set(known)):
            raise ValueError(f"unknown parameter {', '.join(unknown)} of URLs; known are {', '.join(known)}")
        given: dict[str, Any] = {name: tuple(it) if isinstance(it, list) else it for name, it in value.items()}
        return cls(**given)

    @property
    def sees_all_snapshots(self) -> bool:
        return self.versions != "all"

    @property
    def day(self) -> datetime.date | None:
        return None if self.as_of is None else datetime.date.fromisoformat(self.as_of)
