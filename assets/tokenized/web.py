"""tokenized/web: sequences of curated/web."""

from assets.partitions import snapshots
from assets.tokenization import tokenized_assets

ASSETS = tokenized_assets("web", documents=("curated", "web", "documents"), partitions_def=snapshots("web"))
