"""tokenized/web_articles: sequences of the accepted documents, without duplicates, of synthesized/web_articles."""

from assets.partitions import variants
from assets.synthesized.web_articles import RECIPES
from assets.tokenization import tokenized_assets

ASSETS = tokenized_assets(
    "web_articles",
    documents=("synthesized", "web_articles", "documents"),
    duplicates=("synthesized", "web_articles", "duplicates"),
    partitions_def=variants("form", list(RECIPES), dataset="web"),
)
