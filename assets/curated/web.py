"""curated/web: web pages worth training on. Thresholds are FineWeb's unless said otherwise."""

from assets.curation import curated_assets
from corpusmill.dedup.parameters import FINEWEB

EXTRACT = {"method": "resiliparse"}
JUDGE = {"judge": "web"}
DEDUP = FINEWEB.to_json()

ASSETS = curated_assets("web", extract=EXTRACT, judge=JUDGE, dedup=DEDUP, max_removed_share=0.99)
