"""What the rules find in a run so far: each finding with the numbers that led to it.

All comparisons are of counts: outputs (or pairs) that are so now and were so at the run's start. Each rule makes one test
for every window, and for every edge of a histogram; the smallest probability is multiplied by how many tests the rule
made (Bonferroni), so it bounds the rule as a whole.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from corpusmill.synthesize.supervise.exact import PRIOR_EFFECT, binomial_tail, design_effect, rise
from corpusmill.synthesize.supervise.features import ACCEPTED
from corpusmill.synthesize.supervise.rules import SupervisionRules
from corpusmill.synthesize.supervise.statistics import EDGES, Statistics, mean_value

_DECIMALS = 4


class Share(NamedTuple):
    """So many of so many."""

    hits: float
    outputs: float

    @property
    def value(self) -> float:
        return self.hits / self.outputs if self.outputs else 0.0


Count = Callable[[Statistics], Share]


@dataclass(frozen=True, kw_only=True)
class View:
    """The last chunks of a run beside its first ones."""

    window: int
    """How many chunks are the recent ones; 0 for all of the run."""
    recent: Statistics
    early: Sequence[Sequence[Statistics]]
    """The first chunks, and the same cut into blocks of neighbours: how much these scatter, the recent ones may."""
    reference: Statistics | None = None
    """The sum of the early ones where none of them is among the recent; None compares with nothing."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A rule's threshold is passed, and it is so unlikely to be chance."""

    rule: str
    p_value: float
    numbers: Mapping[str, Any] = field(default_factory=dict)


def find(views: Sequence[View], rules: SupervisionRules) -> list[Finding]:
    """Return for each rule whose threshold is passed its most unlikely view, however likely that is by chance."""
    found: dict[str, Finding] = {}
    for view in views:
        for finding in (*_floors(view, rules), *_changes(view, rules)):
            scaled = Finding(
                rule=finding.rule,
                p_value=min(1.0, finding.p_value * len(views)),
                numbers={"window_chunks": view.window, **finding.numbers},
            )
            if finding.rule not in found or scaled.p_value < found[finding.rule].p_value:
                found[finding.rule] = scaled
    return list(found.values())


def _floors(view: View, rules: SupervisionRules) -> Iterator[Finding]:
    """What is not to be, whatever the run began with."""
    rejected = _rejected(view.recent)
    if rejected.outputs:
        yield from _beyond("accept_below_floor", _rejected, 1 - rules.min_accept_rate, view)
        if rules.max_tokens_per_accepted_token is not None:
            needed = _needed_accept_rate(view.recent, rules.max_tokens_per_accepted_token)
            yield from _beyond("cost_above_ceiling", _rejected, 1 - needed, view)
    yield from _beyond("too_many_alike", _alike(rules), rules.max_alike_share, view)
    yield from _beyond("failing", _failed, rules.max_failed_share, view)


def _changes(view: View, rules: SupervisionRules) -> Iterator[Finding]:
    """What is no longer as it was at the start."""
    reference = view.reference
    if reference is None or reference.num_outputs < rules.min_reference_outputs or not view.recent.num_outputs:
        return
    before, now = 1 - _rejected(reference).value, 1 - _rejected(view.recent).value
    for rule, part in (("accept_fell", rules.accept_fall), ("accept_waned", rules.accept_wane)):
        if now <= part * before:
            yield from _rose(rule, _rejected, view)
    reasons = sorted({*view.recent.reasons, *reference.reasons} - {ACCEPTED})
    for reason in reasons:
        yield from _rose("reason_rose", _reason(reason), view, least=rules.reason_rise, tests=len(reasons), of=reason)
    yield from _rose("grew_alike", _alike(rules), view, least=rules.shift)
    for edge in ("same_opening", "same_closing"):
        yield from _rose("same_edges", _pairs(edge), view, least=rules.shift, tests=2, of=edge)
    is_close = mean_value("seed_closeness", reference) >= rules.min_seed_closeness
    for shift in _SHIFTS:
        if shift.rule == ("lost_likeness" if is_close else "left_seeds"):
            continue
        is_likeness = shift.rule == "lost_likeness"
        highest = mean_value("likeness", reference) - rules.likeness_fall if is_likeness else math.inf
        for is_upper in shift.sides:
            yield from _shifted(shift, view, least=rules.shift, is_upper=is_upper, highest=highest)


class _Shift(NamedTuple):
    rule: str
    histogram: str
    sides: tuple[bool, ...]
    """Sides of the histogram that may grow: True is the upper one."""


