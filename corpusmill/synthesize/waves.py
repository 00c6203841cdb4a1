"""Many programs carried on side by side: what they wait for is asked in waves, and each wave is kept before the next.

Programs enter in order and leave when they end, so that a wave stays full to the last; memory holds about as many open
programs as a wave has asks. A program is replayed from its start in every wave, which costs next to nothing beside a
model. A killed run loses at most the wave that was being answered.
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


def plan_waves(runs: Iterable[Run], *, find: Find, size: int) -> Generator[Wave, None, dict[str, str]]:
    """Yield what to ask next, about `size` asks at a time, until no run waits; `find` must then know all of it.

    A run's asks are never split between waves, so a run that asks more at once makes its wave larger. Returns the step
    by id of every ask that the runs reached, in the order of runs and of asks in them, whatever was asked when.
    """
    if size < 1:
        raise ValueError(f"a wave holds at least one ask, got size {size}")
    reached: dict[int, dict[str, str]] = {}
    arrivals = enumerate(runs)
    window: list[_Open] = []
    while True:
        went_on = [_carry_on(one.number, one.run, find, reached) for one in window]
        window = [one for one in went_on if one is not None]
        wave: Wave = {}
        for one in window:
            if len(wave) < size:
                wave |= one.waiting
        while len(wave) < size and (arrival := next(arrivals, None)) is not None:
            if (new := _carry_on(*arrival, find, reached)) is not None:
                window.append(new)
                wave |= new.waiting
        if not wave:
            return _in_order(reached)
        yield wave
        assert all(find(request_id) is not None for request_id in wave), "a wave was left without answers"


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
