"""tokenized/web_rephrased: sequences of the accepted documents, without duplicates, of synthesized/web_rephrased."""

from assets.partitions import variants
from assets.synthesized.web_rephrased import RECIPES
from assets.tokenization import tokenized_assets

ASSETS = tokenized_assets(
    "web_rephrased",
    documents=("synthesized", "web_rephrased", "documents"),
    duplicates=("synthesized", "web_rephrased", "duplicates"),
    partitions_def=variants("style", list(RECIPES), dataset="web"),
)
