"""synthesized/<dataset>/completions: what the engine and the tools answered, once an ask.

The recipe's programs are carried on side by side in waves: what they wait for is asked, put into the lake, and they go on.
Several waves are under way at once, of `chunk_requests` asks together, so that an engine never waits for the last answer
of one: a killed run loses at most so many. The next run asks only what is missing: what the table already holds and what
earlier attempts left as waves stands.

With the parameter `supervision` (`rules`: fields of SupervisionRules; `chunk_seeds`) a supervisor judges chunk after chunk of
seeds. With `budgets` (fields of Budget by queue; `""` is all of the recipe) no further document is begun once one is spent.
What is not asked for either has a row with that failure, which no run takes for an answer.
"""

import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.counts import Counts, count_reasons
from corpusmill.document import COMPLETIONS
from corpusmill.engines.inference import InferenceEngine
from corpusmill.fingerprint import fingerprint
from corpusmill.lake.tables import Attempt
from corpusmill.synthesize.asking import Answer, Failed, Program
from corpusmill.synthesize.generators.function import FunctionGenerator
from corpusmill.synthesize.generators.registry import entered_queue, priorities, simpler_program
from corpusmill.synthesize.recipe import Recipe
from corpusmill.synthesize.requests import Opened, asking_order, open_requests
from corpusmill.synthesize.store import AnswerStore, RetryPolicy, with_device_seconds
from corpusmill.synthesize.supervise.course import BUDGET_SPENT, DEMOTED, UNASKED
from corpusmill.synthesize.waves import Run, Wave, plan_waves
from corpusmill.tasks import decisions
from corpusmill.tasks import requests as requests_task
from corpusmill.tasks.budgets import PARAMETER, Budgets
from corpusmill.tasks.inference import engine_label, inference_engine, num_lanes
from corpusmill.tasks.kept_answers import keep_wave, kept_answers
from corpusmill.tasks.seeds import SeedReader
from corpusmill.tasks.supervision import Supervised, Supervisor
from corpusmill.tasks.synthesis_costs import device_metrics
from corpusmill.tasks.task import Job, Outcome, execute, partition_writer, truncate_sample
from corpusmill.tasks.tools import tools_for, versions_for
from corpusmill.tasks.wave import answer_wave, is_for_model

_OPENED_ROWS = 256
SUPERVISOR = "supervisor"
"""Stands as engine and step of what was not asked, by its decision or for a spent budget."""
POLICY = RetryPolicy(permanent=RetryPolicy().permanent | UNASKED)


def table(dataset: str) -> str:
    return f"synthesized/{dataset}/completions"


def schema(parameters: Mapping[str, Any]) -> pa.Schema:
    return COMPLETIONS


def inputs(job: Job) -> dict[str, Any]:
    return {"requests": job.upstream(requests_task.table(job.dataset)), **versions_for(job)}


def run(job: Job, attempt: Attempt) -> Outcome:
    requests = asking_order(job.lake.read(requests_task.table(job.dataset), partitions=[job.partition]))
    answers = AnswerStore(map(_asked_only, kept_answers(job, table(job.dataset))))
    asking = _Asking(job, attempt, answers)
    with asking:
        steps = asking.ask(requests)
    completions = answers.table(steps)
    num_asked, num_reused = len(asking.asked), len(_asked_only(completions)) - len(asking.asked)
    job.report(f"{num_reused} answers stand, {num_asked} asked", {"reused": num_reused, "asked": num_asked})
    watch, budgets = asking.supervision, asking.budgets
    with partition_writer(job, attempt, name="completions") as writer:
        writer.write(completions)
    return Outcome(
        files=writer.files,
        counts=_counts(completions, num_reached=len(steps)),
        metrics={
            "requests_asked": num_asked,
            "requests_reused": num_reused,
            **_metrics(completions, device_seconds=asking.device_seconds),
            "engine_settings": engine_label(job.settings),
        },
        tables={
            "steps": _by_step(completions),
            **({"decisions": watch.shown()} if watch else {}),
            **({"budgets": budgets.shown()} if budgets else {}),
        },
        samples=truncate_sample(completions, columns=["request_id", "step", "answer", "finish_reason", "failure"]),
        gates={"supervisor": watch.gate()} if watch else {},
        state=_state(watch, budgets),
    )


def damage(job: Job) -> str | None:
    return decisions.damage(job)


def after_commit(job: Job) -> None:
    """Make the table of what was decided in the run, unless it is there."""
    if {"supervision", PARAMETER} & job.parameters.keys():
        execute("decisions", job.arguments(job.partition, job.parameters), job.report)


def _state(watch: Supervisor | None, budgets: Budgets | None) -> dict[str, Any]:
    """Return what the commit says of the objects in which the run kept its decisions."""
    objects = {
        **({decisions.OBJECT: watch.keep()} if watch else {}),
        **({decisions.CLOSINGS: budgets.keep()} if budgets else {}),
    }
    return {"objects": objects} if objects else {}


