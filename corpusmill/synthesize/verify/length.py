"""Length: an answer far shorter than its input lost something, a far longer one invented something."""

from corpusmill.synthesize.verify.case import Case


def length_ratio(case: Case, *, minimum: float, maximum: float, min_characters: int = 1) -> str | None:
    """Compare characters of output and seed."""
    if len(case.output) < max(min_characters, minimum * len(case.seed)):
        return "too_short"
    return "too_long" if len(case.output) > maximum * len(case.seed) else None
