"""Parsing: from what a model wrote to the text that it was asked for, or the reason why that is not in there."""

import re
from collections.abc import Sequence
from typing import Literal, get_args

AnswerForm = Literal["text", "code_block"]

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


def check_form(form: str) -> None:
    """Raise ValueError when there is no such form of an answer."""
    if form not in get_args(AnswerForm):
        raise ValueError(f"unknown answer form {form!r}; there are: {', '.join(get_args(AnswerForm))}")


def parse_answer(
    answer: str, *, finish_reason: str | None, form: AnswerForm, tags: Sequence[str] = ("document",)
) -> tuple[str, str | None]:
    """Return the text of the answer and None, or what can be shown of it and a reason.

    `text`: a first line of assistant talk and the prompt's own delimiters (`tags`) are taken off. `code_block`: the
    content of the only fenced block, or the whole answer where nothing is fenced.
    """
    if finish_reason == "length":
        return answer.strip(), CUT_OFF
    text, reason = _code(answer, tags) if form == "code_block" else (_prose(answer, tags), None)
    return text, reason or (None if text.strip() else EMPTY)


def _prose(answer: str, tags: Sequence[str]) -> str:
    return _without_delimiters(_LEAD.sub("", answer), tags).strip()


def _code(answer: str, tags: Sequence[str]) -> tuple[str, str | None]:
    blocks = _FENCE.findall(answer)
    if len(blocks) == 1:
        return str(blocks[0][1]).strip("\n") + "\n", None
    if blocks or _OPEN_FENCE.search(answer):
        return answer.strip(), "not_one_code_block"
    return _without_delimiters(answer, tags).strip("\n") + "\n", None


def _without_delimiters(answer: str, tags: Sequence[str]) -> str:
    lines = rf"^[ \t]*</?(?:{'|'.join(tags)})(?:_[0-9a-f]{{8}})?>[ \t]*\n?"
    return re.sub(lines, "", answer, flags=re.MULTILINE)
