"""tokenized/stem_dialogues: sequences of the accepted documents, without duplicates, of synthesized/stem_dialogues."""

from assets.partitions import variants
from assets.synthesized.stem_dialogues import RECIPES
from assets.tokenization import tokenized_assets

ASSETS = tokenized_assets(
    "stem_dialogues",
    documents=("synthesized", "stem_dialogues", "documents"),
    duplicates=("synthesized", "stem_dialogues", "duplicates"),
    partitions_def=variants("voices", list(RECIPES), dataset="stem"),
)
