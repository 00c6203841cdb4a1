"""curated/code: source files under permissive licences that parse and that a person wrote."""

from assets.curation import curated_assets
from corpusmill.dedup.parameters import DedupParameters

EXTRACT = {"method": "plain"}
JUDGE = {"judge": "code"}
DEDUP = DedupParameters(shingle="code", validation_share=0.005).to_json()

ASSETS = curated_assets("code", extract=EXTRACT, judge=JUDGE, dedup=DEDUP, max_removed_share=0.99)