class _Asking:
    """One run's asking: opens the engine with the first question and closes it at the end."""

    def __init__(self, job: Job, attempt: Attempt, answers: AnswerStore) -> None:
        self.asked: set[str] = set()
        self.device_seconds = 0.0
        self._job = job
        self._attempt = attempt
        self._answers = answers
        self._recipe = Recipe.from_json(job.parameters["recipe"])
        self._tools = tools_for(job)
        self._engine: InferenceEngine | None = None
        self._stack = ExitStack()
        self._num_waves = 0
        self._unasked: dict[str, str] = {}
        self._level: pa.Array | None = None
        is_watched = "supervision" in job.parameters and not isinstance(self._recipe.generator, FunctionGenerator)
        watched = Supervised(
            job=job, attempt=attempt, recipe=self._recipe, tools=self._tools, answers=answers, find=self._find
        )
        self.supervision = Supervisor(watched) if is_watched else None
        self.budgets = Budgets(watched) if PARAMETER in job.parameters else None
        self._since = 0.0

    def __enter__(self) -> "_Asking":
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.close()

    def ask(self, requests: pa.Table) -> dict[str, str]:
        """Ask what is missing, in waves that are each put into the lake; return the step by id of all asks."""
        inference = self._job.settings.inference
        lanes = num_lanes(self._job.settings)
        waves = plan_waves(self._runs(requests), find=self._find, size=inference.chunk_requests, lanes=lanes)
        self._since = time.monotonic()
        if lanes == 1:
            return self._reached(self._ask_in_turn(waves))
        pool = ThreadPoolExecutor(max_workers=lanes)
        try:
            return self._reached(self._ask_side_by_side(waves, pool))
        finally:
            # Who interrupts does not wait: closing the engine ends what is under way.
            pool.shutdown(wait=False, cancel_futures=True)

    def _ask_in_turn(self, waves: Generator[Wave, None, dict[str, str]]) -> dict[str, str]:
        try:
            while True:
                wave = next(waves)
                self._take_rows(answer_wave(wave, engine=self._engine_for(wave), tools=self._tools))
        except StopIteration as stop:
            return dict(stop.value)

    def _ask_side_by_side(
        self, waves: Generator[Wave, None, dict[str, str]], pool: ThreadPoolExecutor
    ) -> dict[str, str]:
        under_way: set[Future[pa.Table]] = set()
        while True:
            try:
                wave = next(waves)
            except StopIteration as stop:
                return dict(stop.value)
            if wave:
                under_way.add(pool.submit(answer_wave, wave, engine=self._engine_for(wave), tools=self._tools))
            else:
                done, under_way = wait(under_way, return_when=FIRST_COMPLETED)
                self._take(done, under_way)

    def _reached(self, steps: Mapping[str, str]) -> dict[str, str]:
        """Return the steps that programs reached, and those that the supervisor left out."""
        if self.supervision is not None:
            self.supervision.settle(is_over=True)
        return {**steps, **{name: step for name, step in self._unasked.items() if name not in steps}}

    def _runs(self, requests: pa.Table) -> Iterator[Run]:
        if self.budgets is not None and self._answers.num_known:
            self.budgets.survey(self._opened(requests))
        for opened in self._opened(requests):
            chosen = "asked" if self.supervision is None else self.supervision.admit(opened)
            if chosen != "asked":
                self._leave_out(opened.request["request_id"], DEMOTED if chosen == "simpler" else chosen)
            if chosen not in UNASKED:
                yield self._run(opened, is_simpler=chosen == "simpler")

    def _opened(self, requests: pa.Table) -> Iterator[Opened]:
        """Yield the requests with their seeds, in the order of asking: those of the highest priority first.

        Where priorities differ, the first pass over the seeds finds which each has; later ones open their own alone.
        """
        levels = priorities(self._recipe.generator)
        for level in levels:
            if self._level is None:
                yield from self._read_first(requests, levels)
            else:
                yield from self._read(requests.filter(pc.equal(self._level, level)))

    def _read_first(self, requests: pa.Table, levels: Sequence[int]) -> Iterator[Opened]:
        """Yield the requests of the first level, and note which each is of: that of the queue that its document enters."""
        found: list[int] = []
        for opened in self._read(requests):
            if opened.request["chunk"] == 0 or not found:
                entered = entered_queue(self._recipe.generator, opened.material) if len(levels) > 1 else None
                level = levels[-1] if entered is None else entered.priority
            found.append(level)
            if level == levels[0]:
                yield opened
        self._level = pa.array(found, pa.int64())

    def _read(self, requests: pa.Table) -> Iterator[Opened]:
        reader = SeedReader(self._job.lake.store, requests)
        for start in range(0, len(requests), _OPENED_ROWS):
            ours = requests.slice(start, _OPENED_ROWS)
            yield from open_requests(ours, reader.seeds(ours), self._recipe, self._tools)

    def _run(self, opened: Opened, *, is_simpler: bool) -> Run:
        def start() -> Program:
            simpler = simpler_program(self._recipe.generator, opened.material) if is_simpler else None
            program = self._recipe.generator.program(opened.material) if simpler is None else simpler
            return program if self.budgets is None else self.budgets.within(opened, program, refuse)

        def refuse(request_id: str) -> None:
            if self._answers.find(request_id) is None:
                self._leave_out(request_id, BUDGET_SPENT)
            if self.supervision is not None:
                self.supervision.withdraw(opened.request["doc_id"])

        return Run(start=start, id_of=lambda ask: opened.id_of(ask, self._tools))

    def _leave_out(self, request_id: str, reason: str) -> None:
        """Note that the first thing that a program, or a queue of it, would ask is not asked."""
        self._answers.add_failure(
            {"request_id": request_id, "failure": reason, "engine": SUPERVISOR, "step": SUPERVISOR}
        )
        self._unasked[request_id] = SUPERVISOR

    def _find(self, request_id: str) -> Answer | Failed | None:
        return self._answers.find_settled(request_id, policy=POLICY, just_asked=self.asked)

    def _engine_for(self, wave: Wave) -> InferenceEngine | None:
        """Return the engine, opened by the first wave that has a question."""
        if self._engine is None and any(map(is_for_model, wave.values())):
            self._engine = self._stack.enter_context(inference_engine(self._job.settings))
            self._since = time.monotonic()
        return self._engine

    def _take(self, done: Iterable["Future[pa.Table]"], under_way: Iterable["Future[pa.Table]"]) -> None:
        """Keep what waves brought. Where one failed, what the others bring is waited for and kept before that is told."""
        failed = [one for one in done if one.exception() is not None]
        everything = [*done, *under_way] if failed else list(done)
        for one in everything:
            if one.exception() is None:
                self._take_rows(one.result())
        for one in failed:
            one.result()

    def _take_rows(self, rows: pa.Table) -> None:
        """Keep the rows of a wave; a run that another one has overtaken then asks nothing more.

        Waves overlap, so a wave's time is what passed since the one before it was kept.
        """
        seconds, self._since = time.monotonic() - self._since, time.monotonic()
        devices = self._job.settings.inference.num_devices if self._engine is not None else 0
        self.device_seconds += seconds * devices
        rows = with_device_seconds(rows, seconds * devices)
        self._keep(rows)
        if self.budgets is not None:
            self.budgets.take(rows)
        if self.supervision is not None:
            self.supervision.settle()
        self._report(rows, seconds)
        self._job.lake.check_newest(self._attempt)

    def _keep(self, rows: pa.Table) -> None:
        name = fingerprint(rows["request_id"].to_pylist())
        keep_wave(self._job, self._attempt, rows, number=self._num_waves, name=name)
        self._num_waves += 1
        self._answers.add(rows)
        self.asked.update(rows["request_id"].to_pylist())

    def _report(self, rows: pa.Table, seconds: float) -> None:
        tokens = pc.sum(rows["completion_tokens"]).as_py() or 0
        numbers = {"asked": len(rows), "tokens": tokens, "tokens_per_second": round(tokens / seconds, 1)}
        failed = {"failed": len(rows) - rows["failure"].null_count} if rows["failure"].null_count < len(rows) else {}
        steps = ", ".join(sorted(set(rows["step"].to_pylist())))
        self._job.report(f"answers: wave {self._num_waves} ({steps})", {**numbers, **failed})


