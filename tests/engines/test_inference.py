"""What may be asked, and what an inference server accepts as settings."""

import json
from pathlib import Path

import pytest

from corpusmill.engines.inference import ChatRequest, completion_from_answer
from corpusmill.engines.inference_service import InferenceSettings, serve
from corpusmill.engines.model import Model
from corpusmill.engines.service import EngineStartError
from corpusmill.synthesize.sampling import Sampling

MODEL = Model(path=Path("/nowhere/model"), name="m", revision="0" * 32, license="MIT", max_model_len=100)


def test_sampling_survives_json():
    sampling = Sampling(max_tokens=7, temperature=0.5, stop=["\n", "END"])
    assert Sampling.from_json(sampling.to_json()) == sampling
    assert sampling.to_json() == {
        "max_tokens": 7,
        "temperature": 0.5,
        "top_p": 1.0,
        "repetition_penalty": 1.0,
        "stop": ["\n", "END"],
    }


@pytest.mark.parametrize(
    "wrong", [{"max_tokens": 0}, {"temperature": -1.0}, {"top_p": 0.0}, {"top_p": 1.5}, {"repetition_penalty": 0.0}]
)
def test_impossible_sampling_is_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Sampling(**{"max_tokens": 8, **wrong})


def test_a_request_survives_json_with_its_schema():
    request = ChatRequest(request_id="a", messages=[{"role": "user", "content": "x"}], schema={"type": "object"})
    assert ChatRequest(**json.loads(json.dumps(request.to_json()))) == request


@pytest.mark.parametrize(
    "messages",
    [[], [{"role": "user"}], [{"role": "robot", "content": "x"}], [{"role": "user", "content": "x", "n": 1}]],
)
def test_a_request_must_be_a_chat(messages):
    with pytest.raises(ValueError, match="request r1"):
        ChatRequest(request_id="r1", messages=messages)


@pytest.mark.parametrize(
    ("answer", "failure"), [("a", None), (" a ", None), ("", "empty_answer"), (" \n", "empty_answer")]
)
def test_white_space_is_no_answer(answer, failure):
    completion = completion_from_answer("r1", answer, prompt_tokens=3)
    assert (completion.failure, completion.answer) == (failure, None if failure else answer)


def test_settings_survive_json():
    settings = InferenceSettings(model=MODEL, num_engines=2, max_model_len=50)
    assert InferenceSettings.from_json(settings.to_json()) == settings


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"device": "tpu"}, "cpu or cuda, got 'tpu'"),
        ({"num_engines": 0}, "num_engines"),
        ({"startup_seconds": 0}, "startup_seconds"),
        ({"max_restarts": -1}, "max_restarts"),
        ({"max_model_len": 101}, "at most the window of m, 100, got 101"),
    ],
)
def test_impossible_settings_are_refused(wrong, told):
    with pytest.raises(ValueError, match=told):
        InferenceSettings(model=MODEL, **wrong)


def test_a_model_that_is_gone_is_named(tmp_path):
    with pytest.raises(EngineStartError, match="/nowhere/model is not there"):
        serve(InferenceSettings(model=MODEL).to_json(), tmp_path)
