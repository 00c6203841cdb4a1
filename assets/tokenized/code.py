"""tokenized/code: sequences of curated/code."""

from assets.partitions import snapshots
from assets.tokenization import tokenized_assets

ASSETS = tokenized_assets("code", documents=("curated", "code", "documents"), partitions_def=snapshots("code"))
