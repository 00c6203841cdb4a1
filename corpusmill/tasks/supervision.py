"""The supervisor at work in a run: judges each chunk of seeds once all of it is answered, and says who is still asked.

Verdicts are those of the accept task without running code, which is left to it: where a recipe runs what it rewrote, the
supervisor sees what compiles and passes every other check. Chunks are judged in the order of seeds, whatever the order in
which waves come back: that only moves the seed from which a decision holds. Decisions are kept in the lake as they are
made, before anything follows from them; a rerun finds them there and decides nothing anew.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from corpusmill.fingerprint import fingerprint
from corpusmill.lake.names import report_directory, staging_directory
from corpusmill.lake.tables import Attempt
from corpusmill.synthesize.accept import Instruments, JudgedOutput, judge_answers
from corpusmill.synthesize.ask_ids import Tools
from corpusmill.synthesize.asking import Answer, Ask, Failed, Waiting, advance
from corpusmill.synthesize.generators.registry import entered_queue, has_simpler, queue_names, simpler_program
from corpusmill.synthesize.recipe import Recipe
from corpusmill.synthesize.requests import MIXED_CHARACTERS, Opened
from corpusmill.synthesize.store import AnswerStore
from corpusmill.synthesize.supervise.budget import WHOLE
from corpusmill.synthesize.supervise.course import DEMOTED, UNASKED, Fate, KeptDecision, fate, is_judged
from corpusmill.synthesize.supervise.features import Features, Output, features
from corpusmill.synthesize.supervise.rules import SupervisionRules
from corpusmill.synthesize.supervise.supervisor import Decision, History, follow, judge, observe
from corpusmill.synthesize.waves import Find
from corpusmill.tasks.decisions import decision_row, kept_key, read_decisions
from corpusmill.tasks.task import Gate, Job

CHUNK_SEEDS = 64
"""Seeds that are judged together where the dataset does not say how many."""
SHOWN = ("chunk", "action", "rule", "accepted", "outputs", "p_value", "followed")


@dataclass(frozen=True, kw_only=True)
class Supervised:
    """What supervision needs of the run that it watches."""

    job: Job
    attempt: Attempt
    recipe: Recipe
    tools: Tools
    answers: AnswerStore
    find: Find


class Supervisor:
    """Supervises a run: all seeds of a recipe together, or those that enter one of its queues, each queue for itself."""

    def __init__(self, run: Supervised) -> None:
        names = queue_names(run.recipe.generator) or (WHOLE,)
        self._generator = run.recipe.generator
        self._job, self._attempt = run.job, run.attempt
        self._all = {name: Supervision(run, queue=name) for name in names}
        self._entered = names[0]

    def admit(self, opened: Opened) -> Fate:
        """Return what becomes of the next primary input; those of one seed come one after the other and share one fate."""
        if opened.request["chunk"] == 0 and (queue := entered_queue(self._generator, opened.material)) is not None:
            self._entered = queue.name
        return self._all[self._entered].admit(opened)

    def withdraw(self, doc_id: str) -> None:
        """Take out a seed that a spent budget turned away: it says nothing of its recipe."""
        for one in self._all.values():
            one.withdraw(doc_id)

    def settle(self, *, is_over: bool = False) -> None:
        for one in self._all.values():
            one.settle(is_over=is_over)

    def keep(self) -> str:
        """Keep all decisions of the run under one key, and return it."""
        folder = report_directory(f"synthesized/{self._job.dataset}/completions", self._job.partition)
        key = f"{folder}/{self._attempt.attempt}-decisions.json"
        self._job.lake.store.write(key, json.dumps([kept.to_json() for kept in self._decisions()]).encode())
        return key

    def gate(self) -> Gate:
        """Return the gate that a paused run does not pass."""
        decisions = self._decisions()
        paused = next((kept for kept in decisions if kept.action == "pause"), None)
        if paused is None:
            return Gate(passed=True, message=f"{len(decisions)} chunks were judged, none asked for a pause")
        of = f" of queue {paused.queue}" if paused.queue else ""
        return Gate(
            passed=False,
            message=f"paused after chunk {paused.chunk}{of} by the rule {paused.rule}: {paused.followed}. See the table "
            f"decisions for the numbers; to go on, set the rule's threshold, or its action to continue, in `supervision`",
            numbers={"chunk": paused.chunk, "p_value": float(paused.numbers["p_value"])},
        )

    def shown(self) -> list[dict[str, Any]]:
        """Return the decisions that were not to go on as before, and the last one."""
        decisions = self._decisions()
        acted = [kept for kept in decisions if kept.rule is not None or kept is decisions[-1]]
        named = [{"queue": kept.queue} if kept.queue else {} for kept in acted]
        return [
            {**of, **{name: decision_row(kept)[name] for name in SHOWN}} for of, kept in zip(named, acted, strict=True)
        ]

    def _decisions(self) -> list[KeptDecision]:
        return [kept for one in self._all.values() for kept in one.decisions]


class Supervision:
    """Admits seeds of one queue in their order, and judges a chunk as soon as all its programs have ended."""

    def __init__(self, run: Supervised, *, queue: str) -> None:
        asked = run.job.parameters["supervision"]
        self.rules = SupervisionRules.from_json(asked.get("rules", {}))
        self.decisions: list[KeptDecision] = []
        self._run = run
        self._queue = queue
        self._chunk_seeds = int(asked.get("chunk_seeds", CHUNK_SEEDS))
        self._policy = _policy(run, self.rules, self._chunk_seeds, queue)
        self._stored = _stored_decisions(run.job, self._policy)
        self._acting = [kept for kept in self._stored if kept.action != "continue"]
        """The decisions that seeds have to ask about: those of earlier runs from the start."""
        self._history = History()
        self._pending: list[tuple[int, list[Opened]]] = []
        """Seeds that were begun and are not judged yet, by number."""
        self._num_admitted = 0
        self._fate: Fate = "asked"

    def admit(self, opened: Opened) -> Fate:
        """Return what becomes of the next primary input; those of one seed come one after the other and share one fate."""
        if opened.request["chunk"] == 0:
            if len(self._pending) % self._chunk_seeds == 0:
                self.settle()
            self._fate = fate(self._acting, self._num_admitted, opened.request["doc_id"], self._run.recipe.name)
            if self._fate not in UNASKED and is_judged(self.decisions, self._num_admitted):
                self._pending.append((self._num_admitted, []))
            self._num_admitted += 1
        if self._pending and self._pending[-1][0] == self._num_admitted - 1:
            self._pending[-1][1].append(opened)
        return self._fate

    def withdraw(self, doc_id: str) -> None:
        """Take out a seed that is not to be judged."""
        self._pending = [item for item in self._pending if all(one.request["doc_id"] != doc_id for one in item[1])]

    def settle(self, *, is_over: bool = False) -> None:
        """Judge every chunk that is complete and answered; at the end, what is left is the last chunk.

        Once nothing more is asked, there is nothing to decide: what was begun then is finished and judged with the rest.
        """
        if self.decisions and self.decisions[-1].action in ("stop", "pause"):
            return
        while len(self._pending) >= self._chunk_seeds or (is_over and self._pending):
            chunk = self._pending[: self._chunk_seeds]
            if not all(self._has_ended(inputs) for _, inputs in chunk):
                return
            self._pending = self._pending[self._chunk_seeds :]
            self._judge([opened for _, inputs in chunk for opened in inputs], num_seeds=len(chunk))
            if self.decisions[-1].action in ("stop", "pause"):
                return

    def _has_ended(self, inputs: Sequence[Opened]) -> bool:
        """Return whether all parts of a seed were admitted, and the programs of all have ended."""
        return len(inputs) == inputs[0].request["num_chunks"] and not any(map(self._is_waiting, inputs))

    def _is_waiting(self, opened: Opened) -> bool:
        def known(ask: Ask) -> Answer | Failed | None:
            return self._run.find(opened.id_of(ask, self._run.tools))

        generator = self._run.recipe.generator
        end = advance(generator.program(opened.material), known)
        if end == Failed(reason=DEMOTED):
            simpler = simpler_program(generator, opened.material)
            assert simpler is not None
            end = advance(simpler, known)
        return isinstance(end, Waiting)

    @property
    def _is_demoted(self) -> bool:
        return any(kept.action == "demote" for kept in self.decisions)

    def _judge(self, inputs: list[Opened], *, num_seeds: int) -> None:
        outputs = [_features(output) for output in self._verdicts(inputs)]
        self._history = observe(self._history, outputs, self.rules)
        number = len(self.decisions)
        if number < len(self._stored):
            kept = self._stored[number]
        else:
            can_demote = has_simpler(self._run.recipe.generator) and not self._is_demoted
            kept = self._kept(judge(self._history, self.rules, has_simpler=can_demote), num_seeds)
            self._store(kept)
            self._acting += [kept] if kept.action != "continue" else []
        self.decisions.append(kept)
        self._history = follow(self._history, kept.decision)
        if kept.action == "demote":
            self._pending = [item for item in self._pending if is_judged([kept], item[0])]
        if kept.rule is not None:
            self._run.job.report(f"supervisor: {kept.rule}, {kept.action}: {kept.followed}", {"chunk": kept.chunk})

    def _verdicts(self, inputs: list[Opened]) -> list[JudgedOutput]:
        return judge_answers(inputs, self._run.answers, self._run.recipe, Instruments(tools=self._run.tools))

    def _kept(self, decision: Decision, num_seeds: int) -> KeptDecision:
        return KeptDecision(
            policy=self._policy,
            chunk=decision.chunk,
            action=decision.action,
            rule=decision.rule,
            share=decision.share,
            from_seed=self._num_admitted,
            num_seeds=num_seeds,
            numbers=decision.numbers,
            queue=self._queue,
        )

    def _store(self, kept: KeptDecision) -> None:
        key = f"{_folder(self._run.job)}/{self._run.attempt.fence:08d}-{kept.queue}{kept.chunk:06d}.json"
        self._run.job.lake.store.create(key, json.dumps(kept.to_json()).encode())


def _features(output: JudgedOutput) -> Features:
    return features(
        Output(
            text=output.text,
            seed=output.seed_text,
            reason=output.reason,
            prompt_tokens=output.spent.prompt_tokens,
            completion_tokens=output.spent.completion_tokens,
        )
    )


def _policy(run: Supervised, rules: SupervisionRules, chunk_seeds: int, queue: str) -> str:
    requests = run.job.upstream(f"synthesized/{run.job.dataset}/requests")
    asked = {
        "recipe": run.recipe.version,
        "rules": rules.to_json(),
        "chunk_seeds": chunk_seeds,
        "requests": requests,
        "mixed_characters": MIXED_CHARACTERS,
    }
    return fingerprint({**asked, **({"queue": queue} if queue else {})})


def _stored_decisions(job: Job, policy: str) -> list[KeptDecision]:
    """Return the decisions of earlier runs under this policy, by chunk: the first one about a chunk stands."""
    key = kept_key(job)
    keys = [*([key] if key is not None else []), *(item.key for item in job.lake.store.list(f"{_folder(job)}/"))]
    found: dict[int, KeptDecision] = {}
    for one in (one for key in keys for one in read_decisions(job, key)):
        if one.policy == policy:
            found.setdefault(one.chunk, one)
    return [found[chunk] for chunk in range(len(found)) if chunk in found]


def _folder(job: Job) -> str:
    return f"{staging_directory(f'synthesized/{job.dataset}/completions', job.partition)}/decisions"
