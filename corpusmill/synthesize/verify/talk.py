"""Assistant talk: an answer that speaks about the task, or refuses it, is no document."""

import re

from corpusmill.synthesize.verify.case import Case

_PHRASES = (
    r"as an ai\b",
    r"as a language model",
    r"i(?:['’]m| am) (?:sorry|unable|an ai)",
    r"i (?:cannot|can['’]t|can not) (?:help|assist|provide|fulfil)",
    r"(?:the|your|this) (?:provided|given) (?:text|document|passage|code)\b",
    r"here(?:['’]s| is| are) (?:the|a|an|your|my|some) (?:\w+ ){0,3}"
    r"(?:version|rewrite|translation|summary|text|document|code)\b",
    r"feel free to",
    r"let me know if",
    r"i hope (?:this|that) helps",
    r"(?:rewritten|rephrased|translated|revised) (?:text|version|document|passage)\b",
)
_TALK = re.compile(rf"\b(?:{'|'.join(_PHRASES)})", re.IGNORECASE)


def no_assistant_talk(case: Case) -> str | None:
    """Refuse a phrase of the assistant that the seed does not have."""
    said = {match.group().casefold() for match in _TALK.finditer(case.output)}
    return "assistant_talk" if any(phrase not in case.seed.casefold() for phrase in said) else None
