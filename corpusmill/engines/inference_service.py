"""The inference server that a host runs: a local Ray cluster of its own, and in it named actors with one vLLM engine each.

The cluster listens on the loopback address only, on free ports, in a temporary folder of its own, so it does not meet
another Ray on this machine. An engine on the CPU is one process; its start takes about 35 s on two quiet cores, most of
it imports. With `device="cuda"` each engine takes one GPU and needs the CUDA build of vLLM: the same code, but no test of
this repository has run it.
"""

import os
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, Self

from corpusmill.engines.model import Model
from corpusmill.engines.ray_connection import start_cluster
from corpusmill.engines.ray_vllm_calls import await_return
from corpusmill.engines.ray_vllm_connection import Driver
from corpusmill.engines.service import EngineStartError
from corpusmill.engines.tuning import UNTUNED, EngineTuning
from corpusmill.engines.vllm_actor import VllmActor

NAMESPACE = "corpusmill-inference"
OBJECT_STORE_BYTES = 100 << 20
"""Ray's smallest is 75 MB. Prompts and answers are small and travel beside it."""
LOG_TAIL_LINES = 15
_SOURCE_ROOT = Path(__file__).parents[2]
_LINK_PREFIX = "cm-ray-"


@dataclass(frozen=True, kw_only=True)
class InferenceSettings:
    """What makes one inference server different from another."""

    model: Model
    num_engines: int = 1
    device: Literal["cpu", "cuda"] = "cpu"
    max_model_len: int | None = None
    """Tokens of prompt and answer together; None takes the model's own window, which costs memory."""
    kv_cache_gib: float | None = None
    """Per engine. None is 1 GiB on a CPU, and on a GPU what vLLM finds free."""
    threads_per_engine: int | None = None
    """CPU threads; None shares the cores of this machine between the engines."""
    tuning: EngineTuning = UNTUNED
    max_restarts: int = 3
    """How often each engine may be started again after its process died."""
    startup_seconds: float = 240.0

    def __post_init__(self) -> None:
        if self.device not in ("cpu", "cuda"):
            raise ValueError(f"device must be cpu or cuda, got {self.device!r}")
        if self.num_engines < 1 or self.max_restarts < 0 or self.startup_seconds <= 0:
            raise ValueError(
                "an inference server needs num_engines of at least 1, max_restarts of at least 0 and a positive "
                f"startup_seconds, got {self.num_engines}, {self.max_restarts} and {self.startup_seconds}"
            )
        if self.window > self.model.max_model_len:
            raise ValueError(
                f"max_model_len may be at most the window of {self.model.name}, {self.model.max_model_len}, "
                f"got {self.max_model_len}"
            )
        batch = self.tuning.max_num_batched_tokens
        if self.tuning.enable_chunked_prefill is False and batch and batch < self.window:
            raise ValueError(
                "without chunked prefill a prompt must fit into one step: max_num_batched_tokens must be at least the "
                f"window of {self.window} tokens, got {batch}"
            )

    @property
    def window(self) -> int:
        return self.max_model_len or self.model.max_model_len

    @property
    def threads(self) -> int:
        return self.threads_per_engine or max(1, len(os.sched_getaffinity(0)) // self.num_engines)

    @property
    def num_gpus(self) -> int:
        """GPUs of one engine."""
        return (self.tuning.tensor_parallel_size or 1) if self.device == "cuda" else 0

    @property
    def kv_cache_bytes(self) -> int | None:
        if self.kv_cache_gib is None:
            return 1 << 30 if self.device == "cpu" else None
        return int(self.kv_cache_gib * (1 << 30))

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "model": self.model.to_json(), "tuning": self.tuning.to_json()}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        parts = {"model": Model.from_json(value["model"]), "tuning": EngineTuning.from_json(value["tuning"])}
        return cls(**{**value, **parts})


