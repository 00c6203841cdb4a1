"""sources/web: web pages: WARC captures of documentation sites, a crawl a snapshot."""

from assets.sourcing import source_assets

ASSETS = source_assets(
    "web",
    description="Web pages: WARC captures of documentation sites, a crawl a snapshot.",
)
