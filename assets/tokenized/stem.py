"""tokenized/stem: sequences of curated/stem."""

from assets.partitions import snapshots
from assets.tokenization import tokenized_assets

ASSETS = tokenized_assets("stem", documents=("curated", "stem", "documents"), partitions_def=snapshots("stem"))