def serve(settings: dict[str, Any], state_folder: Path) -> "InferenceService":
    """Start the server; returns when every engine answers. Raises EngineStartError when one does not in time."""
    wanted = InferenceSettings.from_json(settings)
    if not wanted.model.path.is_dir():
        raise EngineStartError(f"the model's folder {wanted.model.path} is not there; prepare the model again")
    service = InferenceService(wanted, state_folder)
    try:
        service.start()
    except BaseException:
        service.stop()
        raise
    return service


class InferenceService:
    """A running server: the cluster, its engines, and how to reach and to end them."""

    def __init__(self, settings: InferenceSettings, state_folder: Path) -> None:
        self._settings = settings
        self._folder = state_folder
        self._token_file = state_folder.absolute() / "ray_token"
        self._address = ""
        self._link: Path | None = None
        self._engines: dict[str, Any] = {}
        self._pings: dict[str, Any] = {}
        self._driver: Driver | None = None
        self.endpoint: dict[str, Any] = {}

    def start(self) -> None:
        started = time.monotonic()
        self._link = _short_link(self._folder)
        self._address = _start_ray(self._settings, folder=self._link, token_file=self._token_file)
        for number in range(self._settings.num_engines):
            name = f"engine-{number}"
            self._engines[name] = _start_engine(name, self._settings)
        self._driver = self._start_driver()
        facts = self._await_engines(self._settings.startup_seconds - (time.monotonic() - started))
        self._await_driver(self._driver, self._settings.startup_seconds - (time.monotonic() - started))
        self.endpoint = self._describe(facts)
        self._pings = {name: await_return(engine) for name, engine in self._engines.items()}
        print(f"{len(facts)} engines answer after {time.monotonic() - started:.0f} s", flush=True)

    def alive(self) -> bool:
        """Whether an engine is left that answers, or that Ray is about to start again."""
        for name in [name for name, ping in self._pings.items() if _is_done(ping)]:
            if _is_gone_for_good(self._pings.pop(name)):
                print(f"{name} is dead and will not be started again", flush=True)
            else:
                self._pings[name] = await_return(self._engines[name])
        return bool(self._pings) and self._driver is not None and self._driver.keep_running()

    def stop(self) -> None:
        import ray

        if self._driver is not None:
            self._driver.end()
        for engine in self._engines.values():
            ray.kill(engine)
        ray.shutdown()
        if self._link is not None:
            self._link.unlink(missing_ok=True)

    def _await_engines(self, seconds: float) -> dict[str, dict[str, Any]]:
        import ray

        asked = {engine.ready.remote(): name for name, engine in self._engines.items()}
        _, late = ray.wait(list(asked), num_returns=len(asked), timeout=max(seconds, 0))
        if late:
            names = ", ".join(sorted(asked[ref] for ref in late))
            raise EngineStartError(
                f"{names} did not answer within {self._settings.startup_seconds:.0f} s. A loaded machine needs longer: "
                f"raise startup_seconds, or take fewer engines.\n{self._log_tails()}"
            )
        try:
            return {name: ray.get(ref) for ref, name in asked.items()}
        except ray.exceptions.RayError as error:
            reason = str(error).strip().rpartition("\n")[2]
            raise EngineStartError(f"an engine could not start: {reason}\n{self._log_tails()}") from error

    def _start_driver(self) -> Driver:
        """Start the process that clients ask."""
        assert self._link is not None
        return Driver(
            self._cluster(),
            address=self._link / "asks",
            log=self._folder / "driver.log",
            max_restarts=self._settings.max_restarts,
        )

    def _await_driver(self, driver: Driver, seconds: float) -> None:
        if not driver.await_clients(max(seconds, 1)):
            raise EngineStartError(f"the process that talks to Ray does not answer\n{_tail(driver.log)}")

    def _cluster(self) -> dict[str, Any]:
        return {
            "address": self._address,
            "namespace": NAMESPACE,
            "token_file": str(self._token_file),
            "engines": sorted(self._engines),
        }

    def _describe(self, facts: dict[str, dict[str, Any]]) -> dict[str, Any]:
        fact = next(iter(facts.values()))
        assert self._driver is not None
        return {
            **self._cluster(),
            "socket": str(self._driver.address),
            "socket_log": str(self._driver.log),
            "window": requests_held(fact["max_num_seqs"]),
            "startup_seconds": self._settings.startup_seconds,
            "identity": self._settings.model.identity(engine_name(self._settings, fact)).to_json(),
        }

    def _log_tails(self) -> str:
        logs = sorted((self._folder / "ray" / "session_latest" / "logs").glob("worker-*.err"))
        return "".join(f"{log}:\n{_tail(log)}" for log in logs if log.stat().st_size)


