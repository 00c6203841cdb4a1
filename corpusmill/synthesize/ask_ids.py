"""Naming asks: an ask's id is the fingerprint of all that decides its answer, and of nothing else.

For a question that is model, revision (weights, tokenizer and chat template), rendered messages, sampling, and the schema
where there is one; for a tool call the tool's name and version, and the arguments. Which step or recipe asks, and what
is done with the answer, is no part of it: two that ask the same share one answer.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from corpusmill.fingerprint import fingerprint
from corpusmill.synthesize.asking import Ask, Question, Tool
from corpusmill.synthesize.prompt import prompt_hash
from corpusmill.synthesize.spelling import plain

Tools = Mapping[str, Tool]
"""By name."""


class Answerer(Protocol):
    """Who answers questions. `revision` names the model's weights, tokenizer and chat template together."""

    @property
    def model(self) -> str: ...
    @property
    def revision(self) -> str: ...
    @property
    def license(self) -> str: ...


def ask_id(ask: Ask, *, model: str, revision: str, tools: Tools) -> str:
    """Return the id of a question or a tool call; raise ValueError for a tool that there is not."""
    if isinstance(ask, Question):
        schema = {} if ask.schema is None else {"schema": plain(ask.schema)}
        named = {"model": model, "revision": revision, "prompt": prompt_hash(ask.messages)}
        return fingerprint({**named, "sampling": ask.sampling.to_json(), **schema})
    called = named_tool(ask.tool, tools)
    return fingerprint({"tool": ask.tool, "version": called.version, "arguments": dict(ask.arguments)})


def named_tool(name: str, tools: Tools) -> Tool:
    """Return a tool by name; raise ValueError, with those that there are, when it is none of them."""
    if name not in tools:
        raise ValueError(f"there is no tool {name!r} to call; there are: {', '.join(sorted(tools)) or 'none'}")
    return tools[name]


def tool_versions(names: tuple[str, ...], tools: Tools) -> dict[str, Any]:
    """Return the version of each of these tools; raise ValueError for one that there is not."""
    return {name: named_tool(name, tools).version for name in names}
