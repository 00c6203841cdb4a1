"""The global supervisor of one recipe's run: it is shown chunk after chunk and says after each what is to follow.

A pure state machine: the state after some chunks is a function of their outputs and of the decisions about them, so a run
that was killed shows the stored chunks again and is where it was. Memory is bounded: it keeps the statistics of the run's
first `reference_outputs` outputs, of its last chunks, and of all together.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import Any

from corpusmill.synthesize.supervise.drift import drift
from corpusmill.synthesize.supervise.features import Features
from corpusmill.synthesize.supervise.findings import Finding, View, find
from corpusmill.synthesize.supervise.rules import RULES, Action, SupervisionRules
from corpusmill.synthesize.supervise.statistics import Start, Statistics, chunk_statistics, start_of

BLOCK_OUTPUTS = 32
"""Neighbours whose statistics are kept apart at the start, to see how much outputs of neighbouring seeds are alike."""
_START_OUTPUTS = 8
"""The first chunk with so many answered outputs is the start that later ones are measured from."""
_SHOWN_CHUNKS = 3
_SEVERITY: Mapping[Action, int] = {"continue": 0, "lower_share": 1, "pause": 2, "demote": 3, "stop": 4}


@dataclass(frozen=True, kw_only=True)
class Decision:
    """What follows after a chunk, by which rule, from which numbers."""

    chunk: int
    """Counted from 0 over the run, all its recipes together."""
    action: Action
    rule: str | None = None
    """None where no rule acts."""
    share: float = 1.0
    """Of the remaining seeds, how many are still asked."""
    numbers: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, eq=False)
class History:
    """What the supervisor knows of a recipe's run."""

    num_chunks: int = 0
    """Looks so far, those at an earlier recipe of the run included: they share one budget of false alarms."""
    share: float = 1.0
    start: Start | None = None
    early: tuple[Statistics, ...] = ()
    early_blocks: tuple[tuple[Statistics, ...], ...] = ()
    """Of each of the first chunks, the statistics of so many outputs in a row as a block has."""
    early_sums: tuple[Statistics, ...] = ()
    """Of the first, of the first two, and so on."""
    late: tuple[Statistics, ...] = ()
    """The newest last."""
    num_seen: int = 0
    """Chunks of this recipe."""
    num_settled: int = 0
    """Of them, those before the last decision that let the recipe go on otherwise: they are no evidence any more."""
    total: Statistics | None = None


def observe(history: History, outputs: Sequence[Features], rules: SupervisionRules) -> History:
    """Return what is known after one more chunk."""
    is_start = history.start is None and sum(not item.is_failed for item in outputs) >= _START_OUTPUTS
    start = start_of(outputs) if is_start else history.start
    blocks = tuple(chunk_statistics(block, start, is_start=is_start) for block in _blocks(outputs))
    chunk = reduce(add, blocks)
    num_early = sum(item.num_outputs for item in history.early)
    is_early = num_early < rules.reference_outputs and len(history.early) == history.num_seen
    return replace(
        history,
        num_chunks=history.num_chunks + 1,
        num_seen=history.num_seen + 1,
        start=start,
        early=(*history.early, chunk) if is_early else history.early,
        early_blocks=(*history.early_blocks, blocks) if is_early else history.early_blocks,
        early_sums=(*history.early_sums, _plus(history.early_sums, chunk)) if is_early else history.early_sums,
        late=(*history.late, chunk)[-max(rules.windows) :],
        total=chunk if history.total is None else history.total + chunk,
    )


def judge(history: History, rules: SupervisionRules, *, has_simpler: bool = False) -> Decision:
    """Return the decision about the last chunk that was observed."""
    assert history.total is not None, "nothing was observed yet"
    level = look_level(history.num_chunks, rules)
    findings = find(_views(history, rules), rules)
    chosen = [
        (finding, _action(finding, history, rules, has_simpler)) for finding in findings if finding.p_value < level
    ]
    seen = _seen(history)
    if not chosen:
        return Decision(chunk=history.num_chunks - 1, action="continue", share=history.share, numbers=seen)
    chosen.sort(key=lambda item: (-_SEVERITY[item[1]], item[0].p_value))
    finding, action = chosen[0]
    return Decision(
        chunk=history.num_chunks - 1,
        action=action,
        rule=finding.rule,
        share=history.share * rules.lower_share_to if action == "lower_share" else history.share,
        numbers={
            **finding.numbers,
            "p_value": finding.p_value,
            "level": level,
            "also": sorted(item.rule for item, _ in chosen[1:]),
            **seen,
        },
    )


