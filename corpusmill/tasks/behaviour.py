"""Whether rewritten programs behave as before: the original's doctests, run in the sandbox against both.

A program without doctests has nothing to run; that its code is the same is another verifier's part.
"""

from corpusmill.engines.sandbox import DoctestJob, DoctestRun, run_doctest_jobs
from corpusmill.synthesize.verify.behaviour import behaviour_reason


def check_behaviour(before: list[str], after: list[str]) -> list[str | None]:
    """Return for each pair of programs why the second does not behave as the first, or None."""
    tested = [number for number, source in enumerate(before) if ">>>" in source]
    jobs = [
        job
        for number in tested
        for job in (
            DoctestJob(source=before[number]),
            DoctestJob(source=after[number], doctests_of=before[number]),
        )
    ]
    runs = run_doctest_jobs(jobs)
    reasons: list[str | None] = [None] * len(before)
    for place, number in enumerate(tested):
        reasons[number] = _reason(runs[2 * place], runs[2 * place + 1])
    return reasons


def _reason(before: DoctestRun, after: DoctestRun) -> str | None:
    if before.failure:
        return "baseline_fails"
    if after.failure:
        return "behaves_differently"
    return behaviour_reason(_statuses(before), _statuses(after))


def _statuses(run: DoctestRun) -> dict[str, str]:
    return {f"{name} {number}": outcome.status for (name, number), outcome in run.outcomes.items()}
