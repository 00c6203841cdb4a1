"""Parsing: from what a model wrote to the text that it was asked for, or the reason why that is not in there."""

import re

from corpusmill.synthesize.recipe import AnswerForm

CUT_OFF = "cut_off"
EMPTY = "empty_answer"

_FENCE = re.compile(r"^[ \t]*(```+|~~~+)[ \t]*[\w+#.-]*[ \t]*\n(.*?)^[ \t]*\1[ \t]*$", re.MULTILINE | re.DOTALL)
_OPEN_FENCE = re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE)
_LEAD = re.compile(
    r"\A\W{0,3}(?:sure|certainly|of course|okay|here(?:['’]s| is| are)|below is"
    r"|the (?:rewritten|translated|following))\b"
    r"[^\n]{0,160}:[*_]{0,2}[ \t]*\n+",
    re.IGNORECASE,
)
_DELIMITER = re.compile(r"^[ \t]*</?document(?:_[0-9a-f]{8})?>[ \t]*\n?", re.MULTILINE)


def parse_answer(answer: str, *, finish_reason: str | None, form: AnswerForm) -> tuple[str, str | None]:
    """Return the text of the answer and None, or what can be shown of it and a reason.

    `text`: a first line of assistant talk and the prompt's own delimiters are taken off. `code_block`: the content of
    the only fenced block, or the whole answer where nothing is fenced.
    """
    if finish_reason == "length":
        return answer.strip(), CUT_OFF
    text, reason = _code(answer) if form == "code_block" else (_prose(answer), None)
    return text, reason or (None if text.strip() else EMPTY)


def _prose(answer: str) -> str:
    return _DELIMITER.sub("", _LEAD.sub("", answer)).strip()


def _code(answer: str) -> tuple[str, str | None]:
    blocks = _FENCE.findall(answer)
    if len(blocks) == 1:
        return str(blocks[0][1]).strip("\n") + "\n", None
    if blocks or _OPEN_FENCE.search(answer):
        return answer.strip(), "not_one_code_block"
    return _DELIMITER.sub("", answer).strip("\n") + "\n", None
