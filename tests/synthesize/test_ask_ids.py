"""An ask is named by all that decides its answer, each part alone, and by nothing else."""

from dataclasses import replace

import pytest

from corpusmill.synthesize.ask_ids import ask_id, tool_versions
from corpusmill.synthesize.sampling import Sampling
from tests.synthesize.programs import TOOLS, Adder, question, tool_call

SCHEMA = {"type": "object", "properties": {"title": {"type": "string"}}}
ASKED = question("Write.", system="You write.")
CALLED = tool_call("1", "2")


def name(ask=ASKED, *, model="small", revision="r1", tools=TOOLS):
    return ask_id(ask, model=model, revision=revision, tools=tools)


def sampled(**changes):
    return replace(ASKED, sampling=Sampling(**{"max_tokens": 64, **changes}))


MOVED = {
    "model": lambda: name(model="other"),
    "revision (weights, tokenizer, chat template)": lambda: name(revision="r2"),
    "prompt text": lambda: name(question("Write!", system="You write.")),
    "system prompt": lambda: name(question("Write.", system="You sing.")),
    "role of a message": lambda: name(replace(ASKED, messages=(*ASKED.messages[:1], {**ASKED.messages[1], "role": "assistant"}))),
    "an earlier turn": lambda: name(replace(ASKED, messages=(*ASKED.messages, *question("More.").messages))),
    "temperature": lambda: name(sampled(temperature=0.1)),
    "max_tokens": lambda: name(sampled(max_tokens=65)),
    "top_p": lambda: name(sampled(top_p=0.9)),
    "stop": lambda: name(sampled(stop=("\n",))),
    "repetition_penalty": lambda: name(sampled(repetition_penalty=1.1)),
    "schema": lambda: name(replace(ASKED, schema=SCHEMA)),
    "another schema": lambda: name(replace(ASKED, schema={**SCHEMA, "required": ["title"]})),
}  # fmt: skip


def test_case_17_each_part_of_a_question_moves_its_id():
    moved = {part: move() for part, move in MOVED.items()}
    assert [part for part, moved_id in moved.items() if moved_id == name()] == []
    assert len(set(moved.values())) == len(MOVED)


CALLS = {
    "arguments": lambda: name(tool_call("1", "3")),
    "tool version": lambda: name(CALLED, tools={"add": Adder(version="2")}),
    "tool": lambda: name(replace(CALLED, tool="sum"), tools={"sum": Adder()}),
}


@pytest.mark.parametrize("move", CALLS.values(), ids=CALLS)
def test_case_17_each_part_of_a_tool_call_moves_its_id(move):
    assert move() != name(CALLED)


def test_case_17_and_nothing_else_does():
    assert name(replace(ASKED, step="other")) == name()
    assert name(replace(ASKED, bears=frozenset({"prompt_too_long"}))) == name()
    assert name(ASKED, tools={}) == name()
    assert name(replace(CALLED, step="other"), model="other", revision="r9") == name(CALLED)
    assert name(replace(ASKED, schema=dict(reversed(SCHEMA.items())))) == name(replace(ASKED, schema=SCHEMA))


def test_ids_are_those_of_the_first_release():
    """Lakes hold answers under these names: a change of the spelling would ask everything again."""
    assert name() == "1e7b2c68ac39e6c7c7ab61731dfdc4ab"


def test_a_tool_that_is_not_there_is_refused_with_what_there_is():
    with pytest.raises(ValueError, match="no tool 'search' to call; there are: add"):
        name(replace(CALLED, tool="search"))
    with pytest.raises(ValueError, match="no tool 'python' to call; there are: none"):
        tool_versions(("python",), {})
