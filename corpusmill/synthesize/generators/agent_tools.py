"""The tools that agents know: what the model is told of each, the call that its input becomes, and what it is shown.

Running them is not done here: a program only yields the call.
"""

from collections.abc import Sequence

from corpusmill.synthesize.asking import Answer, Material, ToolCall
from corpusmill.synthesize.generators.agent_turn import AgentTurn
from corpusmill.synthesize.generators.python_tool import PYTHON, python_call, python_run

SEARCH = "search"

AGENT_TOOLS = {
    PYTHON: "runs a Python program and gives what it prints; it has the standard library and no network",
    SEARCH: "gives the passages of the corpus that have most of the words in the input",
}
"""Name to what the model is told."""
_BESIDES_CHARACTERS = 2_000


def describe_tools(names: Sequence[str]) -> str:
    """Return one line a tool, for a prompt."""
    return "\n".join(f"{name}: {AGENT_TOOLS[name]}" for name in names)


def tool_call(turn: AgentTurn, task: Material) -> ToolCall:
    """Return the call of a turn. A search leaves out what repeats the task: its document would give the answer away."""
    if turn.tool == PYTHON:
        return python_call(PYTHON, turn.input)
    arguments = {"query": turn.input, "besides": task.text[:_BESIDES_CHARACTERS]}
    return ToolCall(step=SEARCH, tool=SEARCH, arguments=arguments)


def observation(turn: AgentTurn, told: Answer) -> str:
    """Return what the model is shown of a tool's answer."""
    return python_run(told).shown if turn.tool == PYTHON else told.text
