"""Many programs carried on side by side: what they wait for is asked in waves, and each wave is kept before the next.

Programs enter in order and leave when they end, so that a wave stays full to the last; memory holds about as many open
programs as a wave has asks. A program is replayed from its start in every wave, which costs next to nothing beside a
model. A killed run loses at most what was under way.
"""

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass

from corpusmill.fingerprint import fingerprint
from corpusmill.synthesize.asking import Answer, Ask, Failed, Program, Question, Waiting, advance
from corpusmill.synthesize.sampling import Sampling


@dataclass(frozen=True, kw_only=True)
class Run:
    """One program to carry on."""

    start: Callable[[], Program]
    id_of: Callable[[Ask], str]


@dataclass(frozen=True, kw_only=True)
class _Open:
    """A run that waits."""

    number: int
    run: Run
    waiting: dict[str, Ask]


Wave = dict[str, Ask]
"""What to ask next, by id."""
Find = Callable[[str], Answer | Failed | None]


def plan_waves(runs: Iterable[Run], *, find: Find, size: int, lanes: int = 1) -> Generator[Wave, None, dict[str, str]]:
    """Yield what to ask next until no run waits. At most about `size` asks are under way, in up to `lanes` waves.

    A wave is under way until `find` knows all of it. Where nothing can be asked before one of them is known, an empty wave
    says so: with one lane that never happens if each wave is answered before the next is asked for. With more, an engine
    has the next wave before the last answers of this one have come. A run's asks are never split between waves, so a run
    that asks more at once makes its wave larger. Returns the step by id of every ask that the runs reached, in the order
    of runs and of asks in them, whatever was asked when.
    """
    if size < 1 or lanes < 1:
        raise ValueError(f"a wave holds at least one ask, got size {size} on {lanes} lanes")
    plan = _Plan(runs, find)
    part = max(1, size // lanes)
    while True:
        plan.take_in()
        has_room = not plan.under_way or len(plan.under_way) + part <= size
        wave = plan.next_wave(part) if has_room else {}
        if not wave and not plan.under_way:
            return _in_order(plan.reached)
        plan.under_way |= wave.keys()
        yield wave


class _Plan:
    """The runs that wait, and the asks that are under way."""

    def __init__(self, runs: Iterable[Run], find: Find) -> None:
        self.reached: dict[int, dict[str, str]] = {}
        self.under_way: set[str] = set()
        self._arrivals = enumerate(runs)
        self._find = find
        self._window: list[_Open] = []

    def take_in(self) -> None:
        """Carry on the runs whose asks are all known now."""
        self.under_way = {request_id for request_id in self.under_way if self._find(request_id) is None}
        went_on = [one if one.waiting.keys() & self.under_way else self._carry_on(one) for one in self._window]
        self._window = [one for one in went_on if one is not None]

    def next_wave(self, size: int) -> Wave:
        """Return what nobody asked yet, of the oldest runs first."""
        wave: Wave = {}
        for one in self._window:
            if len(wave) < size:
                wave |= self._not_under_way(one)
        while len(wave) < size and (arrival := next(self._arrivals, None)) is not None:
            number, run = arrival
            if (new := _carry_on(number, run, self._find, self.reached)) is not None:
                self._window.append(new)
                wave |= self._not_under_way(new)
        return wave

    def _carry_on(self, one: _Open) -> _Open | None:
        return _carry_on(one.number, one.run, self._find, self.reached)

    def _not_under_way(self, one: _Open) -> Wave:
        return {request_id: ask for request_id, ask in one.waiting.items() if request_id not in self.under_way}


def ordered(questions: dict[str, Question]) -> list[tuple[Sampling, list[str]]]:
    """Return the ids of questions by sampling, those of one sampling with shared beginnings beside one another.

    Engines keep what they computed for a prefix of a prompt; system prompts and worked examples are computed once.
    """
    groups: dict[str, tuple[Sampling, list[str]]] = {}
    for request_id, question in questions.items():
        key = fingerprint(question.sampling.to_json())
        groups.setdefault(key, (question.sampling, []))[1].append(request_id)
    return [
        (sampling, sorted(ids, key=lambda request_id: _beginning(questions[request_id])))
        for sampling, ids in groups.values()
    ]


def _in_order(reached: dict[int, dict[str, str]]) -> dict[str, str]:
    """Return the ids of all runs, each with the step that asked it first."""
    steps: dict[str, str] = {}
    for number in sorted(reached):
        for request_id, step in reached[number].items():
            steps.setdefault(request_id, step)
    return steps


def _carry_on(number: int, run: Run, find: Find, reached: dict[int, dict[str, str]]) -> _Open | None:
    """Replay a run; note what it reached when it ended."""
    seen: dict[str, str] = {}

    def known(ask: Ask) -> Answer | Failed | None:
        request_id = run.id_of(ask)
        seen.setdefault(request_id, ask.step)
        return find(request_id)

    end = advance(run.start(), known)
    if isinstance(end, Waiting):
        return _Open(number=number, run=run, waiting={run.id_of(ask): ask for ask in end.asks})
    reached[number] = seen
    return None


def _beginning(question: Question) -> list[str]:
    return [part for message in question.messages for part in (message["role"], message["content"])]
