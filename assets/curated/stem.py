"""curated/stem: text of mathematics and physics with its formulas kept as TeX."""

from assets.curation import curated_assets
from corpusmill.dedup.parameters import DedupParameters

EXTRACT = {"method": "rst"}
JUDGE = {"judge": "stem"}
DEDUP = DedupParameters(validation_share=0.005).to_json()

ASSETS = curated_assets("stem", extract=EXTRACT, judge=JUDGE, dedup=DEDUP, max_removed_share=0.99)
