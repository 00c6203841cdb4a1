"""curated/web: web pages worth training on. Thresholds are FineWeb's, but for two that manuals with code need otherwise.

Headings and short lines of code are lines of few words, and marks of code are tokens without a letter.
"""

from assets.curation import curated_assets
from corpusmill.dedup.parameters import DedupParameters

EXTRACT = {"method": "fast"}
JUDGE = {"judge": "web", "rules": {"min_line_words": 0, "min_alphabetic_token_share": 0.5}}
DEDUP = DedupParameters(validation_share=0.005).to_json()

ASSETS = curated_assets("web", extract=EXTRACT, judge=JUDGE, dedup=DEDUP, max_removed_share=0.99)