def _asked_only(completions: pa.Table) -> pa.Table:
    """Return the rows that someone was asked for: whether the others are asked now is decided by this run."""
    unasked = pc.is_in(completions["failure"], value_set=pa.array(sorted(UNASKED)))
    return completions.filter(pc.invert(unasked))


def _counts(completions: pa.Table, *, num_reached: int) -> Counts:
    failed = count_reasons(completions["failure"])
    if num_reached > len(completions):
        failed["not_answered"] = num_reached - len(completions)
    return Counts(rows_in=num_reached, kept=num_reached - sum(failed.values()), failed=failed)


def _metrics(completions: pa.Table, *, device_seconds: float) -> dict[str, float | int | str]:
    return {
        "prompt_tokens": pc.sum(completions["prompt_tokens"]).as_py() or 0,
        "completion_tokens": pc.sum(completions["completion_tokens"]).as_py() or 0,
        "device_seconds": round(device_seconds, 3),
        **device_metrics(completions),
    }


def _by_step(completions: pa.Table) -> list[dict[str, Any]]:
    """Return what each step of the recipe asked and spent."""
    if not len(completions):
        return []
    wanted = [("request_id", "count"), ("failure", "count"), ("prompt_tokens", "sum"), ("completion_tokens", "sum")]
    found = completions.group_by("step", use_threads=False).aggregate(wanted)
    return [
        {
            "step": row["step"],
            "asked": row["request_id_count"],
            "failed": row["failure_count"],
            "prompt_tokens": row["prompt_tokens_sum"] or 0,
            "completion_tokens": row["completion_tokens_sum"] or 0,
        }
        for row in found.to_pylist()
    ]
