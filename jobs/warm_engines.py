"""Engines held over many runs of one process: leased when the first step needs them, let go of at the end."""

import threading
from contextlib import ExitStack
from pathlib import Path

from corpusmill.engines.lease import lease
from corpusmill.settings import Settings
from corpusmill.tasks.engine import spark_engine_settings
from corpusmill.tasks.inference import inference_engine_settings
from jobs.run_step import Say
from jobs.way import Step

GIVE_UP_SECONDS = 5.0
"""What a start that is under way gets to give up."""


class WarmEngines:
    """Leases of Spark and of the inference server. The latter starts beside curation, so that synthesis finds it warm."""

    def __init__(self, settings: Settings, *, say: Say) -> None:
        self._settings = settings
        self._say = say
        self._stack = ExitStack()
        self._held: set[str] = set()
        self._thread: threading.Thread | None = None
        self._done = threading.Event()

    def __enter__(self) -> "WarmEngines":
        return self

    def __exit__(self, *error: object) -> None:
        self._done.set()
        if self._thread:
            self._thread.join(GIVE_UP_SECONDS)
        self._stack.close()

    def hold_for(self, step: Step) -> None:
        """Lease what a step needs and later ones will need too."""
        stage = step.job.split("_")[0]
        if stage in ("sources", "curated") and self._settings.inference.engine == "ray_vllm":
            self._start_inference()
        if stage != "mixed" and self._settings.spark.engine == "spark" and "spark" not in self._held:
            self._held.add("spark")
            self._say("      starting Spark, or joining the one that runs")
            folder = Path(self._settings.state_folder)
            self._stack.enter_context(lease("spark", spark_engine_settings(self._settings.spark), state_folder=folder))

    def _start_inference(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._hold_inference, name="inference-lease", daemon=True)
            self._thread.start()

    def _hold_inference(self) -> None:
        """Hold the lease until the end. A start that fails is told by the step that needs the engine, not here."""
        try:
            folder = Path(self._settings.state_folder)
            settings = inference_engine_settings(self._settings)
            with lease("inference", settings, state_folder=folder, given_up=self._done):
                self._done.wait()
        except (OSError, RuntimeError, ValueError) as error:
            # Where the command was interrupted, the start failed because of that.
            if not self._done.wait(GIVE_UP_SECONDS):
                self._say(f"      the inference server did not start: {error}")
