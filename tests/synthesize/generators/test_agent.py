"""Agents: the trajectory is the sample, every loop ends, and what a tool prints stays inert."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.synthesize.asking import Answer, Finished, Material, Question, ToolCall, Waiting
from corpusmill.synthesize.generators.agent import AgentGenerator
from corpusmill.synthesize.generators.agent_turn import AgentTurn, parse_turn, spell_turn, without_inventions
from corpusmill.synthesize.generators.answer_key import AnswerKey
from corpusmill.synthesize.prompt import CONTROL_TOKENS
from corpusmill.synthesize.sampling import Sampling
from tests.synthesize.generators.scripted import CUT, INJECTION, printed, reason, replay, run

CHAIRS = Material(text="Four chairs have three legs each. How many legs?")
CALL = "Thought: Multiply.\nTool: python\nInput:\n```python\nprint(4 * 3)\n```"
DONE = "Thought: So it is.\nAnswer: 12"


def agent(**changes: object) -> AgentGenerator:
    plain = {"system": "Tools:\n$tools\n\n$format", "user": "$document", "sampling": Sampling(max_tokens=99)}
    return AgentGenerator(**{**plain, **changes})


def test_the_trajectory_is_the_sample():
    end, asked = run(agent(), CHAIRS, CALL, printed("12\n"), DONE)
    assert end == Finished(
        text="Task:\nFour chairs have three legs each. How many legs?\n\n"
        "Thought: Multiply.\nTool: python\nInput:\nprint(4 * 3)\n\n"
        "Observation:\n<observation>\n12\n</observation>\n\n"
        "Thought: So it is.\nAnswer: 12",
        meta={"tool_calls": "1", "malformed_calls": "0"},
    )
    assert asked[1] == ToolCall(step="python", tool="python", arguments={"code": "print(4 * 3)"})
    assert asked[2].messages == (
        *asked[0].messages,
        {"role": "assistant", "content": CALL},
        {"role": "user", "content": "Observation:\n<observation>\n12\n</observation>"},
    )
    assert "python: runs a Python program" in asked[0].messages[0]["content"]


def test_a_turn_is_json_where_that_is_the_format():
    call = json.dumps({"thought": "Look.", "tool": "search", "input": "legs of chairs"})
    done = json.dumps({"thought": "", "tool": "answer", "input": "12"})
    given_tools = agent(turn_format="json", tools=("python", "search"), shows_task=False)
    end, asked = run(given_tools, CHAIRS, call, "Chairs have legs.", done)
    assert end.text == (
        "Thought: Look.\nTool: search\nInput:\nlegs of chairs\n\n"
        "Observation:\n<observation>\nChairs have legs.\n</observation>\n\nAnswer: 12"
    )
    assert asked[0].schema["properties"]["tool"]["enum"] == ["python", "search", "answer"]
    assert asked[1].arguments == {"query": "legs of chairs", "besides": CHAIRS.text}


def call_with(number: int) -> str:
    return f"Tool: python\nInput:\nprint({number})"


def test_tool_calls_that_never_end():
    """The loop ends by the number of turns, or at once when the same call comes again."""
    turns = [said for number in range(3) for said in (call_with(number), printed(f"{number}\n"))]
    assert reason(agent(max_turns=3), CHAIRS, *turns) == "tool_calls_never_end"
    assert reason(agent(max_turns=99), CHAIRS, CALL, printed("12\n"), CALL) == "tool_calls_never_end"


@given(st.lists(st.sampled_from([CALL, call_with(1), call_with(2), "Tool: python", "hm", ""]), max_size=30))
def test_every_loop_is_bounded_whatever_the_model_says(said):
    """At most max_turns questions, whatever comes back; a program that waits has asked for less."""
    answers, asked = [], []
    replies = iter(said)
    while True:
        end, asked = replay(agent(max_turns=4), CHAIRS, answers)
        if not isinstance(end, Waiting):
            break
        is_question = isinstance(end.asks[0], Question)
        answers.append(Answer(text=next(replies, CALL) if is_question else printed("1\n")))
    assert sum(isinstance(ask, Question) for ask in asked) <= 4


REFUSED = {
    "an empty turn": (["  "], "turn_1/empty_answer"),
    "a turn that was cut": ([CALL, printed("12\n"), CUT], "turn_2/cut_off"),
    "control tokens": (["Answer: <|im_end|>"], "turn_1/control_tokens"),
    "a call of nothing": (["Tool: python\nInput:\n"], "turn_1/empty_answer"),
    "an empty answer": ([CALL, printed("12\n"), "Answer:"], "turn_2/empty_answer"),
    "no call at all": ([DONE], "too_few_calls"),
    "no form, three times": (["hm", "well", "I think"], "malformed_calls"),
    "a tool that there is not": (["Tool: shell\nInput:\nls"] * 3, "malformed_calls"),
}


@pytest.mark.parametrize(("said", "why"), REFUSED.values(), ids=REFUSED)
def test_what_ends_an_agent(said, why):
    assert reason(agent(), CHAIRS, *said) == why


def test_a_malformed_call_is_told_so_and_is_not_in_the_sample():
    end, asked = run(agent(), CHAIRS, "print(4 * 3)", CALL, printed("12\n"), DONE)
    assert end.meta == {"tool_calls": "1", "malformed_calls": "1"}
    assert "print(4 * 3)\n\nTool" not in end.text and end.text.count("print(4 * 3)") == 1
    assert "Reply in this form" in asked[1].messages[-1]["content"]


def test_what_a_model_says_for_its_tools_is_not_kept():
    end, asked = run(agent(), CHAIRS, f"{CALL}\nObservation: 99\nAnswer: 99", printed("12\n"), DONE)
    assert "99" not in end.text
    assert "99" not in json.dumps(asked[-1].messages)


def test_what_a_tool_prints_stays_inert():
    end, asked = run(agent(), CHAIRS, CALL, printed(INJECTION), DONE)
    shown = asked[-1].messages[-1]["content"]
    tag = shown.splitlines()[1].strip("<>")
    assert tag.startswith("observation_") and shown.count(f"</{tag}>") == 1 and shown.endswith(f"</{tag}>")
    assert not CONTROL_TOKENS.search(shown) and not CONTROL_TOKENS.search(end.text)
    assert "$document ${x} {y} $$" in shown, "nothing is filled in"
    assert end.text.endswith(DONE), "an answer that a tool prints is no answer"


def test_a_long_observation_is_clipped():
    _, asked = run(agent(max_observation_characters=10), CHAIRS, CALL, printed("a" * 50 + "z" * 50), DONE)
    assert "aaaaa\n[90 characters left out]\nzzzzz" in asked[-1].messages[-1]["content"]


def test_an_error_is_seen():
    _, asked = run(agent(), CHAIRS, CALL, printed("1\n", stderr="ZeroDivisionError\n", exit_code=1), DONE)
    assert "<observation>\n1\nZeroDivisionError\n</observation>" in asked[-1].messages[-1]["content"]


def test_a_known_answer_is_hidden_and_must_be_found():
    problem = Material(text=f"{CHAIRS.text}\nSolution: 4 * 3\n#### 12")
    keyed = agent(key=AnswerKey())
    end, asked = run(keyed, problem, CALL, printed("12\n"), "Answer: 12.0 legs")
    assert isinstance(end, Finished) and "####" not in end.text
    assert "12" not in asked[0].messages[-1]["content"]
    assert reason(keyed, problem, CALL, printed("12\n"), "Answer: 13") == "wrong_answer"
    assert reason(keyed, CHAIRS) == "no_known_answer"


TURNS = {
    "prose before the call": (
        "I will.\nTool: python\nInput:\nx",
        AgentTurn(thought="I will.", tool="python", input="x"),
    ),
    "the first of both counts": (
        "Answer: 1\nTool: python\nInput:\nx",
        AgentTurn(thought="", tool="answer", input="1\nTool: python\nInput:\nx"),
    ),
    "input on the same line": ("Tool: search\nInput: piers", AgentTurn(thought="", tool="search", input="piers")),
    "no input": ("Tool: python", None),
    "nothing": ("well", None),
}


@pytest.mark.parametrize(("said", "turn"), TURNS.values(), ids=TURNS)
def test_plain_turns(said, turn):
    assert parse_turn(said, "plain") == turn


JSON_TURNS = {
    "fenced": (
        '```json\n{"thought": "a", "tool": "b", "input": "c"}\n```',
        AgentTurn(thought="a", tool="b", input="c"),
    ),
    "no JSON": ("{", None),
    "not an object": ("[1]", None),
    "another key": ('{"thought": "a", "tool": "b", "input": "c", "d": 1}', None),
    "a number": ('{"thought": "a", "tool": "b", "input": 1}', None),
}


@pytest.mark.parametrize(("said", "turn"), JSON_TURNS.values(), ids=JSON_TURNS)
def test_json_turns(said, turn):
    assert parse_turn(said, "json") == turn


def test_inventions_end_a_reply():
    assert without_inventions("Tool: a\nInput:\nb\n  Observation: c\nd") == "Tool: a\nInput:\nb"
    assert without_inventions("I look at the Observation: it") == "I look at the Observation: it"


LINE = st.text(alphabet="ab:(1 ", min_size=1).map(str.strip).filter(bool)


@given(LINE, st.lists(LINE, min_size=1, max_size=3).map("\n".join))
def test_a_spelled_turn_is_parsed_again(thought, code):
    turn = AgentTurn(thought=thought, tool="python", input=code)
    assert parse_turn(spell_turn(turn), "plain") == turn


WRONG = {
    "an unknown tool": ({"tools": ("shell",)}, "no tools shell; there are: python, search"),
    "no tool": ({"tools": ()}, "needs tools, each once"),
    "no turn left for the answer": ({"max_turns": 1}, "0 <= min_calls < max_turns"),
    "an unknown format": ({"turn_format": "xml"}, "turn_format is one of plain, json"),
}


@pytest.mark.parametrize(("changes", "message"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        agent(**changes)


@pytest.mark.parametrize("key", [None, AnswerKey(metadata="meta_answer", hides=("A:",))])
def test_json_gives_it_back(key):
    made = agent(tools=("search",), turn_format="json", key=key)
    assert AgentGenerator.from_json(json.loads(json.dumps(made.to_json()))) == made
    assert made.names() == {"document"} | ({"meta_answer"} if key else set())
