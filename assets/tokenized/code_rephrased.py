"""tokenized/code_rephrased: sequences of the accepted documents of synthesized/code_rephrased."""

from assets.partitions import variants
from assets.synthesized.code_rephrased import RECIPES
from assets.tokenization import tokenized_assets

ASSETS = tokenized_assets(
    "code_rephrased",
    documents=("synthesized", "code_rephrased", "documents"),
    partitions_def=variants("style", list(RECIPES), dataset="code"),
)
