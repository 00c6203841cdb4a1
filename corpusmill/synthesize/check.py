"""A verifier as recipes name it: by name, with its parameters."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from corpusmill.synthesize.asking import Material
from corpusmill.synthesize.spelling import tuples
from corpusmill.synthesize.verify.case import Case
from corpusmill.synthesize.verify.registry import EXECUTES, check_parameters, refusal

Scope = Literal["chunk", "document"]


@dataclass(frozen=True, kw_only=True)
class Check:
    """One verifier by name with its parameters, run on each chunk or on the stitched document."""

    verifier: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    scope: Scope = "document"

    def __post_init__(self) -> None:
        check_parameters(self.verifier, self.parameters, scope=self.scope)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Check":
        return cls(**{**value, "parameters": tuples(value["parameters"])})


def check(verifier: str, *, scope: Scope = "document", **parameters: Any) -> Check:
    """Return `Check` in fewer words: `check("length_ratio", minimum=0.5, maximum=1.5)`."""
    return Check(verifier=verifier, parameters=parameters, scope=scope)


def check_steps(checks: Iterable[Check], *, where: str) -> None:
    """Raise ValueError when one of these checks cannot run between the steps of a program."""
    if any(item.verifier == EXECUTES for item in checks):
        raise ValueError(f"{where} has the verifier {EXECUTES}, which runs whole documents; put it into the recipe")


def step_refusal(text: str, checks: Iterable[Check], material: Material) -> str | None:
    """Return the first reason why a step's text is refused; it is compared with what the model was shown."""
    return refusal(step_case(text, material), ((item.verifier, item.parameters) for item in checks))


def step_case(text: str, material: Material) -> Case:
    """Return a step's text beside what the model was shown."""
    return Case(
        seed="\n\n".join((material.text, *material.seconds)),
        output=text,
        seed_language=material.language,
        language=material.output_language or material.language,
    )
