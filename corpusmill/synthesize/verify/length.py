"""Length: an answer far shorter than its input lost something, a far longer one invented something."""

from corpusmill.synthesize.verify.case import Case


def length_ratio(
    case: Case, *, minimum: float, maximum: float, min_characters: int = 1, slack_characters: int = 0
) -> str | None:
    """Compare characters of output and seed; a difference of up to `slack_characters` says nothing about short texts."""
    length, seed = len(case.output), len(case.seed)
    is_near = abs(length - seed) <= slack_characters
    if length < min_characters or (length < minimum * seed and not is_near):
        return "too_short"
    return "too_long" if length > maximum * seed and not is_near else None
