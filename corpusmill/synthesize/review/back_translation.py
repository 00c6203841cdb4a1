"""Back-translation: the output is translated back without sight of the seed, and both are compared by pure measures.

What comes back is in the seed's language, so numbers, units, names and spelling can be compared as strictly as within one
language. It is the same model that translates back: an error that it makes both ways is not found, and a text that it
translates badly only on the way back is lost.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

from corpusmill.synthesize.answer import EMPTY, parse_answer
from corpusmill.synthesize.asking import Answer, Material, Question
from corpusmill.synthesize.check import Check, check, check_steps, step_case, step_refusal
from corpusmill.synthesize.prompt import DOCUMENT, delimited, render_messages, template_names
from corpusmill.synthesize.review.review import OUTPUT, Reviewed, Reviewing
from corpusmill.synthesize.sampling import Sampling
from corpusmill.synthesize.spelling import plain, tuple_of
from corpusmill.synthesize.verify.near_seed import likeness

LOST = "lost_in_back_translation"
CHECKS = (
    check("target_language"),
    check("formulas_preserved"),
    check("numbers_preserved"),
    check("units_preserved"),
    check("entities_preserved"),
    check("near_seed", min_likeness=0.4),
)


@dataclass(frozen=True, kw_only=True)
class BackTranslation:
    """One prompt, and checks of its answer against the seed."""

    kind: ClassVar[str] = "back_translation"

    system: str = ""
    user: str
    """It names `$output`, never `$document`, and may name metadata and words, such as the seed's language."""
    sampling: Sampling
    checks: tuple[Check, ...] = CHECKS
    """What fails one is `lost_in_back_translation`; `meta` has the check's own reason."""
    name: str = "back_translation"

    def __post_init__(self) -> None:
        object.__setattr__(self, "checks", tuple_of(Check, self.checks, where="checks of a back-translation"))
        check_steps(self.checks, where="a back-translation")
        asked = template_names(system=self.system, user=self.user)
        if OUTPUT not in asked or DOCUMENT in asked:
            raise ValueError("a back-translation is shown $output, and no $document: it would only copy that")
        if not self.checks:
            raise ValueError("a back-translation needs checks: without any it is asked for nothing")

    def names(self) -> set[str]:
        return template_names(system=self.system, user=self.user) - {OUTPUT}

    def program(self, material: Material, text: str) -> Reviewing:
        values = {OUTPUT: delimited(text, OUTPUT)}
        messages = render_messages(self.system, self.user, replace(material, exemplars=()), values=values)
        bears = frozenset({EMPTY})
        [answer] = yield [Question(step=self.name, messages=messages, sampling=self.sampling, bears=bears)]
        return self._compared(answer, material)

    def _compared(self, answer: Answer, material: Material) -> Reviewed:
        back, lost = parse_answer(answer.text, finish_reason=answer.finish_reason, form="text", tags=(OUTPUT,))
        there = replace(material, output_language=None)
        lost = lost or step_refusal(back, self.checks, there)
        found = {"likeness": f"{likeness(step_case(back, there)):.3f}", **({"lost": lost} if lost else {})}
        meta = {f"{self.name}_{key}": value for key, value in found.items()}
        return Reviewed(reason=LOST if lost else None, meta=meta)

    def to_json(self) -> dict[str, Any]:
        value = {part.name: plain(getattr(self, part.name)) for part in fields(self)}
        return {**value, "sampling": self.sampling.to_json()}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        checks = tuple(map(Check.from_json, value["checks"]))
        return cls(**{**value, "sampling": Sampling.from_json(value["sampling"]), "checks": checks})
