"""A worded problem becomes a program whose answer is checked: it is run, and must print the number that is known.

The model never sees the solution or whether a number is near: a program that is refused comes back to it once, with what it
printed. The sample is the problem, the program and what running it gave.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, ClassVar, Self

from corpusmill.synthesize.asking import Answer, Ask, Finished, GivenUp, Material, Program, Question
from corpusmill.synthesize.generators.answer_key import AnswerKey, is_answer, last_number
from corpusmill.synthesize.generators.code_answer import computes, fenced, python_of
from corpusmill.synthesize.generators.python_tool import PYTHON, python_call, python_run
from corpusmill.synthesize.generators.wording import CONTROLS, CUT_OFF, EMPTY, clipped, filled, inert
from corpusmill.synthesize.prompt import delimited, render_messages, template_names
from corpusmill.synthesize.sampling import Sampling

_OWN = "output"
_FINAL = (CUT_OFF, EMPTY, CONTROLS)
"""Showing these to the model again would not help, or would not be safe."""
_MAX_OUTPUT_CHARACTERS = 800


@dataclass(frozen=True, kw_only=True)
class CheckedProgramGenerator:
    """One prompt for the program, and one that shows what was wrong with it."""

    kind: ClassVar[str] = "checked_program"
    tools: ClassVar[tuple[str, ...]] = (PYTHON,)

    system: str
    user: str
    repair: str
    """The next turn after a program that fails; `$output` is what it printed, or why it did not run."""
    sampling: Sampling
    max_attempts: int = 2
    key: AnswerKey = field(default_factory=AnswerKey)

    def __post_init__(self) -> None:
        if self.max_attempts < 1:
            raise ValueError(f"max_attempts must be at least 1, got {self.max_attempts}")
        self.key.refuse_shown(self._asked())

    def names(self) -> set[str]:
        """Return every `$name` that the prompts use and that the recipe must give, the answer's column with them."""
        return self._asked() | self.key.names()

    def _asked(self) -> set[str]:
        return template_names(system=self.system, user=self.user) | (template_names(repair=self.repair) - {_OWN})

    def program(self, material: Material) -> Program:
        expected = self.key.expected(material)
        if expected is None:
            return GivenUp(reason="no_known_answer")
        problem = self.key.problem(material)
        messages = render_messages(self.system, self.user, problem)
        reason = None
        for attempt in range(1, self.max_attempts + 1):
            step = "program" if attempt == 1 else "repair"
            [answer] = yield [Question(step=step, messages=messages, sampling=self.sampling)]
            source, output, reason = yield from _tried(answer, expected)
            if reason is None:
                return Finished(text=_sample(problem.text, source, output), meta={"attempts": str(attempt)})
            if reason in _FINAL:
                break
            shown = delimited(clipped(inert(output), max_characters=_MAX_OUTPUT_CHARACTERS), _OWN)
            again = {"role": "user", "content": filled(self.repair, problem, output=shown)}
            messages = (*messages, {"role": "assistant", "content": answer.text}, again)
        return GivenUp(reason=str(reason))

    def to_json(self) -> dict[str, Any]:
        return {
            "system": self.system,
            "user": self.user,
            "repair": self.repair,
            "sampling": self.sampling.to_json(),
            "max_attempts": self.max_attempts,
            "key": self.key.to_json(),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        read = {"sampling": Sampling.from_json(value["sampling"]), "key": AnswerKey.from_json(value["key"])}
        return cls(**{**value, **read})


def _tried(
    answer: Answer, expected: Decimal
) -> Generator[Sequence[Ask], Sequence[Answer], tuple[str, str, str | None]]:
    """Run the program of an answer; return it, what it printed or why it did not run, and why it is refused."""
    source, reason = python_of(answer)
    if reason is not None:
        return source, f"The answer is no program: {reason.replace('_', ' ')}.", reason
    if not computes(source):
        return source, "The program calculates nothing.", "answer_not_computed"
    [told] = yield [python_call("run", source)]
    run = python_run(told)
    if not run.succeeded:
        return source, run.shown, "program_fails"
    return source, run.output, None if is_answer(last_number(run.output), expected) else "wrong_answer"


def _sample(problem: str, source: str, output: str) -> str:
    return "\n\n".join([problem.strip(), fenced(source, language="python"), f"Output:\n{output.strip()}"])
