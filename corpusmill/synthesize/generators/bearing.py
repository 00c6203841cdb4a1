"""Programs that are told a failure instead of being ended by it, so that something simpler can follow."""

from collections.abc import Collection
from dataclasses import replace

from corpusmill.synthesize.asking import Answer, Ask, GivenUp, Program, Question


def bearing(program: Program, reasons: Collection[str]) -> Program:
    """Run a program that gives up where one of its questions fails with one of these, unless it bears that itself."""
    try:
        asks = next(program)
        while True:
            answers = yield [_borne(ask, reasons) for ask in asks]
            failed = [why for ask, answer in zip(asks, answers, strict=True) if (why := _failure(ask, answer, reasons))]
            if failed:
                program.close()
                return GivenUp(reason=failed[0])
            asks = program.send(answers)
    except StopIteration as stop:
        end = stop.value
        return end


def _borne(ask: Ask, reasons: Collection[str]) -> Ask:
    return replace(ask, bears=ask.bears.union(reasons)) if isinstance(ask, Question) else ask


def _failure(ask: Ask, answer: Answer, reasons: Collection[str]) -> str | None:
    new = frozenset(reasons) - ask.bears if isinstance(ask, Question) else frozenset()
    return answer.finish_reason if answer.finish_reason in new else None
