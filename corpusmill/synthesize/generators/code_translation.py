"""A program in another programming language, which prints what the original prints: both are run.

An original that prints nothing proves nothing. Where it is Python and the recipe has a `driver` prompt, the model is first
asked for lines that call the code and print; what they print with the original is the truth. The model is never asked what
a program prints.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from corpusmill.curate.syntax import syntax_error_share
from corpusmill.synthesize.asking import Answer, Ask, Finished, GivenUp, Material, Program, Question
from corpusmill.synthesize.generators.code_answer import code_of, fenced, python_of
from corpusmill.synthesize.generators.program_tool import NAMES, PROGRAM, program_call, program_run
from corpusmill.synthesize.generators.wording import CONTROLS, CUT_OFF, EMPTY, clipped, filled, inert
from corpusmill.synthesize.prompt import delimited, render_messages, template_names
from corpusmill.synthesize.sampling import Sampling

_FINAL = (CUT_OFF, EMPTY, CONTROLS)
_OWN = "output"
_MAX_OUTPUT_CHARACTERS = 800
_MAX_COMPARED_CHARACTERS = 1_900
"""The tool tells the end of an output, about as long; what stood before could not be compared."""


@dataclass(frozen=True, kw_only=True)
class CodeTranslationGenerator:
    """`$document` is the program, with the lines of the driver where there are any."""

    kind: ClassVar[str] = "code_translation"
    tools: ClassVar[tuple[str, ...]] = (PROGRAM,)

    target: str
    """A language that the sandbox runs."""
    system: str
    user: str
    repair: str
    """The next turn after a translation that fails; `$output` is what it printed, or why it did not run."""
    driver: str | None = None
    """Asks for Python lines that call the code of `$document` and print what it gives."""
    sampling: Sampling
    max_attempts: int = 2
    keeps_original: bool = False
    """Whether the sample holds the original, too, each in a fenced block."""

    def __post_init__(self) -> None:
        if self.target not in NAMES:
            raise ValueError(f"the sandbox runs no {self.target!r}; it runs: {', '.join(NAMES)}")
        if self.max_attempts < 1:
            raise ValueError(f"max_attempts must be at least 1, got {self.max_attempts}")

    def names(self) -> set[str]:
        """Return every `$name` that the prompts use and that the recipe must give."""
        asked = template_names(system=self.system, user=self.user, driver=self.driver or "")
        return asked | (template_names(repair=self.repair) - {_OWN})

    def program(self, material: Material) -> Program:
        language = next((key for key, name in NAMES.items() if name.lower() == (material.language or "").lower()), None)
        if language is None or language == self.target:
            return GivenUp(reason="language_is_not_translated")
        source, wanted, reason = yield from self._original(material, language)
        if reason is not None:
            return GivenUp(reason=f"original/{reason}")
        shown = Material(text=source, metadata=material.metadata, words=material.words, exemplars=material.exemplars)
        messages = render_messages(self.system, self.user, shown)
        for attempt in range(1, self.max_attempts + 1):
            step = "translate" if attempt == 1 else "repair"
            [answer] = yield [Question(step=step, messages=messages, sampling=self.sampling)]
            code, told, reason = yield from self._tried(answer, wanted)
            if reason is None:
                pair = f"{fenced(source, language=language)}\n\n{fenced(code, language=self.target)}"
                meta = {"attempts": str(attempt), "target": self.target, "lines_compared": str(len(wanted))}
                return Finished(text=pair if self.keeps_original else code, meta=meta)
            if reason in _FINAL:
                break
            output = delimited(clipped(inert(told), max_characters=_MAX_OUTPUT_CHARACTERS), _OWN)
            again = {"role": "user", "content": filled(self.repair, shown, output=output)}
            messages = (*messages, {"role": "assistant", "content": answer.text}, again)
        return GivenUp(reason=str(reason))

    def _original(
        self, material: Material, language: str
    ) -> Generator[Sequence[Ask], Sequence[Answer], tuple[str, list[str], str | None]]:
        """Return the program, the lines that it prints, and why it cannot be compared."""
        source = material.text
        [told] = yield [program_call("original", language, source)]
        run = program_run(told)
        if run.succeeded and not run.output.strip() and self.driver is not None and language == "python":
            question = Question(
                step="driver", messages=render_messages(self.system, self.driver, material), sampling=self.sampling
            )
            [answer] = yield [question]
            lines, reason = python_of(answer)
            if reason is not None:
                return source, [], f"driver_{reason}"
            source = f"{source.rstrip()}\n\n\n{lines}"
            [told] = yield [program_call("original", language, source)]
            run = program_run(told)
        reason = None if run.output.strip() else "prints_nothing"
        if len(run.output) > _MAX_COMPARED_CHARACTERS:
            reason = "prints_too_much"
        return source, _lines(run.output), reason if run.succeeded else "fails"

    def _tried(
        self, answer: Answer, wanted: list[str]
    ) -> Generator[Sequence[Ask], Sequence[Answer], tuple[str, str, str | None]]:
        """Run the program of an answer; return it, what to say of it, and why it is refused."""
        code, reason = code_of(answer)
        if reason is None and syntax_error_share(code, NAMES[self.target]):
            reason = "does_not_parse"
        if reason is not None:
            return code, f"The answer is no program: {reason.replace('_', ' ')}.", reason
        [told] = yield [program_call("run", self.target, code)]
        run = program_run(told)
        if not run.succeeded:
            return code, run.shown, "program_fails"
        return code, run.shown, None if _lines(run.output) == wanted else "prints_something_else"

    def to_json(self) -> dict[str, Any]:
        names = ("target", "system", "user", "repair", "driver", "max_attempts", "keeps_original")
        return {**{name: getattr(self, name) for name in names}, "sampling": self.sampling.to_json()}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        return cls(**{**value, "sampling": Sampling.from_json(value["sampling"])})


def _lines(output: str) -> list[str]:
    """Return what was printed without blanks at ends of lines and empty lines at the end."""
    return [line.rstrip() for line in output.rstrip().splitlines()]
