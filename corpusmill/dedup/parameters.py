"""The settings of deduplication, checked, and what they mean: the S-curve.

Everything here changes which documents are removed, so all of it is identity. Machines and paths do not belong here.
"""

import unicodedata
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from corpusmill.dedup.scopes import SCOPES
from corpusmill.dedup.validation import check_share
from corpusmill.fingerprint import fingerprint

SHINGLES = ("word", "character", "code")
RANKS = ("oldest", "newest", "longest", "quality")
SIGNATURE_ALGORITHM = 1
"""Raised when the same text and settings come to give other signatures; a test knows those of a text."""
MAX_BANDS = 63
"""Shared bands are counted in the bits of a signed 64-bit mask."""


@dataclass(frozen=True, kw_only=True)
class DedupParameters:
    """What counts as a near-duplicate. The defaults are FineWeb's (arXiv:2406.17557), verified exactly."""

    shingle: str = "word"
    """`word`, `character` or `code`: what an n-gram is made of (see `corpusmill.dedup.tokens`)."""
    shingle_size: int = 5
    """Words, characters or code tokens in a shingle."""
    num_bands: int = 14
    rows_per_band: int = 8
    threshold: float = 0.7
    """Least exact Jaccard of two shingle sets that makes the worse document a duplicate of the better one."""
    seed: int = 1
    rank: str = "oldest"
    """Whose document is kept: the `oldest` or `newest` snapshot's, the `longest` one (in shingles), or that of highest
    `quality`. Equals of the last two go to the older snapshot; what is equal then, to the smaller doc_id."""
    quality_statistic: str | None = None
    """The statistic of the verdicts by which `quality` ranks, highest first; documents without it come last."""
    validation_share: float = 0.0
    """Share of the texts that no model trains on (see `corpusmill.dedup.validation`). What resembles them is removed: they
    are ranked before all others, or before those of their own snapshot where the oldest come first."""
    scope: str = "all"
    """Documents of `all` snapshots and sources are compared, or only those of one `snapshot` or of one `source`."""
    max_bucket: int = 50
    """Documents of a larger band bucket are compared with its representatives and split by further bands."""
    num_representatives: int = 8
    """Best-ranked documents of an oversize bucket with which all its others are compared."""
    max_comparisons: int = 50
    """Most better-ranked documents with which one document is compared, those with most shared bands first."""

    def __post_init__(self) -> None:
        _one_of("shingle", self.shingle, SHINGLES)
        _one_of("rank", self.rank, RANKS)
        _one_of("scope", self.scope, SCOPES)
        _within("shingle_size", self.shingle_size, 1, 1000)
        _within("num_bands", self.num_bands, 1, MAX_BANDS)
        _within("rows_per_band", self.rows_per_band, 1, 1000)
        _within("max_bucket", self.max_bucket, 2, 10_000)
        _within("num_representatives", self.num_representatives, 1, self.max_bucket)
        _within("max_comparisons", self.max_comparisons, 1, 10_000)
        if not 0 < self.threshold <= 1:
            raise ValueError(f"threshold must lie in (0, 1], got {self.threshold}")
        check_share(self.validation_share)
        if (self.rank == "quality") != (self.quality_statistic is not None):
            raise ValueError(
                f"quality_statistic goes with rank 'quality', got rank {self.rank!r} and {self.quality_statistic!r}: "
                "name a statistic of the verdicts, such as a classifier's score, or leave it away"
            )

    @property
    def num_permutations(self) -> int:
        return self.num_bands * self.rows_per_band

    @property
    def signature_fingerprint(self) -> str:
        """Name of all that changes a signature. Two signatures can be compared only when theirs are equal."""
        names = ("shingle", "shingle_size", "num_bands", "rows_per_band", "seed")
        settings = {name: getattr(self, name) for name in names}
        return fingerprint(settings | {"unicode": unicodedata.unidata_version, "algorithm": SIGNATURE_ALGORITHM})

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        return cls(**value)


def candidate_probability(jaccard: float, parameters: DedupParameters) -> float:
    """Return the probability that a pair of this Jaccard shares at least one band: 1 - (1 - s^rows)^bands."""
    return float(1 - (1 - jaccard**parameters.rows_per_band) ** parameters.num_bands)


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {value!r}")


def _within(name: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise ValueError(f"{name} must lie between {least} and {most}, got {value}")


FINEWEB = DedupParameters()
"""14 x 8 (arXiv:2406.17557): a pair at .7 becomes a candidate with probability .56, at .8 with .92."""
DOLMA3 = DedupParameters(num_bands=26, rows_per_band=11)
"""26 x 11: what Dolma 3 was made with (Olmo 3 technical report)."""
CURATOR = DedupParameters(num_bands=20, rows_per_band=13)
"""20 x 13: the defaults of NeMo Curator's fuzzy deduplication."""
PRESETS = {"fineweb": FINEWEB, "dolma3": DOLMA3, "curator": CURATOR}
