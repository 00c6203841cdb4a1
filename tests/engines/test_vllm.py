"""A leased inference server with two vLLM engines on the CPU, and what happens to work when one of them dies."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import pytest

from corpusmill.engines.engine_folder import EngineFolder, HostRecord
from corpusmill.engines.inference import ChatRequest, EngineDeadError
from corpusmill.engines.inference_service import InferenceSettings
from corpusmill.engines.lease import lease
from corpusmill.engines.model import Model, prepare_model
from corpusmill.engines.processes import end_host_processes, host_processes
from corpusmill.engines.ray_vllm import RayVllmEngine
from corpusmill.engines.service import EngineSettings, EngineStartError
from corpusmill.engines.trials import VLLM, Budget, run_trial
from corpusmill.synthesize.sampling import Sampling

pytestmark = [pytest.mark.vllm, pytest.mark.ray, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
WINDOW = 512
SHORT = Sampling(max_tokens=8)


def ask(*contents: str) -> list[ChatRequest]:
    return [
        ChatRequest(request_id=f"r{number}", messages=[{"role": "user", "content": content}])
        for number, content in enumerate(contents)
    ]


def wait_until(condition, *, seconds: float = 120) -> None:
    """Wait until the condition holds; it is another process that makes it true."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come true in time"
        time.sleep(0.1)


def settings(model: Model, **rest) -> EngineSettings:
    service = InferenceSettings(model=model, max_model_len=WINDOW, kv_cache_gib=0.25, threads_per_engine=1, **rest)
    return EngineSettings(service=service.to_json(), startup_seconds=500, linger_seconds=0)


@pytest.fixture(scope="module")
def model(request) -> Model:
    return prepare_model(Path(request.config.cache.mkdir("model")))


class Server(NamedTuple):
    """A running server."""

    endpoint: dict[str, Any]
    record: HostRecord


@pytest.fixture(scope="module")
def server(model, tmp_path_factory) -> Iterator[Server]:
    """A server with two engines; when its lease is gone, none of its processes may be left."""
    state = tmp_path_factory.mktemp("state")
    with lease("inference", settings(model, num_engines=2, startup_seconds=480), state_folder=state) as endpoint:
        (folder,) = state.glob("engines/*")
        record = EngineFolder(folder).record()
        assert record is not None
        assert len(host_processes(record.host_id, record.process)) >= 4
        yield Server(endpoint, record)
    wait_until(lambda: not record.process.is_running() and not host_processes(record.host_id, record.process))


@pytest.fixture
def engine(server) -> Iterator[RayVllmEngine]:
    engine = RayVllmEngine(server.endpoint)
    yield engine
    engine.close()


def test_answers_come_back_in_asked_order(engine, model):
    questions = [f"What is {number} plus {number}?" for number in range(6)]
    completions = engine.generate(ask(*questions), SHORT)
    assert [completion.request_id for completion in completions] == [f"r{number}" for number in range(6)]
    for completion in completions:
        assert completion.failure is None and completion.answer.strip()
        assert 0 < completion.completion_tokens <= 8 and completion.prompt_tokens > 20
        assert completion.finish_reason in ("stop", "length")
    assert (engine.identity.model, engine.identity.revision) == (model.name, model.revision)
    assert engine.identity.name.startswith("vllm ") and engine.identity.name.endswith(" cpu bfloat16")


def test_case_15_prompts_that_cannot_be_asked_fail_alone(engine):
    long, broken = "word " * WINDOW, "a \ud800 b"
    completions = engine.generate(ask("Say hello.", long, "Say goodbye.", broken), SHORT)
    assert [completion.failure for completion in completions] == [None, "prompt_too_long", None, "request_refused"]
    assert completions[1].answer is None and completions[1].prompt_tokens > WINDOW


def test_a_prompt_and_its_answer_share_the_window(engine):
    (fits, does_not) = (engine.generate(ask("Hi."), Sampling(max_tokens=tokens, stop=["e"])) for tokens in (400, 500))
    assert (fits[0].failure, does_not[0].failure) == (None, "prompt_too_long")


