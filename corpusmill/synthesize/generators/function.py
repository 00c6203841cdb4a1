"""A plain function as generator: no model is asked."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from corpusmill.fingerprint import code_version
from corpusmill.named import named_function, split_name
from corpusmill.synthesize.asking import Finished, GivenUp, Material, Program
from corpusmill.synthesize.prompt import DOCUMENT

REFUSED = "function/refused"
NO_TEXT = "function/no_text"
RAISED = "function/raised_"


@dataclass(frozen=True, kw_only=True)
class FunctionGenerator:
    """A function from text to text, or to None where it refuses the text. The same text must give the same text.

    A text at which it raises, or gives something else than text, is rejected as `function/raised_<error>` or `function/no_text`.
    """

    kind: ClassVar[str] = "function"

    function: str
    """Named as `module:function`."""
    version: str = ""
    """The version of the module's code; filled in, so that a change of the code is a change of the recipe."""

    def __post_init__(self) -> None:
        named_function(self.function)
        current = code_version(split_name(self.function)[0])
        if self.version not in ("", current):
            raise ValueError(
                f"the code of {self.function} is {current} here, but the recipe was written for {self.version}; "
                "load the project again where the recipe stands"
            )
        object.__setattr__(self, "version", current)

    def names(self) -> set[str]:
        return {DOCUMENT}

    def program(self, material: Material) -> Program:
        yield from ()
        function = named_function(self.function)
        try:
            text = function(material.text)
        except Exception as error:  # noqa: BLE001 - somebody else's function: one text may not end the run for all others
            return GivenUp(reason=f"{RAISED}{type(error).__name__}")
        if text is None:
            return GivenUp(reason=REFUSED)
        return Finished(text=text) if isinstance(text, str) else GivenUp(reason=NO_TEXT)

    def to_json(self) -> dict[str, Any]:
        return {"function": self.function, "version": self.version}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        return cls(**value)
