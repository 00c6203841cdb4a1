"""Whether rewritten Python programs behave as before, found out by running both in the sandbox.

Three things are compared, the cheap first: the original's own tests (its doctests, and a test that came with the seed),
generated inputs, and what the program prints as a script. Tests must pass before and after. For the others the original
is run twice, and only what both runs agree on is expected of the rewrite: programs that look at the clock or at chance
are not judged by it. Two runs may agree by chance, so a call that draws a random number is never compared, nor what a
program prints that knows random numbers and sets no seed.
"""

import re
from collections.abc import Mapping, Sequence

from corpusmill.engines.sandbox import (
    CallJob,
    CallOutcome,
    DoctestJob,
    DoctestRun,
    Limits,
    SandboxResult,
    run_call_jobs,
    run_doctest_jobs,
    run_programs,
)
from corpusmill.engines.sandbox_languages import Language
from corpusmill.synthesize.verify.behaviour import behaviour_reason, comparable
from corpusmill.synthesize.verify.inputs import Call, generated_calls
from corpusmill.tasks.behaviour_programs import check_programs

FIRST_LOOK = {"seconds": 0.2, "total_seconds": 2.0}
"""Processor time that the original's calls get; what takes longer is not compared."""
AGAIN = {"seconds": 2.0, "total_seconds": 20.0}
"""What the same calls get afterwards: ten times as much, so that a slower rewrite is not a wrong one."""
TESTS = Limits(cpu_seconds=10, wall_seconds=40)
SCRIPT = Limits(cpu_seconds=2, wall_seconds=4)
PATIENT = Limits(cpu_seconds=25, wall_seconds=50)


def check_behaviour(
    before: Sequence[str],
    after: Sequence[str],
    *,
    language: Language = "python",
    tests: Sequence[str | None] | None = None,
    require_tests: bool = False,
) -> list[str | None]:
    """Return for each pair of programs why the second does not behave as the first, or None.

    `tests` are programs' own tests, code that is run after the program's text and must not raise. Programs in other
    languages than Python are held against their tests and their output only, see `check_programs`.
    """
    if language != "python":
        return check_programs(language, before, after, tests=tests, require_tests=require_tests)
    pairs = dict(enumerate(zip(before, after, strict=True)))
    given = {number: test for number, test in enumerate(tests or ()) if test is not None}
    has_doctests = [number for number, source in enumerate(before) if ">>>" in source]
    reasons = {**_tested({number: pairs[number] for number in given}, given)}
    for number, reason in _documented({number: pairs[number] for number in has_doctests}).items():
        reasons[number] = reasons.get(number) or reason
    left = {number: pair for number, pair in pairs.items() if not reasons.get(number)}
    observed = set(reasons)
    for found in (_called(left), _as_scripts(left)):
        for number, reason in found.items():
            observed.add(number)
            reasons[number] = reasons.get(number) or reason
    unproven = "no_tests" if require_tests else None
    return [reasons[number] if number in observed else unproven for number in pairs]


Pairs = Mapping[int, tuple[str, str]]
_RANDOM = re.compile(r"^\s*(?:import|from)\s+(?:random|secrets|uuid)\b", re.MULTILINE)


def _tested(pairs: Pairs, tests: Mapping[int, str]) -> dict[int, str | None]:
    """Judge by the tests that came with the seeds."""
    programs = [f"{source}\n\n{tests[number]}\n" for number, pair in pairs.items() for source in pair]
    results = iter(run_programs(programs, limits=TESTS))
    return {number: _test_reason(next(results), next(results)) for number in pairs}


def _test_reason(before: SandboxResult, after: SandboxResult) -> str | None:
    statuses = [{"test": "passed" if result.succeeded else result.outcome} for result in (before, after)]
    return behaviour_reason(*statuses)


def _documented(pairs: Pairs) -> dict[int, str | None]:
    """Judge by the original's doctests."""
    jobs = [DoctestJob(source=source, doctests_of=pair[0]) for pair in pairs.values() for source in pair]
    runs = iter(run_doctest_jobs(jobs, limits=TESTS))
    return {number: _doctest_reason(next(runs), next(runs)) for number in pairs}


def _doctest_reason(before: DoctestRun, after: DoctestRun) -> str | None:
    if before.failure:
        return "baseline_fails"
    if after.failure:
        return "behaves_differently"
    return behaviour_reason(_statuses(before), _statuses(after))


def _statuses(run: DoctestRun) -> dict[str, str]:
    return {f"{name} {number}": outcome.status for (name, number), outcome in run.outcomes.items()}


def _called(pairs: Pairs) -> dict[int, str | None]:
    """Judge by generated inputs; programs of which no call can be compared are not in the result."""
    calls = {number: made for number, (source, _) in pairs.items() if (made := generated_calls(source))}
    jobs = [CallJob(source=pairs[number][0], calls=made, **FIRST_LOOK) for number, made in calls.items()]
    first = zip(calls.items(), run_call_jobs(jobs), strict=True)
    clear = {number: found for (number, made), outcomes in first if (found := _clear(made, outcomes))}
    again = [
        CallJob(source=source, calls=[call for call, _ in found], **AGAIN)
        for number, found in clear.items()
        for source in pairs[number]
    ]
    runs = iter(run_call_jobs(again, limits=PATIENT))
    judged = {}
    for number, found in clear.items():
        expected = comparable(dict(enumerate(outcome for _, outcome in found)), next(runs))
        got = next(runs)
        if expected:
            is_same = all(got.get(place) == outcome for place, outcome in expected.items())
            judged[number] = None if is_same else "behaves_differently"
    return judged


def _clear(calls: Sequence[Call], outcomes: Mapping[int, CallOutcome]) -> list[tuple[Call, CallOutcome]]:
    return [(calls[number], outcome) for number, outcome in outcomes.items() if outcome.status != "unclear"]


def _as_scripts(pairs: Pairs) -> dict[int, str | None]:
    """Judge by what the programs print when they are run; those that print nothing or fail are not in the result."""
    steady = {
        number: before for number, (before, _) in pairs.items() if "seed(" in before or not _RANDOM.search(before)
    }
    first = dict(zip(steady, run_programs([*steady.values()], limits=SCRIPT), strict=True))
    speaking = {number: result for number, result in first.items() if result.succeeded and result.stdout}
    again = [source for number in speaking for source in pairs[number]]
    runs = iter(run_programs(again, limits=PATIENT))
    judged = {}
    for number, expected in speaking.items():
        second, got = next(runs), next(runs)
        if second.succeeded and second.stdout == expected.stdout:
            is_same = got.succeeded and got.stdout == expected.stdout
            judged[number] = None if is_same else "behaves_differently"
    return judged
