"""SGLang's server as an engine of trials: its arguments, and a stand-in for its program, started, asked, failing and killed."""

import json
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from corpusmill.engines.inference_service import InferenceSettings
from corpusmill.engines.model import Model
from corpusmill.engines.sglang_server import sglang_command, sglang_version, tuned_arguments
from corpusmill.engines.trials import SGLANG, Budget, run_trial
from corpusmill.engines.tuning import EngineTuning
from corpusmill.engines.worker_path import SOURCE_ROOT
from corpusmill.tune.trial import CRASH, OUT_OF_MEMORY, RUN_TIMEOUT, START_TIMEOUT, beginning
from tests.engines.test_trials import GENEROUS, group
from tests.engines.toys.waiting import wait_until
from tests.servers.chat_server import said_anew
from tests.servers.sglang_stand_in import arguments, environment

MODEL = Model(path=Path("/models/m"), name="m", revision="0" * 32, license="MIT", max_model_len=2048)
EVERYTHING = EngineTuning(
    max_num_batched_tokens=4096,
    max_num_seqs=64,
    gpu_memory_utilization=0.8,
    enable_prefix_caching=False,
    speculative="ngram",
    speculative_tokens=4,
    quantization="fp8",
    dtype="bfloat16",
    kv_cache_dtype="fp8",
    tensor_parallel_size=2,
    enforce_eager=True,
)


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> str:
    return environment(tmp_path_factory.mktemp("sglang"))


def service(python: str, max_num_seqs: int | None = None, **tuning) -> dict:
    settings = InferenceSettings(model=MODEL, tuning=EngineTuning(max_num_seqs=max_num_seqs, **tuning))
    return settings.to_json() | {"sglang_python": python}


def servers(python: str) -> list[psutil.Process]:
    """Return what runs of servers in the environment, with their children."""
    packages = f"PYTHONPATH={Path(python).parent / 'packages'}:"
    return [process for process in psutil.process_iter() if packages in _environment(process)]


def _environment(process: psutil.Process) -> str:
    try:
        return Path(f"/proc/{process.pid}/environ").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def test_every_setting_becomes_the_argument_of_the_same_meaning():
    given = sglang_command(InferenceSettings(model=MODEL, device="cuda", max_model_len=1024, tuning=EVERYTHING), "py")
    assert given[:3] == ["py", "-m", "sglang.launch_server"]
    assert " ".join(given[3:]) == (
        "--model-path /models/m --served-model-name m --context-length 1024 --device cuda --random-seed 0 "
        "--max-running-requests 64 --mem-fraction-static 0.8 --quantization fp8 --dtype bfloat16 --tensor-parallel-size 2 "
        "--chunked-prefill-size 4096 --max-prefill-tokens 4096 --kv-cache-dtype fp8_e4m3 "
        "--speculative-algorithm NGRAM --speculative-ngram-max-bfs-breadth 1 --speculative-num-draft-tokens 5 "
        "--disable-radix-cache --disable-prefill-cuda-graph --disable-decode-cuda-graph"
    )
    assert arguments(given[3:]).context_length == "1024"


@pytest.mark.parametrize(
    ("tuning", "words"),
    [
        (EngineTuning(), []),
        (EngineTuning(enable_prefix_caching=True, enable_chunked_prefill=True, enforce_eager=False), []),
        (EngineTuning(enable_chunked_prefill=False), ["--chunked-prefill-size", "-1"]),
    ],
)
def test_what_is_its_own_way_anyway_needs_no_argument(tuning, words):
    assert tuned_arguments(tuning) == words


@pytest.mark.parametrize(
    ("tuning", "lacking"),
    [
        ({"speculative": "suffix"}, "speculative=suffix"),
        ({"speculative": "ngram", "speculative_tokens": 4, "ngram_max": 3}, "ngram_max=3"),
        ({"quantization": "torchao", "kv_cache_dtype": "float16"}, "quantization=torchao and kv_cache_dtype=float16"),
    ],
)
def test_what_it_has_no_counterpart_for_is_refused(tuning, lacking):
    with pytest.raises(ValueError, match=f"SGLang has no counterpart of {lacking}; leave"):
        tuned_arguments(EngineTuning(**tuning))


def test_the_environment_is_asked_for_its_version(python, tmp_path):
    assert sglang_version(python) == "0.5.23"
    with pytest.raises(ValueError, match=r"sglang_python must name the Python of an environment with SGLang"):
        sglang_version("")
    with pytest.raises(ValueError, match="nowhere/python cannot be run: No such file"):
        sglang_version("/nowhere/python")
    with pytest.raises(ValueError, match="has no SGLang: install it there"):
        sglang_version(sys.executable)


def test_a_server_is_started_asked_and_ended(python):
    groups = [group("One. Two.", "Three."), group("Four.", temperature=0.7)]
    found = run_trial(SGLANG, service(python), groups, budget=GENEROUS)
    assert "failure" not in found, found
    assert (found["answered"], found["prompt_tokens"], found["seconds"] > 0) == (3, 4, True)
    assert found["beginnings"] == [beginning(said_anew("One. Two.")), beginning(said_anew("Three.")), ""]
    wait_until(lambda: not servers(python))  # what was killed takes a moment to be gone


@pytest.mark.parametrize(
    ("max_num_seqs", "budget", "failure", "message"),
    [
        (1, GENEROUS, OUT_OF_MEMORY, "exit code 1: RuntimeError: Not enough memory. Please"),
        (2, GENEROUS, CRASH, "exit code 1: NotImplementedError: no such model"),
        (3, GENEROUS, CRASH, "exit code 1: ValueError: no such kernel"),
        (4, Budget(start_seconds=2, run_seconds=120), START_TIMEOUT, "not ready within 2 s"),
        (5, Budget(start_seconds=120, run_seconds=0.5), RUN_TIMEOUT, "not done within 0 s"),
    ],
)
def test_how_a_server_fails_is_a_result_and_nothing_of_it_is_left(python, max_num_seqs, budget, failure, message):
    found = run_trial(SGLANG, service(python, max_num_seqs), [group("a", "b")], budget=budget)
    assert (found["failure"], found["message"][: len(message)]) == (failure, message)
    wait_until(lambda: not servers(python))  # what was killed takes a moment to be gone


def test_a_candidate_without_a_counterpart_is_a_failed_trial_that_starts_nothing(python):
    found = run_trial(SGLANG, service(python, speculative="suffix"), [group("a")], budget=GENEROUS)
    assert found["failure"] == CRASH
    assert "SGLang has no counterpart of speculative=suffix" in found["message"]


def test_a_server_ends_with_who_started_its_trial(python):
    order = json.dumps(service(python, 4))
    script = (
        "import json, sys\nfrom tests.engines.test_trials import GENEROUS, group\n"
        "from corpusmill.engines.trials import SGLANG, run_trial\n"
        "run_trial(SGLANG, json.loads(sys.argv[1]), [group('a')], budget=GENEROUS)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", script, order], cwd=SOURCE_ROOT)
    wait_until(lambda: len(servers(python)) == 2)  # with its child
    parent.kill()
    parent.wait()
    wait_until(lambda: not servers(python))