def _start_ray(settings: InferenceSettings, *, folder: Path, token_file: Path) -> str:
    return start_cluster(
        token_file=token_file,
        num_cpus=settings.num_engines * settings.threads,
        num_gpus=settings.num_engines * settings.num_gpus,
        object_store_memory=OBJECT_STORE_BYTES,
        namespace=NAMESPACE,
        _temp_dir=str(folder),
        _system_config={"prestart_worker_first_driver": False},
    )


def _start_engine(name: str, settings: InferenceSettings) -> Any:
    import ray

    placed = ray.remote(VllmActor).options(
        name=name,
        lifetime="detached",
        num_cpus=settings.threads,
        num_gpus=settings.num_gpus,
        max_restarts=settings.max_restarts,
        max_concurrency=10_000,
        runtime_env={"env_vars": engine_environment(settings)},
    )
    return placed.remote(engine_args(settings))


def engine_name(settings: InferenceSettings, facts: Mapping[str, Any]) -> str:
    """Return the engine's name, kept beside each answer: its version, device and number type, and its quantisation."""
    return f"vllm {facts['version']} {settings.device} {facts['dtype']}{settings.tuning.model_suffix}"


def requests_held(max_num_seqs: int) -> int:
    """Return how many requests of one call an engine holds: a full batch, and a few that wait for a place in it.

    With none waiting, a place that got free stays empty until the next request has come from the client's process.
    """
    return max_num_seqs + max(4, max_num_seqs // 4)


def engine_args(settings: InferenceSettings) -> dict[str, Any]:
    """Return vLLM's EngineArgs for one engine of `settings`."""
    return {
        "model": str(settings.model.path),
        "max_model_len": settings.window,
        "kv_cache_memory_bytes": settings.kv_cache_bytes,
        **settings.tuning.engine_args(settings.device),
        "disable_log_stats": True,
        "seed": 0,
    }


def engine_environment(settings: InferenceSettings) -> dict[str, str]:
    """Return what the process of an engine needs in its environment."""
    return {
        "DO_NOT_TRACK": "1",
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": str(settings.threads),
        "PYTHONPATH": os.pathsep.join([str(_SOURCE_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]),
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        # The engine lives in the actor's own process: when that is killed, nothing of it is left.
        "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
        "VLLM_HOST_IP": "127.0.0.1",
        "VLLM_NO_USAGE_STATS": "1",
    }


def _short_link(folder: Path) -> Path:
    """Return a short path to a new folder in `folder`: sockets live there, whose paths may have 107 bytes."""
    _drop_dangling_links()
    target = folder / "ray"
    target.mkdir()
    link = Path(tempfile.mkdtemp(prefix=_LINK_PREFIX))
    link.rmdir()
    link.symlink_to(target.resolve())
    return link


def _drop_dangling_links() -> None:
    """Remove what servers of this user that were killed left in the temporary folder."""
    for link in Path(tempfile.gettempdir()).glob(f"{_LINK_PREFIX}*"):
        with suppress(FileNotFoundError):  # another server may clean up as well
            if link.lstat().st_uid == os.geteuid() and link.is_symlink() and not link.exists():
                link.unlink()


def _is_done(ping: Any) -> bool:
    import ray

    return bool(ray.wait([ping], timeout=0)[0])


def _is_gone_for_good(ping: Any) -> bool:
    import ray

    try:
        ray.get(ping)
    except ray.exceptions.RayError:
        return True
    return False


def _tail(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return "".join(f"  | {line}\n" for line in lines[-LOG_TAIL_LINES:])