_SHIFTS = (
    _Shift("spread_fell", "pair_closeness", (True,)),
    _Shift("left_seeds", "seed_closeness", (False,)),
    _Shift("drifted", "start_closeness", (False,)),
    _Shift("lost_likeness", "likeness", (False,)),
    _Shift("lengths_shifted", "length_ratio", (False, True)),
)


def _beyond(rule: str, count: Count, limit: float, view: View) -> Iterator[Finding]:
    now = count(view.recent)
    if now.value <= limit or not now.outputs:
        return
    effect = _effect(count, view)
    p_value = binomial_tail(now.hits, outputs=now.outputs, share=limit, effect=effect)
    numbers = {"recent": list(now), "limit": round(limit, _DECIMALS), "design_effect": round(effect, _DECIMALS)}
    yield Finding(rule=rule, p_value=p_value, numbers=numbers)


def _rose(
    rule: str, count: Count, view: View, *, least: float = 0.0, tests: int = 1, of: str | float | None = None
) -> Iterator[Finding]:
    assert view.reference is not None
    now, before = count(view.recent), count(view.reference)
    if not now.outputs or not before.outputs or now.value - before.value < least:
        return
    effect = _effect(count, view)
    numbers = {"recent": list(now), "reference": list(before), "design_effect": round(effect, _DECIMALS)}
    p_value = rise(recent=now, reference=before, effect=effect) * tests
    yield Finding(rule=rule, p_value=min(1.0, p_value), numbers=numbers if of is None else {"of": of, **numbers})


def _shifted(shift: _Shift, view: View, *, least: float, is_upper: bool, highest: float) -> Iterator[Finding]:
    """Look at the edge, up to the highest, beyond which most has come to lie, counting a test for each edge and side.

    An edge with all outputs on one side of it, early and late, could have shown nothing and is not counted.
    """
    assert view.reference is not None
    histogram, edges = shift.histogram, EDGES[shift.histogram][1:-1]
    now, before = view.recent.shares_below[histogram], view.reference.shares_below[histogram]
    gained = np.where(edges <= highest, before - now if is_upper else now - before, -1)
    at = int(np.argmax(gained)) + 1
    if gained[at - 1] < least:
        return

    def beyond(statistics: Statistics) -> Share:
        bins = statistics.histograms[histogram]
        return Share(float((bins[at:] if is_upper else bins[:at]).sum()), float(bins.sum()))

    edge = round(float(EDGES[histogram][at]), _DECIMALS)
    tests = len(shift.sides) * int(((now + before > 0) & (now + before < 2) & (edges <= highest)).sum())
    side = f"{histogram} {'at least' if is_upper else 'below'} {edge:g}"
    yield from _rose(shift.rule, beyond, view, least=least, tests=tests, of=side)


def _effect(count: Count, view: View) -> float:
    """Return by how much neighbours resemble one another in what is counted, in small groups or in large ones."""
    return max((design_effect([count(group) for group in groups]) for groups in view.early), default=PRIOR_EFFECT)


def _rejected(statistics: Statistics) -> Share:
    return Share(statistics.num_outputs - statistics.num_accepted, statistics.num_outputs)


def _failed(statistics: Statistics) -> Share:
    return Share(statistics.num_failed, statistics.num_failed + statistics.num_outputs)


def _reason(reason: str) -> Count:
    return lambda statistics: Share(statistics.reasons.get(reason, 0), statistics.num_outputs)


def _pairs(edge: str) -> Count:
    return lambda statistics: Share(getattr(statistics, edge), statistics.num_pairs)


def _alike(rules: SupervisionRules) -> Count:
    """Count the pairs that are alike, to the next edge of the histogram."""
    first = int(np.searchsorted(EDGES["pair_overlap"], rules.alike_overlap - 1e-9))
    return lambda statistics: Share(float(statistics.histograms["pair_overlap"][first:].sum()), statistics.num_pairs)


def _needed_accept_rate(statistics: Statistics, ceiling: float) -> float:
    """Return the accept rate at which accepted tokens cost just the ceiling."""
    tokens = statistics.prompt_tokens + statistics.completion_tokens
    accepted, number = statistics.accepted_tokens, statistics.num_accepted
    if not accepted:
        accepted, number = statistics.completion_tokens, statistics.num_outputs
    if not accepted:
        return 0.0
    return min(1.0, tokens / statistics.num_outputs / (ceiling * accepted / number))
