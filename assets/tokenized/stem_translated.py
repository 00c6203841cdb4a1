"""tokenized/stem_translated: sequences of the accepted documents of synthesized/stem_translated."""

from assets.partitions import variants
from assets.synthesized.stem_translated import RECIPES
from assets.tokenization import tokenized_assets

ASSETS = tokenized_assets(
    "stem_translated",
    documents=("synthesized", "stem_translated", "documents"),
    partitions_def=variants("language", list(RECIPES), dataset="stem"),
)
