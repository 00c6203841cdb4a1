"""Form of the list of facts: one item a line, each of them a statement."""

import re

from corpusmill.synthesize.verify.case import Case
from corpusmill.synthesize.verify.words import words

_ITEM = re.compile(r"^[ \t]{0,8}(?:[-*•–]|\(?\d{1,3}[.)])[ \t]+(?P<fact>\S.*)$")
_MIN_WORDS = 3


def fact_list(case: Case, *, min_facts: int = 3, min_share: float = 0.8, max_words: int = 60) -> str | None:
    """Refuse fewer than `min_facts` different items, or text of which less than `min_share` of the lines are items.

    An item is a statement of 3 to `max_words` words; a question is none. A title is a line too.
    """
    lines = [line for line in case.output.splitlines() if line.strip()]
    found = [match["fact"].strip() for line in lines if (match := _ITEM.match(line))]
    facts = {
        fact.casefold() for fact in found if _MIN_WORDS <= len(words(fact)) <= max_words and not fact.endswith("?")
    }
    if len(facts) < min_facts:
        return "too_few_facts"
    return "not_a_list" if len(found) < min_share * len(lines) else None
