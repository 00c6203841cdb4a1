"""Any generator with reviews after it: what its cheap checks let pass, a model is asked about.

The reviews see the text as it will be read: parsed, with formulas and code as placeholders where the recipe masks them. A
text that is refused stays in its row, with what the reviews measured.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from corpusmill.synthesize.answer import AnswerForm, check_form, parse_answer
from corpusmill.synthesize.asking import Finished, GivenUp, Material, Program
from corpusmill.synthesize.check import Check, check_steps, step_refusal
from corpusmill.synthesize.generators.wording import CONTROLS
from corpusmill.synthesize.prompt import CONTROL_TOKENS
from corpusmill.synthesize.review.registry import review_from_json, review_to_json
from corpusmill.synthesize.review.review import Review
from corpusmill.synthesize.spelling import plain, tuple_of

if TYPE_CHECKING:
    from corpusmill.synthesize.generators.registry import Generator


@dataclass(frozen=True, kw_only=True)
class ReviewedGenerator:
    """A generator, checks of its text, then reviews, one after the other: the first that refuses ends it."""

    kind: ClassVar[str] = "reviewed"

    generator: "Generator"
    checks: tuple[Check, ...] = ()
    """What is refused here costs no review: those of the recipe's verifiers that are cheap, say."""
    reviews: tuple[Review, ...]
    form: AnswerForm = "text"
    """How the text is parsed for checks and reviews."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "checks", tuple_of(Check, self.checks, where="checks of a reviewed generator"))
        kind: type[Review] = Review  # type: ignore[type-abstract]
        object.__setattr__(self, "reviews", tuple_of(kind, self.reviews, where="reviews of a reviewed generator"))
        check_form(self.form)
        check_steps(self.checks, where="a reviewed generator")
        names = [review.name for review in self.reviews]
        if not names or len(set(names)) != len(names):
            raise ValueError(
                f"a reviewed generator needs reviews with different names, got {', '.join(names) or 'none'}"
            )

    @property
    def tools(self) -> tuple[str, ...]:
        from corpusmill.synthesize.generators.registry import tools_of

        return tools_of(self.generator)

    def names(self) -> set[str]:
        return self.generator.names().union(*(review.names() for review in self.reviews))

    def program(self, material: Material) -> Program:
        return self.after(self.generator.program(material), material)

    def after(self, program: Program, material: Material) -> Program:
        """Run a fresh program of the generator, then the reviews of its text."""
        end = yield from program
        if isinstance(end, GivenUp):
            return end
        text, reason = self._checked(end, material)
        meta = dict(end.meta)
        for review in self.reviews if reason is None else ():
            found = yield from review.program(material, text)
            meta |= found.meta
            reason = found.reason
            if reason is not None:
                break
        return replace(end, meta=meta) if reason is None else GivenUp(reason=reason, text=text, meta=meta)

    def _checked(self, end: Finished, material: Material) -> tuple[str, str | None]:
        text, reason = parse_answer(end.text, finish_reason=end.finish_reason, form=self.form)
        if reason is None and CONTROL_TOKENS.search(text):
            reason = CONTROLS
        return text, reason or step_refusal(text, self.checks, material)

    def to_json(self) -> dict[str, Any]:
        from corpusmill.synthesize.generators.registry import generator_to_json

        return {
            "generator": generator_to_json(self.generator),
            "checks": plain(self.checks),
            "reviews": [review_to_json(review) for review in self.reviews],
            "form": self.form,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        from corpusmill.synthesize.generators.registry import generator_from_json

        return cls(
            generator=generator_from_json(value["generator"]),
            checks=tuple(map(Check.from_json, value["checks"])),
            reviews=tuple(map(review_from_json, value["reviews"])),
            form=value["form"],
        )