def follow(history: History, decision: Decision) -> History:
    """Return the state in which the run goes on after a decision, the stored one or a new one."""
    if decision.action == "demote":
        return History(num_chunks=history.num_chunks)
    if decision.action == "lower_share":
        return replace(history, share=decision.share, num_settled=history.num_seen)
    return history


def look_level(look: int, rules: SupervisionRules) -> float:
    """Return how unlikely a rule's numbers must be at the look of this number, counted from 1.

    1 / (n (n + 1)) adds up to 1 over all n, so all looks of all rules together stay within `false_alarm`.
    """
    return rules.false_alarm / (look * (look + 1) * len(RULES))


def _blocks(outputs: Sequence[Features]) -> list[Sequence[Features]]:
    """Cut a chunk into blocks of neighbours, the last one the longest: at least one block, if an empty one."""
    number = max(1, len(outputs) // BLOCK_OUTPUTS)
    ends = [*range(BLOCK_OUTPUTS, number * BLOCK_OUTPUTS, BLOCK_OUTPUTS), len(outputs)]
    return [outputs[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]


def _plus(sums: Sequence[Statistics], chunk: Statistics) -> Statistics:
    return sums[-1] + chunk if sums else chunk


def _seen(history: History) -> dict[str, Any]:
    """Return what every decision's row shows: the chunk, all so far, and the way from the start to the last chunks."""
    assert history.total is not None
    late = history.late[-_SHOWN_CHUNKS:]
    early = _reference(history, len(late))
    drifted = {} if early is None else drift(early, reduce(add, late))
    return {"chunk": history.late[-1].to_json(), "so_far": history.total.to_json(), "drift": drifted}


def _views(history: History, rules: SupervisionRules) -> list[View]:
    """Return the last chunks in windows, beside all first chunks and beside the very first; and all of the run.

    The very first chunks show what became other soon after, where the rest of the first chunks is other already.
    """
    fresh = min(history.num_seen - history.num_settled, len(history.late))
    views, recent = [], None
    for window in range(1, fresh + 1):
        chunk = history.late[-window]
        recent = chunk if recent is None else recent + chunk
        if window in rules.windows:
            number = min(len(history.early), history.num_seen - window)
            for first in sorted({number, min(number, _num_first(history, rules))}):
                reference = history.early_sums[first - 1] if first else None
                views.append(View(window=window, recent=recent, early=_early(history, number), reference=reference))
    if history.total is not None and not history.num_settled:
        views.append(View(window=0, recent=history.total, early=_early(history, len(history.early))))
    return views


def _early(history: History, number: int) -> tuple[Sequence[Statistics], ...]:
    """Return the first chunks, and their blocks."""
    return history.early[:number], [block for blocks in history.early_blocks[:number] for block in blocks]


def _num_first(history: History, rules: SupervisionRules) -> int:
    """Return how many chunks it takes for twice the outputs that a reference needs."""
    wanted = 2 * rules.min_reference_outputs
    return next((n for n, total in enumerate(history.early_sums, 1) if total.num_outputs >= wanted), len(history.early))


def _reference(history: History, window: int) -> Statistics | None:
    """Return the sum of the run's first chunks, without any of the last `window`."""
    number = min(len(history.early), history.num_seen - window)
    return history.early_sums[number - 1] if number > 0 else None


def _action(finding: Finding, history: History, rules: SupervisionRules, has_simpler: bool) -> Action:
    action = rules.action(finding.rule)
    if action == "lower_share" and history.share * rules.lower_share_to < rules.min_share:
        action = "demote"
    return "stop" if action == "demote" and not has_simpler else action
