"""Programs whose asks or texts no table could hold, and functions that raise: each ends alone."""

import json

import pytest

from corpusmill.engines.inference import Completion, completion_from_answer
from corpusmill.synthesize.asking import Answer, Finished, GivenUp, Material, Program, Question, ToolCall, advance
from corpusmill.synthesize.generators.agent import AgentGenerator
from corpusmill.synthesize.generators.function import FunctionGenerator
from corpusmill.synthesize.sampling import Sampling

SAMPLING = Sampling(max_tokens=8)
HALF = json.loads('"half of an emoji: \\ud83d"')
"""Well-formed JSON, and no Unicode."""


def asking(content: str) -> Program:
    [answer] = yield [Question(step="s", messages=({"role": "user", "content": content},), sampling=SAMPLING)]
    return Finished(text=answer.text)


def calling(code: str) -> Program:
    yield [ToolCall(step="s", tool="python", arguments={"code": code})]
    return Finished(text="")


def telling(text: str, **meta: str) -> Program:
    yield from ()
    return Finished(text=text, meta=meta)


@pytest.mark.parametrize("program", [asking(HALF), calling(HALF), telling(HALF), telling("good", key=HALF)])
def test_half_of_a_surrogate_pair_ends_its_program_alone(program):
    assert advance(program, lambda ask: None) == GivenUp(reason="not_unicode")


@pytest.mark.parametrize("said", ["[" * 100_000, '{"thought": "", "tool": "python", "input": "print(\'\\ud83d\')"}'])
def test_what_an_agent_spells_in_json_ends_at_most_its_own_program(said):
    agent = AgentGenerator(system="$tools $format", user="$document", sampling=SAMPLING, turn_format="json")
    end = advance(agent.program(Material(text="Add 1 and 2.")), lambda ask: Answer(text=said))
    assert isinstance(end, GivenUp)


def test_an_answer_that_is_no_unicode_is_a_failure_of_any_engine():
    assert completion_from_answer("r", HALF) == Completion(request_id="r", failure="broken_answer")


def test_a_text_at_which_a_plain_function_raises_is_rejected_and_no_other():
    function = FunctionGenerator(function="tests.synthesize.toy_functions:fragile")
    ends = [advance(function.program(Material(text=text)), lambda ask: None) for text in ("raise", "count", "good")]
    assert ends == [
        GivenUp(reason="function/raised_ZeroDivisionError"),
        GivenUp(reason="function/no_text"),
        Finished(text="good"),
    ]
