"""Budgets at work in a run: which documents of a recipe, and of each of its queues, are still begun.

What was spent by earlier runs is read from the answers that they left, by replaying the programs. That a budget is spent is
kept in the lake before anything follows from it, so a rerun begins the same documents; a larger budget begins more.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pyarrow as pa

from corpusmill.fingerprint import fingerprint
from corpusmill.lake.names import report_directory, staging_directory
from corpusmill.synthesize.asking import Answer, Ask, Failed, Program, advance
from corpusmill.synthesize.generators.registry import queue_of, simpler_program
from corpusmill.synthesize.requests import Opened
from corpusmill.synthesize.store import Spent
from corpusmill.synthesize.supervise.budget import Budget, Closing, Ledger
from corpusmill.synthesize.supervise.course import BUDGET_SPENT
from corpusmill.tasks.decisions import CLOSINGS, queue_name, read_closings, stored_closings
from corpusmill.tasks.supervision import Supervised
from corpusmill.tasks.task import Job

PARAMETER = "budgets"


class Budgets:
    """Lets documents begin as long as there is money for them."""

    def __init__(self, run: Supervised) -> None:
        budgets = {name: Budget.from_json(value) for name, value in run.job.parameters[PARAMETER].items()}
        requests = run.job.upstream(f"synthesized/{run.job.dataset}/requests")
        said = {name: budget.to_json() for name, budget in budgets.items()}
        policy = fingerprint({"budgets": said, "requests": requests})
        self._run = run
        self._ledger = Ledger(budgets, policy=policy, closings=_stored(run.job, policy))
        self._num_stored = len(self._ledger.closings)

    def survey(self, inputs: Iterable[Opened]) -> None:
        """Note what earlier runs began and spent, where there are answers of any."""
        seen: set[str] = set()
        for opened in inputs:
            for program in self._ways(opened):
                self._tally(opened, program, seen)

    def within(self, opened: Opened, program: Program, refuse: Callable[[str], None]) -> Program:
        """Run a program; `refuse` is told the first ask of every queue that it may not begin."""
        entered: set[str] = set()
        try:
            asks = next(program)
            while True:
                for queue in {queue_of(self._run.recipe.generator, ask.step) for ask in asks[:1]} - entered:
                    if (refused := self._refused(opened, queue, asks)) is not None:
                        refuse(refused)
                    entered.add(queue)
                asks = program.send((yield asks))
        except StopIteration as stop:
            return stop.value

    def take(self, rows: pa.Table) -> None:
        """Pay for what was answered."""
        for row in rows.select(
            ["request_id", "step", "prompt_tokens", "completion_tokens", "device_seconds"]
        ).to_pylist():
            spent = Spent(
                prompt_tokens=row["prompt_tokens"] or 0,
                completion_tokens=row["completion_tokens"] or 0,
                device_seconds=row["device_seconds"] or 0.0,
            )
            self._ledger.pay(queue_of(self._run.recipe.generator, row["step"]), row["request_id"], spent)

    def keep(self) -> str:
        """Keep all closings of the run under one key, and return it."""
        job = self._run.job
        folder = report_directory(f"synthesized/{job.dataset}/completions", job.partition)
        key = f"{folder}/{self._run.attempt.attempt}-{CLOSINGS}.json"
        job.lake.store.write(key, json.dumps([kept.to_json() for kept in self._closings()]).encode())
        return key

    def shown(self) -> list[dict[str, Any]]:
        return [
            {"recipe": queue_name(self._run.recipe, kept.queue), "followed": kept.followed, **kept.numbers}
            for kept in self._closings()
        ]

    def _closings(self) -> list[Closing]:
        return [closing for _, closing in sorted(self._ledger.closings.items())]

    def _refused(self, opened: Opened, queue: str, asks: Sequence[Ask]) -> str | None:
        """Return the first of these asks where a document may not begin in a queue by asking them."""
        ids = [self._id_of(opened, ask) for ask in asks]
        found = self._run.answers.find(ids[0])
        if found == Failed(reason=BUDGET_SPENT):
            return ids[0]
        is_known = any(self._run.answers.find(ask_id) is not None for ask_id in ids)
        is_begun = self._ledger.begin(queue, opened.request["doc_id"], ids, is_known=is_known)
        self._store_new()
        return None if is_begun else ids[0]

    def _store_new(self) -> None:
        closings = [*self._ledger.closings.values()]
        for kept in closings[self._num_stored :]:
            key = f"{_folder(self._run.job)}/{self._run.attempt.fence:08d}-{fingerprint(kept.queue)}.json"
            self._run.job.lake.store.create(key, json.dumps(kept.to_json()).encode())
            self._run.job.report(
                f"budget of {queue_name(self._run.recipe, kept.queue)}: {kept.followed}", {**kept.numbers}
            )
        self._num_stored = len(closings)

    def _tally(self, opened: Opened, program: Program, seen: set[str]) -> None:
        entered: set[str] = set()

        def known(ask: Ask) -> Answer | Failed | None:
            ask_id, queue = self._id_of(opened, ask), queue_of(self._run.recipe.generator, ask.step)
            found = self._run.answers.find(ask_id)
            if found is None:
                return None
            if queue not in entered:
                self._ledger.begin(queue, opened.request["doc_id"], [ask_id], is_known=True)
            entered.add(queue)
            if ask_id not in seen:
                self._ledger.pay(queue, ask_id, self._run.answers.spent([ask_id]))
            seen.add(ask_id)
            return found

        advance(program, known)

    def _ways(self, opened: Opened) -> list[Program]:
        generator = self._run.recipe.generator
        simpler = simpler_program(generator, opened.material)
        return [generator.program(opened.material), *([] if simpler is None else [simpler])]

    def _id_of(self, opened: Opened, ask: Ask) -> str:
        return opened.id_of(ask, self._run.tools)


def _stored(job: Job, policy: str) -> list[Closing]:
    """Return the closings of earlier runs under this policy: the first one of a queue stands."""
    staged = [kept for item in job.lake.store.list(f"{_folder(job)}/") for kept in read_closings(job, item.key)]
    found: dict[str, Closing] = {}
    for kept in [*stored_closings(job), *staged]:
        if kept.policy == policy:
            found.setdefault(kept.queue, kept)
    return list(found.values())


def _folder(job: Job) -> str:
    return f"{staging_directory(f'synthesized/{job.dataset}/completions', job.partition)}/{CLOSINGS}"
