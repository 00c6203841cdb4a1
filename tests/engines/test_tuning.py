"""Settings of an engine: what is refused, and what vLLM is given."""

from pathlib import Path

import pytest

from corpusmill.engines import device
from corpusmill.engines.inference_service import InferenceSettings, engine_args
from corpusmill.engines.model import Model
from corpusmill.engines.tuning import UNTUNED, EngineTuning

MODEL = Model(path=Path("/nowhere/model"), name="m", revision="0" * 32, license="MIT", max_model_len=2048)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_num_seq": 8}, "unknown engine setting 'max_num_seq'; did you mean 'max_num_seqs'"),
        ({"max_num_seqs": 0}, "max_num_seqs must be a whole number of at least 1, got 0"),
        ({"max_num_seqs": True}, "max_num_seqs must be a whole number of at least 1, got True"),
        ({"enforce_eager": "yes"}, "enforce_eager must be true or false, got 'yes'"),
        ({"gpu_memory_utilization": 1.5}, "a share above 0 and at most 1, got 1.5"),
        ({"speculative": "draft"}, "speculative must be one of ngram, suffix, got 'draft'"),
        ({"speculative": "ngram"}, "needs speculative_tokens"),
        ({"speculative_tokens": 4}, "need speculative to be ngram or suffix, got none"),
        ({"speculative": "suffix", "ngram_max": 3}, "ngram_max belongs to speculative ngram"),
        ({"dtype": "float8"}, "dtype must be one of auto, bfloat16, float16, float32, got 'float8'"),
        ({"quantization": "int3"}, "quantization must be one of .*, got 'int3'"),
        ({"max_num_batched_tokens": 8, "max_num_seqs": 9}, "at least max_num_seqs: .*, got 8 and 9"),
    ],
)
def test_what_no_engine_could_take_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        EngineTuning.from_json(settings)


def test_vllm_is_given_what_is_set_and_nothing_else():
    assert EngineTuning().engine_args("cuda") == {}
    assert EngineTuning().engine_args("cpu") == {"enforce_eager": True}
    tuning = EngineTuning(
        max_num_seqs=8, enforce_eager=False, speculative="ngram", speculative_tokens=4, ngram_max=3, dtype="float16"
    )
    assert tuning.engine_args("cpu") == {
        "max_num_seqs": 8,
        "enforce_eager": False,
        "dtype": "float16",
        "speculative_config": {
            "method": "ngram",
            "num_speculative_tokens": 4,
            "prompt_lookup_max": 3,
            "prompt_lookup_min": 2,
        },
    }
    assert EngineTuning(speculative="suffix").engine_args("cuda") == {"speculative_config": {"method": "suffix"}}


def test_an_engine_without_tuning_is_as_before():
    arguments = engine_args(InferenceSettings(model=MODEL))
    assert (arguments["max_num_seqs"], arguments["dtype"], arguments["enforce_eager"]) == (64, "bfloat16", True)
    assert InferenceSettings(model=MODEL).tuning == UNTUNED


def test_settings_of_a_server_survive_json():
    settings = InferenceSettings(model=MODEL, tuning=EngineTuning(max_num_seqs=8, enable_prefix_caching=False))
    assert InferenceSettings.from_json(settings.to_json()) == settings


def test_without_chunked_prefill_a_prompt_must_fit_into_a_step():
    tuning = EngineTuning(enable_chunked_prefill=False, max_num_batched_tokens=1024)
    with pytest.raises(ValueError, match="at least the window of 2048 tokens, got 1024"):
        InferenceSettings(model=MODEL, tuning=tuning)


def test_a_label_names_what_is_set():
    assert EngineTuning(max_num_seqs=8, enforce_eager=False).label == "max_num_seqs=8, enforce_eager=false"
    assert EngineTuning().label == "the engine's defaults"
    assert EngineTuning(quantization="fp8").model_suffix == "+fp8" and EngineTuning().model_suffix == ""


def forget_the_processor():
    device._cpu_name.cache_clear()
    device._cpu_arithmetic.cache_clear()


def test_two_processors_of_one_name_are_two_devices_when_their_instructions_differ(tmp_path, monkeypatch):
    facts = tmp_path / "cpuinfo"
    monkeypatch.setattr(device, "CPU_FACTS", facts)
    names, computes = [], []
    for flags in ("fpu avx2 avx512f", "fpu avx2 avx512f avx512_bf16 amx_bf16"):
        facts.write_text(f"processor\t: 0\nmodel name\t: Some Processor\nflags\t\t: {flags}\n", encoding="utf-8")
        forget_the_processor()
        names.append(device.device_name("cpu", threads=2))
        computes.append(device.computes_bfloat16("cpu"))
    forget_the_processor()
    assert computes == [False, True]
    assert names == [
        "Some Processor avx512f avx2, 2 threads",
        "Some Processor amx_bf16 avx512_bf16 avx512f avx2, 2 threads",
    ]
