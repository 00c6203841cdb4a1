"""tokenized/stem_translated: sequences of the accepted documents, without duplicates, of synthesized/stem_translated."""

from assets.partitions import variants
from assets.synthesized.stem_translated import RECIPES
from assets.tokenization import tokenized_assets

ASSETS = tokenized_assets(
    "stem_translated",
    documents=("synthesized", "stem_translated", "documents"),
    duplicates=("synthesized", "stem_translated", "duplicates"),
    partitions_def=variants("language", list(RECIPES), dataset="stem"),
)
