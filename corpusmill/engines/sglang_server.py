"""SGLang's server as the engine of a tuning trial: how settings become its arguments, and how it is started and asked.

The server runs in an environment of its own, whose Python the user names: SGLang wants other packages than we have. Names
of arguments are those of SGLang 0.5.23. It is asked over HTTP by the pool that asks servers in production.
"""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import psutil

from corpusmill.engines.inference import ChatRequest, Completion
from corpusmill.engines.inference_service import InferenceSettings, requests_held
from corpusmill.engines.server_dealer import Patience
from corpusmill.engines.server_pool import ServerPool
from corpusmill.engines.tuning import EngineTuning
from corpusmill.synthesize.sampling import Sampling

HOST = "127.0.0.1"
ENOUGH_REQUESTS = 2048
"""Asked at once where the settings do not say how many run: it queues what it cannot run."""
LONGER_THAN_A_TRIAL = 86_400.0
"""The budgets of a trial decide, not the pool's own patience."""
QUANTIZATIONS = (
    *("awq", "awq_marlin", "gptq", "gptq_marlin", "compressed-tensors", "quark", "moe_wna16", "humming"),
    *("modelopt", "modelopt_fp4", "modelopt_mixed", "mxfp4", "mxfp8", "fp8"),
)
"""What vLLM and SGLang both know, by the same name."""
KV_CACHE_DTYPES = {
    "auto": "auto",
    "bfloat16": "bfloat16",
    "fp8": "fp8_e4m3",
    "fp8_e4m3": "fp8_e4m3",
    "fp8_e5m2": "fp8_e5m2",
}
_ARGUMENTS = {
    "max_num_seqs": "--max-running-requests",
    "gpu_memory_utilization": "--mem-fraction-static",
    "quantization": "--quantization",
    "dtype": "--dtype",
    "tensor_parallel_size": "--tensor-parallel-size",
}


def sglang_version(python: str) -> str:
    """Return the version of SGLang in the environment of `python`; raises ValueError where there is none."""
    if not python:
        raise ValueError(
            "inference.sglang_python must name the Python of an environment with SGLang, such as /opt/sglang/bin/python"
        )
    command = [python, "-c", "import importlib.metadata as known; print(known.version('sglang'))"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=_own_environment())
    except OSError as error:
        raise ValueError(f"inference.sglang_python: {python} cannot be run: {error.strerror}") from error
    if done.returncode:
        raise ValueError(f"inference.sglang_python: the environment of {python} has no SGLang: install it there")
    return done.stdout.strip()


def sglang_command(settings: InferenceSettings, python: str) -> list[str]:
    """Return how a server of `settings` is started, but for its address; raises ValueError for what SGLang lacks."""
    model = ["--model-path", str(settings.model.path), "--served-model-name", settings.model.name]
    window = ["--context-length", str(settings.window), "--device", settings.device, "--random-seed", "0"]
    return [python, "-m", "sglang.launch_server", *model, *window, *tuned_arguments(settings.tuning)]


def tuned_arguments(tuning: EngineTuning) -> list[str]:
    """Return SGLang's arguments for what is set; raises ValueError for a setting that it has no counterpart for."""
    _refuse_what_it_lacks(tuning)
    found = [(argument, getattr(tuning, name)) for name, argument in _ARGUMENTS.items()]
    found += _prefill(tuning)
    if tuning.kv_cache_dtype:
        found.append(("--kv-cache-dtype", KV_CACHE_DTYPES[tuning.kv_cache_dtype]))
    if tuning.speculative_tokens:  # a chain of guesses as vLLM's, where the first of the drafted is the token before it
        found += [("--speculative-algorithm", "NGRAM"), ("--speculative-ngram-max-bfs-breadth", 1)]
        found.append(("--speculative-num-draft-tokens", tuning.speculative_tokens + 1))
    switches = ["--disable-radix-cache"] if tuning.enable_prefix_caching is False else []
    if tuning.enforce_eager:
        switches += ["--disable-prefill-cuda-graph", "--disable-decode-cuda-graph"]
    return [word for argument, value in found if value is not None for word in (argument, str(value))] + switches


