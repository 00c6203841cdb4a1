"""How an agent speaks: the two formats in which it calls a tool or answers, and the one in which its turns are kept.

    Thought: I need the number of legs.
    Tool: python
    Input:
    print(4 * 3)

or `Thought: ...` and `Answer: ...`; or, where the format is json, `{"thought": ..., "tool": ..., "input": ...}` with the
tool `answer` at the end. What a model writes after the input as if a tool had said it is not kept.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

TurnFormat = Literal["plain", "json"]
ANSWER = "answer"

_INVENTED = re.compile(r"^[ \t]*(?:Observation:|</?observation\b).*", re.MULTILINE | re.DOTALL | re.IGNORECASE)
_CALL = re.compile(r"^Tool:[ \t]*([\w-]+)[ \t]*\n+Input:(.*)\Z", re.MULTILINE | re.DOTALL)
_FINAL = re.compile(r"^Answer:(.*)\Z", re.MULTILINE | re.DOTALL)
_THOUGHT = re.compile(r"\A\s*Thought:")
_FENCED = re.compile(r"\A\s*(```+|~~~+)[\w+#.-]*[ \t]*\n(.*?)\n?[ \t]*\1\s*\Z", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class AgentTurn:
    """What an agent thinks, and the tool that it calls or `answer`."""

    thought: str
    tool: str
    input: str

    @property
    def is_answer(self) -> bool:
        return self.tool == ANSWER


def without_inventions(text: str) -> str:
    """Return a reply up to where the model speaks for its tools."""
    return _INVENTED.sub("", text).strip()


def parse_turn(text: str, turn_format: TurnFormat) -> AgentTurn | None:
    """Return what a reply says, or None where it does not keep to the format."""
    return _parse_json(text) if turn_format == "json" else _parse_plain(text)


def spell_turn(turn: AgentTurn) -> str:
    """Return a turn in the plain format, whichever it was said in."""
    thought = [f"Thought: {turn.thought}"] if turn.thought else []
    act = f"Answer: {turn.input}" if turn.is_answer else f"Tool: {turn.tool}\nInput:\n{turn.input}"
    return "\n".join([*thought, act])


def turn_schema(tools: Sequence[str]) -> dict[str, Any]:
    """Return the JSON schema of a turn."""
    text = {"type": "string"}
    return {
        "type": "object",
        "properties": {"thought": text, "tool": {"type": "string", "enum": [*tools, ANSWER]}, "input": text},
        "required": ["thought", "tool", "input"],
        "additionalProperties": False,
    }


def describe_format(turn_format: TurnFormat) -> str:
    """Return how the model is told to speak."""
    if turn_format == "json":
        return 'Reply with one JSON object {"thought": ..., "tool": ..., "input": ...}; to end, the tool is "answer".'
    return (
        "Reply in this form, one tool a reply:\nThought: what you think\nTool: its name\nInput:\nwhat it gets\n\n"
        "To end, reply:\nThought: what you think\nAnswer: the answer"
    )


def _parse_plain(text: str) -> AgentTurn | None:
    call, final = _CALL.search(text), _FINAL.search(text)
    found = min((match for match in (call, final) if match), key=lambda match: match.start(), default=None)
    if found is None:
        return None
    thought = _THOUGHT.sub("", text[: found.start()]).strip()
    if found is final:
        return AgentTurn(thought=thought, tool=ANSWER, input=found.group(1).strip())
    name, given = found.groups()
    return None if name == ANSWER else AgentTurn(thought=thought, tool=name, input=_unfenced(given))


def _parse_json(text: str) -> AgentTurn | None:
    try:
        value = json.loads(_unfenced(text))
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or set(value) != {"thought", "tool", "input"}:
        return None
    if not all(isinstance(item, str) for item in value.values()):
        return None
    return AgentTurn(thought=value["thought"].strip(), tool=value["tool"], input=_unfenced(value["input"]))


def _unfenced(text: str) -> str:
    fenced = _FENCED.match(text)
    return (fenced.group(2) if fenced else text.removeprefix(" ")).strip("\n").rstrip()
