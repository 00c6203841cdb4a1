"""sources/code: source packages as they were released, a release a snapshot; licences from their metadata."""

from assets.sourcing import source_assets

ASSETS = source_assets(
    "code",
    description="Source packages as they were released, a release a snapshot; licences from their metadata.",
)
