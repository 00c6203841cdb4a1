"""The kinds of reviews by name, and their spelling in JSON. A new kind is one file and one line here."""

from collections.abc import Mapping
from typing import Any

from corpusmill.synthesize.review.back_translation import BackTranslation
from corpusmill.synthesize.review.judge import Judge
from corpusmill.synthesize.review.review import Review

REVIEWS: dict[str, type[Review]] = {review.kind: review for review in (BackTranslation, Judge)}


def review_to_json(review: Review) -> dict[str, Any]:
    return {"kind": review.kind, **review.to_json()}


def review_from_json(value: Mapping[str, Any]) -> Review:
    """Read what `review_to_json` wrote."""
    if value["kind"] not in REVIEWS:
        raise ValueError(f"there is no review of kind {value['kind']!r}; there are: {', '.join(sorted(REVIEWS))}")
    return REVIEWS[value["kind"]].from_json({name: item for name, item in value.items() if name != "kind"})
