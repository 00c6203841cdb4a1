"""sources/stem: documentation of mathematics and physics with its formulas, an edition a snapshot."""

from assets.sourcing import source_assets

ASSETS = source_assets(
    "stem",
    description="Documentation of mathematics and physics with its formulas, an edition a snapshot.",
)
