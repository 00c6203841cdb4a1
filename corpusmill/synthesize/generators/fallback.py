"""Too hard: decompose. Where the first generator's text is refused, a simpler one works on smaller pieces."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from corpusmill.synthesize.answer import AnswerForm, parse_answer
from corpusmill.synthesize.asking import Finished, GivenUp, Material, Program
from corpusmill.synthesize.check import Check, check_steps, step_refusal
from corpusmill.synthesize.chunk import chunk_spans, stitch
from corpusmill.synthesize.generators.bearing import bearing
from corpusmill.synthesize.masking import PLACEHOLDER
from corpusmill.synthesize.spelling import plain, tuple_of
from corpusmill.synthesize.together import together

if TYPE_CHECKING:
    from corpusmill.synthesize.generators.registry import Generator

USED = "generator_used"
"""Key in the document's `meta`: `first` or `second`."""
TOO_HARD = frozenset({"prompt_too_long", "empty_answer"})
"""Failures that smaller pieces may mend; any other one is the engine's, and fails the seed."""


@dataclass(frozen=True, kw_only=True)
class FallbackGenerator:
    """The first generator; where it gives up, or its text is cut off or refused by a check, the second one.

    So it is, too, where a prompt of the first does not fit the model's window, or gets no answer but blanks.
    """

    kind: ClassVar[str] = "fallback"

    first: "Generator"
    second: "Generator"
    checks: tuple[Check, ...] = ()
    """Of the first generator's text, parsed as `form`. The second's is left to the recipe's verifiers."""
    form: AnswerForm = "text"
    max_characters: int | None = None
    """Cut the primary input into chunks of at most so many characters for the second; None gives it whole."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "checks", tuple_of(Check, self.checks, where="checks of a fallback"))
        check_steps(self.checks, where="a fallback")
        if self.max_characters is not None and self.max_characters < 1:
            raise ValueError(f"max_characters must be at least 1 or None for the whole, got {self.max_characters}")

    @property
    def tools(self) -> tuple[str, ...]:
        from corpusmill.synthesize.generators.registry import tools_of

        return tuple(dict.fromkeys((*tools_of(self.first), *tools_of(self.second))))

    def names(self) -> set[str]:
        return self.first.names() | self.second.names()

    def program(self, material: Material) -> Program:
        end = yield from bearing(self.first.program(material), TOO_HARD)
        if isinstance(end, Finished) and self._refusal(end, material) is None:
            return Finished(text=end.text, finish_reason=end.finish_reason, meta={**end.meta, USED: "first"})
        return (yield from self.simpler_program(material))

    def simpler_program(self, material: Material) -> Program:
        """Start with the second generator at once: where the first one is known to fail."""
        parts = self._parts(material)
        ends = yield from together([self.second.program(part) for part in parts])
        given_up = next((end for end in ends if isinstance(end, GivenUp)), None)
        if given_up is not None:
            return given_up
        return self._stitched(material, [end for end in ends if isinstance(end, Finished)])

    def to_json(self) -> dict[str, Any]:
        from corpusmill.synthesize.generators.registry import generator_to_json

        return {
            "first": generator_to_json(self.first),
            "second": generator_to_json(self.second),
            "checks": plain(self.checks),
            "form": self.form,
            "max_characters": self.max_characters,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        from corpusmill.synthesize.generators.registry import generator_from_json

        read = {name: generator_from_json(value[name]) for name in ("first", "second")}
        return cls(**{**value, **read, "checks": tuple(map(Check.from_json, value["checks"]))})

    def _refusal(self, end: Finished, material: Material) -> str | None:
        text, reason = parse_answer(end.text, finish_reason=end.finish_reason, form=self.form)
        return reason or step_refusal(text, self.checks, material)

    def _parts(self, material: Material) -> list[Material]:
        return [replace(material, text=material.text[slice(*span)]) for span in self._spans(material.text)]

    def _spans(self, text: str) -> list[tuple[int, int]]:
        marks = [match.span() for match in PLACEHOLDER.finditer(text)]
        spans = chunk_spans(text, max_characters=self.max_characters, protected=marks)
        return [(start, end) for start, end in spans if text[start:end].strip()]

    def _stitched(self, material: Material, ends: Sequence[Finished]) -> Finished:
        """Join the parts as the text had them; one part that was cut off makes the whole cut off."""
        spans = self._spans(material.text)
        texts = [parse_answer(end.text, finish_reason=None, form=self.form)[0] for end in ends]
        is_cut = any(end.finish_reason == "length" for end in ends)
        return Finished(
            text=stitch(texts, text=material.text, spans=spans, separator=None),
            finish_reason="length" if is_cut else "stop",
            meta={USED: "second", "num_parts": str(len(ends))},
        )
