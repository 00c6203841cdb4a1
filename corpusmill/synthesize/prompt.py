"""Rendering: a recipe, a seed and one of its chunks become the messages of a chat. What a document says stays inert.

Values are put in once, so a `$name` or `{name}` inside a document is text. The document stands between delimiters that
it does not contain. A document with control tokens of chat templates is no seed at all (`seeds`), for an engine would
obey them.
"""

import re
from collections.abc import Mapping, Sequence
from string import Template
from typing import Any

from corpusmill.fingerprint import fingerprint
from corpusmill.synthesize.recipe import Recipe, prompt_name

Message = dict[str, str]

CONTROL_TOKENS = re.compile(
    r"<\|[A-Za-z0-9_]{1,40}\|>|<(?:start|end)_of_(?:turn|text)>|\[/?INST\]|<</?SYS>>|</?s>|<(?:bos|eos|pad|unk)>"
)
"""Spellings that tokenizers of common models turn into turns and ends."""

_MAX_METADATA_CHARACTERS = 200
_UNKNOWN = "unknown"


def render_messages(recipe: Recipe, *, metadata: Mapping[str, str], text: str) -> list[Message]:
    """Return the messages that ask for the answer to one primary input; worked examples come as earlier turns."""
    words = dict(recipe.secondary.words)
    unknown = {prompt_name(column): _UNKNOWN for column in recipe.metadata}
    messages = [_message("system", recipe.generator.system, {**words, **metadata, "document": delimited(text)})]
    for exemplar in recipe.secondary.exemplars:
        shown = {**words, **unknown, "document": delimited(exemplar.document)}
        messages += [_message("user", recipe.generator.user, shown), {"role": "assistant", "content": exemplar.answer}]
    messages.append(_message("user", recipe.generator.user, {**words, **metadata, "document": delimited(text)}))
    return [message for message in messages if message["content"]]


def delimited(text: str) -> str:
    """Return the text between `<document>` and `</document>`, with a tag that the text cannot close."""
    tag, content = "document", text.strip("\n")
    while re.search(rf"</?\s*{tag}\b", content, re.IGNORECASE):
        tag = f"document_{fingerprint([tag, content])[:8]}"
    return f"<{tag}>\n{content}\n</{tag}>"


def prompt_hash(messages: Sequence[Message]) -> str:
    """Return the fingerprint of roles and contents."""
    return fingerprint([[message["role"], message["content"]] for message in messages])


def seed_metadata(recipe: Recipe, row: Mapping[str, Any]) -> dict[str, str]:
    """Return what the recipe shows of a seed, by prompt name: one line, at most 200 characters, `unknown` for null."""
    return {prompt_name(column): _one_line(column_value(row, column)) for column in recipe.metadata}


def column_value(row: Mapping[str, Any], column: str) -> Any:
    """Return a column of a seed row; `meta.author` is the key `author` of the map `meta`, null where it has none."""
    if not column.startswith("meta."):
        return row[column]
    return dict(row["meta"] or ()).get(column.removeprefix("meta."))


def _message(role: str, prompt: str, values: Mapping[str, str]) -> Message:
    return {"role": role, "content": Template(prompt).substitute(values)}


def _one_line(value: Any) -> str:
    line = " ".join(str(_UNKNOWN if value is None else value).split())
    return line[:_MAX_METADATA_CHARACTERS] or _UNKNOWN
