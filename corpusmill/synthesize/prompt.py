"""Rendering: prompts and a material become the messages of a chat. What a document says stays inert.

Values are put in once, so a `$name` or `{name}` inside a document is text. The document stands between delimiters that
it does not contain, and so does what a model wrote before. A document with control tokens of chat templates is no seed
at all (`seeds`), for an engine would obey them.
"""

import re
from collections.abc import Mapping, Sequence
from string import Template
from typing import Any

from corpusmill.fingerprint import fingerprint
from corpusmill.synthesize.asking import Material, Message

DOCUMENT = "document"
SECOND = "second"

CONTROL_TOKENS = re.compile(
    r"<\|[A-Za-z0-9_]{1,40}\|>|<(?:start|end)_of_(?:turn|text)>|\[/?INST\]|<</?SYS>>|</?s>|<(?:bos|eos|pad|unk)>"
)
"""Spellings that tokenizers of common models turn into turns and ends."""

_MAX_METADATA_CHARACTERS = 200
_UNKNOWN = "unknown"


def render_messages(
    system: str, user: str, material: Material, *, values: Mapping[str, str] | None = None
) -> tuple[Message, ...]:
    """Return the messages that ask about one primary input; worked examples come as earlier turns.

    `values` are further `$names`, such as the answers of earlier steps; worked examples have none of them.
    """
    shown = {**given_names(material), **(values or {})}
    unknown = dict.fromkeys(material.metadata, _UNKNOWN)
    messages = [_message("system", system, shown)]
    for document, answer in material.exemplars:
        example = {**material.words, **unknown, DOCUMENT: delimited(document)}
        messages += [_message("user", user, example), {"role": "assistant", "content": answer}]
    messages.append(_message("user", user, shown))
    return tuple(message for message in messages if message["content"])


def given_names(material: Material) -> dict[str, str]:
    """Return what a prompt may name of a material; documents stand between delimiters."""
    document = {DOCUMENT: delimited(material.text, beside=material.seconds)}
    beside = [delimited(text, SECOND, beside=(material.text, *material.seconds)) for text in material.seconds]
    return {**material.words, **material.metadata, **document, **({SECOND: "\n\n".join(beside)} if beside else {})}


def template_names(**prompts: str) -> set[str]:
    """Return every `$name` that the prompts use; raise ValueError for a `$` that is neither name nor `$$`."""
    found: set[str] = set()
    for which, prompt in prompts.items():
        template = Template(prompt)
        if not template.is_valid():
            raise ValueError(
                f"the {which} prompt holds a $ that starts no name; write $$ for a dollar: {prompt!r:.200}"
            )
        found.update(template.get_identifiers())
    return found


def delimited(text: str, name: str = DOCUMENT, *, beside: Sequence[str] = ()) -> str:
    """Return the text between `<document>` and `</document>`, or others, with a tag that the text cannot close.

    Nor do the texts that stand `beside` it in the prompt hold the tag.
    """
    tag, content = name, text.strip("\n")
    while any(re.search(rf"</?\s*{tag}\b", one, re.IGNORECASE) for one in (content, *beside)):
        tag = f"{name}_{fingerprint([tag, content])[:8]}"
    return f"<{tag}>\n{content}\n</{tag}>"


def prompt_hash(messages: Sequence[Message]) -> str:
    """Return the fingerprint of roles and contents."""
    return fingerprint([[message["role"], message["content"]] for message in messages])


def prompt_name(column: str) -> str:
    """Return the `$name` under which a prompt finds a metadata column."""
    return column.replace(".", "_")


def seed_metadata(columns: Sequence[str], row: Mapping[str, Any]) -> dict[str, str]:
    """Return what is shown of a seed, by prompt name: one line, at most 200 characters, `unknown` for null."""
    return {prompt_name(column): _one_line(column_value(row, column)) for column in columns}


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
