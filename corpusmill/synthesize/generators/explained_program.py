"""A program becomes its explanation: the sample is the code with the prose after it, and the prose names only what is there.

What the explanation sets between backticks and is written like a name must stand in the program.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from corpusmill.synthesize.asking import Finished, GivenUp, Material, Program, Question
from corpusmill.synthesize.generators.code_answer import fenced
from corpusmill.synthesize.generators.wording import refusal
from corpusmill.synthesize.prompt import render_messages, template_names
from corpusmill.synthesize.sampling import Sampling

_QUOTED = re.compile(r"(?<!`)`([^`\n]{1,200})`(?!`)")
_NAME = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")


@dataclass(frozen=True, kw_only=True)
class ExplainedProgramGenerator:
    """One prompt, one explanation."""

    kind: ClassVar[str] = "explained_program"

    system: str
    user: str
    sampling: Sampling
    min_named: int = 0
    """At least so many different names of the program must be named between backticks, else `names_too_little`."""

    def __post_init__(self) -> None:
        if self.min_named < 0:
            raise ValueError(f"min_named must be 0 or more, got {self.min_named}")

    def names(self) -> set[str]:
        """Return every `$name` that the prompts use."""
        return template_names(system=self.system, user=self.user)

    def program(self, material: Material) -> Program:
        messages = render_messages(self.system, self.user, material)
        [answer] = yield [Question(step="explain", messages=messages, sampling=self.sampling)]
        named = quoted_names(answer.text)
        reason = refusal(answer)
        if reason is None and not named <= set(_parts(material.text)):
            reason = "names_what_is_not_there"
        if reason is None and len(named) < self.min_named:
            reason = "names_too_little"
        if reason is not None:
            return GivenUp(reason=reason)
        code = fenced(material.text, language=(material.language or "").lower())
        return Finished(text=f"{code}\n\n{answer.text.strip()}", meta={"named": str(len(named))})

    def to_json(self) -> dict[str, Any]:
        return {
            "system": self.system,
            "user": self.user,
            "sampling": self.sampling.to_json(),
            "min_named": self.min_named,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        return cls(**{**value, "sampling": Sampling.from_json(value["sampling"])})


def quoted_names(explanation: str) -> set[str]:
    """Return the names that stand between backticks, alone or before a call's parentheses, part by part at each dot."""
    quoted = [text.partition("(")[0].strip() for text in _QUOTED.findall(explanation)]
    return {part for text in quoted if _NAME.fullmatch(text) for part in text.split(".")}


def _parts(text: str) -> list[str]:
    return re.findall(r"[^\W\d]\w*", text)
