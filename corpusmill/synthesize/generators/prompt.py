"""The plainest generator: one prompt, one answer."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from corpusmill.synthesize.asking import Finished, Material, Program, Question
from corpusmill.synthesize.prompt import render_messages, template_names
from corpusmill.synthesize.sampling import Sampling

STEP = "answer"


@dataclass(frozen=True, kw_only=True)
class PromptGenerator:
    """One prompt, one answer. `$document` is the primary input between delimiters, the other `$names` fill as given.

    Exemplars are rendered with the same `user` prompt; where one has no metadata of its own, the word `unknown` stands.
    """

    kind: ClassVar[str] = "prompt"

    system: str
    user: str
    sampling: Sampling

    def names(self) -> set[str]:
        """Return every `$name` that the two prompts use; raise ValueError for a `$` that is neither name nor `$$`."""
        return template_names(system=self.system, user=self.user)

    def program(self, material: Material) -> Program:
        messages = render_messages(self.system, self.user, material)
        [answer] = yield [Question(step=STEP, messages=messages, sampling=self.sampling)]
        return Finished(text=answer.text, finish_reason=answer.finish_reason)

    def to_json(self) -> dict[str, Any]:
        return {"system": self.system, "user": self.user, "sampling": self.sampling.to_json()}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        return cls(**{**value, "sampling": Sampling.from_json(value["sampling"])})
