"""Programs side by side: what they ask at the same time is asked at the same time."""

from collections.abc import Generator, Sequence

from corpusmill.synthesize.asking import Answer, Ask, Finished, GivenUp, Program

Ends = list[Finished | GivenUp]


def together(programs: Sequence[Program]) -> Generator[Sequence[Ask], Sequence[Answer], Ends]:
    """Run fresh programs to their ends, all of them; use it as `ends = yield from together(...)`."""
    ends: list[Finished | GivenUp | None] = [None] * len(programs)
    waiting: dict[int, Sequence[Ask]] = {}
    for number, program in enumerate(programs):
        _go_on(number, program, None, waiting=waiting, ends=ends)
    while waiting:
        asked = dict(waiting)
        answers = iter((yield [ask for asks in asked.values() for ask in asks]))
        for number, asks in asked.items():
            told = [next(answers) for _ in asks]
            _go_on(number, programs[number], told, waiting=waiting, ends=ends)
    return [end for end in ends if end is not None]


def _go_on(
    number: int,
    program: Program,
    answers: Sequence[Answer] | None,
    *,
    waiting: dict[int, Sequence[Ask]],
    ends: list[Finished | GivenUp | None],
) -> None:
    """Run one program to its next asks, or to its end."""
    try:
        waiting[number] = next(program) if answers is None else program.send(answers)
    except StopIteration as stop:
        waiting.pop(number, None)
        ends[number] = stop.value
