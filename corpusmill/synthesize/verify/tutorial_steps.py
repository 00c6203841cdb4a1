"""Form of the tutorial: steps that count upwards from one."""

import re

from corpusmill.synthesize.verify.case import Case

_STEP = re.compile(
    r"^[ \t]{0,3}(?:#{1,6}[ \t]*)?(?:\*\*)?"
    r"(?:(?:step|paso|étape|schritt)[ \t]*(?P<named>\d{1,2})\b|(?P<numbered>\d{1,2})[.)][ \t])[^\n]*\S",
    re.IGNORECASE | re.MULTILINE,
)


def tutorial_steps(case: Case, *, min_steps: int = 2) -> str | None:
    """Refuse fewer than `min_steps` steps, or steps that do not count 1, 2, 3.

    Where lines say `Step 1` only they are steps, and numbered lines are lists inside of one; else numbered lines are.
    """
    found = list(_STEP.finditer(case.output))
    named = [int(match["named"]) for match in found if match["named"]]
    steps = named or [int(match["numbered"]) for match in found]
    if len(steps) < min_steps:
        return "too_few_steps"
    return None if steps == list(range(1, len(steps) + 1)) else "steps_out_of_order"
