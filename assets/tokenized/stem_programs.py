"""tokenized/stem_programs: sequences of the accepted documents, without duplicates, of synthesized/stem_programs."""

from assets.partitions import variants
from assets.synthesized.stem_programs import RECIPES
from assets.tokenization import tokenized_assets

ASSETS = tokenized_assets(
    "stem_programs",
    documents=("synthesized", "stem_programs", "documents"),
    duplicates=("synthesized", "stem_programs", "duplicates"),
    partitions_def=variants("form", list(RECIPES), dataset="stem"),
)