def test_an_answer_follows_its_schema_and_a_schema_that_cannot_be_fails_alone(engine):
    mood = {"type": "object", "properties": {"mood": {"enum": ["glad", "sad"]}}, "required": ["mood"]}
    schemas = [mood, {"type": "no such type"}, None]
    asked = [replace(one, schema=schema) for one, schema in zip(ask(*["How are you?"] * 3), schemas, strict=True)]
    first, second, third = engine.generate(asked, Sampling(max_tokens=32))
    assert json.loads(first.answer)["mood"] in ("glad", "sad")
    assert second.failure == "request_refused"
    assert third.answer and not third.answer.startswith("{")


def test_no_requests_need_no_engine(engine):
    assert engine.generate([], SHORT) == []


def test_threads_that_share_a_client_ask_at_once(engine):
    asked = [ask(*[f"Count to {start + number}." for number in range(3)]) for start in (1, 5, 9)]
    with ThreadPoolExecutor(max_workers=3) as pool:
        told = list(pool.map(lambda requests: engine.generate(requests, SHORT), asked))
    for requests, completions in zip(asked, told, strict=True):
        assert [one.request_id for one in completions] == [one.request_id for one in requests]
        assert all(completion.answer for completion in completions)


def test_two_processes_ask_at_once(server, engine):
    script = (
        "import json, sys\n"
        "from corpusmill.engines.inference import ChatRequest\n"
        "from corpusmill.synthesize.sampling import Sampling\n"
        "from corpusmill.engines.ray_vllm import RayVllmEngine\n"
        "engine = RayVllmEngine(json.loads(sys.argv[1]))\n"
        "asked = [ChatRequest(request_id=str(n), messages=[{'role': 'user', 'content': f'Count to {n}.'}]) for n in range(4)]\n"
        "print(*(one.request_id for one in engine.generate(asked, Sampling(max_tokens=4)) if one.answer))\n"
        "engine.close()\n"
    )
    command = [sys.executable, "-c", script, json.dumps(server.endpoint)]
    other = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert all(completion.answer for completion in engine.generate(ask("Hi.", "Hello."), SHORT))
    assert other.communicate()[0] == "0 1 2 3\n"


def generate_and_meanwhile(engine: RayVllmEngine, requests: list[ChatRequest], meanwhile) -> list:
    """Return the completions of `requests`; `meanwhile` runs once both engines work on them."""
    found: list = []
    worker = threading.Thread(target=lambda: found.extend(engine.generate(requests, Sampling(max_tokens=24))))
    worker.start()
    meanwhile()
    worker.join()
    return found


def test_case_14_a_killed_engine_costs_no_request_and_comes_back(engine):
    before = engine.pids()
    victim = psutil.Process(before["engine-0"])
    idle = victim.cpu_times().user

    def kill_one() -> None:
        wait_until(lambda: victim.cpu_times().user > idle + 0.5)
        victim.kill()

    questions = [f"Tell a story about {number} birds." for number in range(24)]
    completions = generate_and_meanwhile(engine, ask(*questions), kill_one)
    assert [completion.request_id for completion in completions] == [f"r{number}" for number in range(24)]
    assert all(completion.answer for completion in completions)
    after = engine.pids()
    assert after["engine-0"] != before["engine-0"] and after["engine-1"] == before["engine-1"]


def test_what_a_client_that_left_had_asked_is_thrown_out(server, engine):
    workers = [psutil.Process(pid) for pid in engine.pids().values()]
    other, idle = RayVllmEngine(server.endpoint), seconds_worked(workers)
    with ThreadPoolExecutor(max_workers=1) as pool:
        asking = pool.submit(other.generate, ask(*["Tell a long story."] * 64), Sampling(max_tokens=400))
        wait_until(lambda: seconds_worked(workers) > idle + 0.5)
        other.close()
        with pytest.raises(EngineDeadError):
            asking.result()
    wait_until(lambda: not any(is_working(worker) for worker in workers), seconds=60)


