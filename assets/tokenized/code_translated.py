"""tokenized/code_translated: sequences of the accepted documents, without duplicates, of synthesized/code_translated."""

from assets.partitions import variants
from assets.synthesized.code_translated import RECIPES
from assets.tokenization import tokenized_assets

ASSETS = tokenized_assets(
    "code_translated",
    documents=("synthesized", "code_translated", "documents"),
    duplicates=("synthesized", "code_translated", "duplicates"),
    partitions_def=variants("language", list(RECIPES), dataset="code"),
)
