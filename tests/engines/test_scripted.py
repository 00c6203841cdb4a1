"""The scripted engine: same answers every time, and faults exactly where they are planned."""

import os
import signal
import subprocess
import sys

import pytest

from corpusmill.engines.inference import ChatRequest, Completion, EngineDeadError
from corpusmill.engines.scripted import Fault, ScriptedEngine, scripted_identity
from corpusmill.synthesize.sampling import Sampling


def ask(*contents: str) -> list[ChatRequest]:
    return [
        ChatRequest(request_id=f"r{number}", messages=[{"role": "user", "content": content}])
        for number, content in enumerate(contents)
    ]


def test_answers_come_back_in_asked_order_with_their_counts():
    completions = ScriptedEngine("toy_answers:shout").generate(ask("b c", "a"), Sampling(max_tokens=256))
    assert completions == [
        Completion(request_id="r0", answer="B C", finish_reason="stop", prompt_tokens=2, completion_tokens=2),
        Completion(request_id="r1", answer="A", finish_reason="stop", prompt_tokens=1, completion_tokens=1),
    ]


def test_what_cannot_be_answered_is_a_failure_of_that_request_alone():
    engine = ScriptedEngine("toy_answers:shout", max_words=4)
    completions = engine.generate(ask("a b c", "  ", "a"), Sampling(max_tokens=2))
    assert [(one.request_id, one.answer, one.failure) for one in completions] == [
        ("r0", None, "prompt_too_long"),
        ("r1", None, "empty_answer"),
        ("r2", "A", None),
    ]


def test_none_is_an_empty_answer():
    (completion,) = ScriptedEngine("toy_answers:silent").generate(ask("a"), Sampling(max_tokens=256))
    assert (completion.failure, completion.completion_tokens) == ("empty_answer", 0)


def test_a_long_answer_is_cut():
    (completion,) = ScriptedEngine("toy_answers:recite").generate(ask("a"), Sampling(max_tokens=2))
    assert (completion.answer, completion.finish_reason, completion.completion_tokens) == ("one two", "length", 2)


def test_the_identity_names_the_script_and_its_code():
    identity = scripted_identity("toy_answers:shout")
    assert identity == ScriptedEngine("toy_answers:shout").identity
    assert (identity.model, len(identity.revision)) == ("scripted:toy_answers:shout", 32)
    assert identity.revision != scripted_identity("toy_rules:anything").revision


@pytest.mark.parametrize(
    "script", ["toy_answers", "toy_answers:nothing", "no_such_module:f", "toy_answers:THREE_WORDS"]
)
def test_a_script_that_is_none_is_refused(script):
    with pytest.raises(ValueError, match=script.partition(":")[0]):
        ScriptedEngine(script)


def test_it_dies_where_planned_and_only_there():
    engine = ScriptedEngine("toy_answers:shout", faults=[Fault(before_request=3, kind="die")])
    assert len(engine.generate(ask("a", "b"), Sampling(max_tokens=256))) == 2
    with pytest.raises(EngineDeadError, match="before request 3"):
        engine.generate(ask("c", "d"), Sampling(max_tokens=256))
    assert engine.num_asked == 3


@pytest.fixture
def held(tmp_path):
    """A process whose engine holds before its second request, and the pipe that lets it go on."""
    arrived, go_on = tmp_path / "arrived", tmp_path / "go_on"
    os.mkfifo(arrived)
    os.mkfifo(go_on)
    process = subprocess.Popen(
        [sys.executable, "-m", "toy_answers", str(arrived), str(go_on)], stdout=subprocess.PIPE, text=True
    )
    assert arrived.read_bytes() == b""  # returns when the engine has arrived
    yield process, go_on
    process.kill()
    process.wait()
    process.stdout.close()


def test_it_holds_until_it_is_told_to_go_on(held):
    process, go_on = held
    assert process.poll() is None
    go_on.write_bytes(b"")
    assert process.communicate() == ("A B\n", None)


def test_it_can_be_killed_where_it_holds(held):
    process, _ = held
    process.send_signal(signal.SIGKILL)
    assert process.communicate() == ("", None)


def test_a_hold_needs_its_pipes():
    with pytest.raises(ValueError, match="arrived"):
        Fault(before_request=0, kind="hold")