def _prefill(tuning: EngineTuning) -> list[tuple[str, Any]]:
    """Prompts' tokens of one step; SGLang does not count those of answers with them."""
    tokens = tuning.max_num_batched_tokens
    chunk = -1 if tuning.enable_chunked_prefill is False else tokens
    return [("--chunked-prefill-size", chunk), ("--max-prefill-tokens", tokens)]


def _refuse_what_it_lacks(tuning: EngineTuning) -> None:
    lacking = {
        "speculative=suffix": tuning.speculative == "suffix",
        f"ngram_max={tuning.ngram_max}": tuning.ngram_max is not None,
        f"quantization={tuning.quantization}": tuning.quantization not in (None, *QUANTIZATIONS),
        f"kv_cache_dtype={tuning.kv_cache_dtype}": tuning.kv_cache_dtype not in (None, *KV_CACHE_DTYPES),
    }
    if told := [name for name, is_lacking in lacking.items() if is_lacking]:
        raise ValueError(f"SGLang has no counterpart of {' and '.join(told)}; leave such candidates to vLLM")


def server_environment(settings: InferenceSettings) -> dict[str, str]:
    """Return what a server needs in its environment."""
    threads = {"OMP_NUM_THREADS": str(settings.threads), "SGLANG_USE_CPU_ENGINE": "1"}
    return {"HF_HUB_OFFLINE": "1", **(threads if settings.device == "cpu" else {})}


def start(settings: Mapping[str, Any]) -> "SglangEngine":
    """Return the engine of `settings`: JSON of InferenceSettings, and `sglang_python`."""
    service = InferenceSettings.from_json({name: value for name, value in settings.items() if name != "sglang_python"})
    command = sglang_command(service, settings["sglang_python"])
    port = _free_port()
    address = ["--host", HOST, "--port", str(port)]
    environment = _own_environment() | server_environment(service)
    process = subprocess.Popen([*command, *address], stdin=subprocess.DEVNULL, env=environment)
    return SglangEngine(service, process, url=f"http://{HOST}:{port}")


class SglangEngine:
    """`InferenceEngine` over one server that was started for it, in the process group of the trial."""

    def __init__(self, settings: InferenceSettings, process: "subprocess.Popen[bytes]", *, url: str) -> None:
        self.identity = settings.model.identity(f"sglang {settings.device}{settings.tuning.model_suffix}")
        self._process = process
        self._is_closed = threading.Event()
        threading.Thread(target=self._end_with_server, daemon=True).start()
        seqs = settings.tuning.max_num_seqs
        held = requests_held(seqs) if seqs else ENOUGH_REQUESTS
        patience = Patience(request_seconds=LONGER_THAN_A_TRIAL, startup_seconds=LONGER_THAN_A_TRIAL, max_tries=1)
        self._pool = ServerPool(
            [url], identity=self.identity, patience=patience, max_concurrency=held, first_concurrency=held
        )

    def generate(self, requests: Sequence[ChatRequest], sampling: Sampling) -> list[Completion]:
        """Return one completion per request, in the same order."""
        return self._pool.generate(requests, sampling)

    def close(self) -> None:
        """End the server with its children. A second call does nothing."""
        self._is_closed.set()
        self._pool.close()
        with suppress(psutil.NoSuchProcess):
            for child in psutil.Process(self._process.pid).children(recursive=True):
                with suppress(psutil.NoSuchProcess):
                    child.kill()
        self._process.kill()
        self._process.wait()

    def _end_with_server(self) -> None:
        """End this process when the server ends, as vLLM ends its own; its last words stand in the log already.

        The exit code is not passed on: SGLang ends itself with SIGKILL whatever went wrong, so that is no sign of memory.
        """
        code = self._process.wait()
        if not self._is_closed.is_set():
            print(f"SGLang's server ended with exit code {code}", file=sys.stderr, flush=True)
            os._exit(1)


def _free_port() -> int:
    """Return a port that nothing listened on a moment ago."""
    with socket.socket() as listener:
        listener.bind((HOST, 0))
        return int(listener.getsockname()[1])


def _own_environment() -> dict[str, str]:
    """Return this process's environment without our own place of packages, which the server's Python must not take."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
