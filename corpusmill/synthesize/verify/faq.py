"""Form of the FAQ: questions as headings, each with an answer below it."""

import re

from corpusmill.synthesize.verify.case import Case
from corpusmill.synthesize.verify.words import words

_QUESTION = re.compile(
    r"^[ \t]{0,4}(?:#{1,6}[ \t]*|\*\*|(?:[-*•]|\d{1,3}[.)])[ \t]+(?:\*\*)?)?(?:(?:Q|Question)\s?\d{0,3}[.:)]\s*)?"
    r"(?P<question>[^\n]{6,300}[?？؟])[ \t]*(?:\*\*)?[ \t]*$",
    re.MULTILINE,
)


def faq(case: Case, *, min_questions: int = 2, min_answer_words: int = 5) -> str | None:
    """Refuse fewer than `min_questions` different questions, or one with an answer of fewer than `min_answer_words` words.

    A question is a line of its own that ends with a question mark; what follows up to the next one is its answer.
    """
    found = list(_QUESTION.finditer(case.output))
    if len({match["question"].strip("* ").casefold() for match in found}) < min_questions:
        return "too_few_questions"
    ends = [*(match.start() for match in found[1:]), len(case.output)]
    answers = [case.output[match.end() : end] for match, end in zip(found, ends, strict=True)]
    return "question_without_answer" if min(len(words(answer)) for answer in answers) < min_answer_words else None
