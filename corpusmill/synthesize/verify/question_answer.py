"""Form of the question-answer style: pairs of lines that start with `Question:` and `Answer:`."""

import re

from corpusmill.synthesize.verify.case import Case

_PAIR = re.compile(
    r"^\W{0,4}(?:question|q)(?:\s*\d+)?\W{0,3}:\W{0,4}(?P<question>.*?\S.*?)\n+\s*^\W{0,4}(?:answer|a)(?:\s*\d+)?\W{0,3}:\s*(?P<answer>.*\S)",
    re.IGNORECASE | re.MULTILINE,
)


def question_answer(case: Case, *, min_pairs: int = 1) -> str | None:
    """Refuse fewer than `min_pairs` different questions that are answered."""
    answered = {match.group("question").strip().casefold() for match in _PAIR.finditer(case.output)}
    return None if len(answered) >= min_pairs else "too_few_question_answer_pairs"