def test_a_killed_driver_ends_the_call_and_is_started_again(server, engine):
    (driver,) = drivers(server)
    workers = [psutil.Process(pid) for pid in engine.pids().values()]
    idle = seconds_worked(workers)

    def kill_driver() -> None:
        wait_until(lambda: seconds_worked(workers) > idle + 0.5)
        driver.kill()

    with ThreadPoolExecutor(max_workers=1) as pool:
        killing = pool.submit(kill_driver)
        with pytest.raises(EngineDeadError, match="run again to go on"):
            engine.generate(ask(*["Tell a long story."] * 8), Sampling(max_tokens=200))
        killing.result()
    assert all(completion.answer for completion in engine.generate(ask("Hi."), SHORT))
    assert drivers(server) != [driver]


def drivers(server: Server) -> list[psutil.Process]:
    """Return the processes of the server that talk to Ray for its clients."""
    found = host_processes(server.record.host_id, server.record.process)
    return [process for process in found if "corpusmill.engines.ray_vllm_driver" in process.cmdline()]


def is_working(process: psutil.Process) -> bool:
    before = process.cpu_times().user
    time.sleep(1)
    return process.cpu_times().user > before + 0.3


def test_case_16_an_engine_that_stands_still_is_restarted(server):
    engine = RayVllmEngine(server.endpoint, no_progress_seconds=20)
    before = engine.pids()
    os.kill(before["engine-1"], signal.SIGSTOP)
    completions = engine.generate(ask(*[f"Count to {number}." for number in range(8)]), SHORT)
    assert all(completion.answer for completion in completions)
    assert engine.pids()["engine-1"] != before["engine-1"]
    engine.close()


def test_a_trial_of_settings_measures_a_real_engine(model):
    mood = {"type": "object", "properties": {"mood": {"enum": ["glad", "sad"]}}, "required": ["mood"]}
    asked = [request.to_json() for request in (*ask("Say hello."), replace(ask("How are you?")[0], schema=mood))]
    group = {"sampling": Sampling(max_tokens=32).to_json(), "requests": asked}
    service = InferenceSettings(model=model, max_model_len=WINDOW, kv_cache_gib=0.25, threads_per_engine=1)
    found = run_trial(VLLM, service.to_json(), [group], budget=Budget(start_seconds=480, run_seconds=240))
    assert "failure" not in found, found["message"]
    assert found["answered"] == 2 and 0 < found["output_tokens"] <= 64 and all(found["beginnings"])


def test_case_16_an_engine_that_cannot_start_says_so(model, tmp_path):
    broken = tmp_path / "broken"
    shutil.copytree(model.path, broken)
    os.truncate(broken / "model.safetensors", 100_000_000)
    wrong = Model(path=broken, name="broken", revision="0" * 32, license="MIT", max_model_len=8192)
    with (
        pytest.raises(EngineStartError, match=r"an engine could not start: .*incomplete"),
        lease("inference", settings(wrong), state_folder=tmp_path / "state"),
    ):
        pass


def test_case_16_a_start_that_takes_too_long_is_ended(model, tmp_path):
    with (
        pytest.raises(EngineStartError, match="engine-0 did not answer within 1 s"),
        lease("inference", settings(model, startup_seconds=1), state_folder=tmp_path / "state"),
    ):
        pass


def test_a_server_that_is_gone_ends_the_call_and_not_the_process(server):
    """The last test of the module: the server's host is killed -9 with a call in flight, and nothing of it stays."""
    engine = RayVllmEngine(server.endpoint)
    workers = [psutil.Process(pid) for pid in engine.pids().values()]
    idle = seconds_worked(workers)

    def kill_host() -> None:
        wait_until(lambda: seconds_worked(workers) > idle + 0.5)
        os.kill(server.record.process.pid, signal.SIGKILL)

    killer = threading.Thread(target=kill_host)
    killer.start()
    with pytest.raises(EngineDeadError, match="run again to go on"):
        engine.generate(ask(*["Tell a long story."] * 32), Sampling(max_tokens=300))
    killer.join()
    engine.close()
    end_host_processes(server.record.host_id, server.record.process)
    assert host_processes(server.record.host_id, server.record.process) == []


def seconds_worked(processes: list[psutil.Process]) -> float:
    return sum(process.cpu_times().user for process in processes)
