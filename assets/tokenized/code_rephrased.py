"""tokenized/code_rephrased: sequences of the accepted documents, without duplicates, of synthesized/code_rephrased."""

from assets.partitions import variants
from assets.synthesized.code_rephrased import RECIPES
from assets.tokenization import tokenized_assets

ASSETS = tokenized_assets(
    "code_rephrased",
    documents=("synthesized", "code_rephrased", "documents"),
    duplicates=("synthesized", "code_rephrased", "duplicates"),
    partitions_def=variants("style", list(RECIPES), dataset="code"),
)
