"""A chain: named steps one after the other, each with a prompt of its own that may show what earlier steps wrote.

    plan -> sections, one after the other, each shown the end of what is written so far
    student -> teacher, draft -> critique -> revision

After each step its checks run: the first that refuses ends the chain, and nothing more is asked.
"""

import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from string import Template
from typing import Any, ClassVar, Self

from corpusmill.synthesize.answer import AnswerForm, check_form, parse_answer
from corpusmill.synthesize.asking import Answer, Ask, Finished, GivenUp, Material, Program, Question
from corpusmill.synthesize.check import Check, check_steps, step_refusal
from corpusmill.synthesize.generators.wording import refuse_exemplars
from corpusmill.synthesize.prompt import CONTROL_TOKENS, DOCUMENT, delimited, render_messages, template_names
from corpusmill.synthesize.sampling import Sampling
from corpusmill.synthesize.spelling import plain, tuple_of

ITEM, CONTEXT, ANSWER = "item", "context", "answer"
_RESERVED = (DOCUMENT, ITEM, CONTEXT, ANSWER, "failed")
_MARKED = re.compile(r"^[ \t]*(?:#{1,6}[ \t]+|[-*•][ \t]+|\d{1,3}[.)][ \t]+)(?P<words>\S.*?)[ \t#*:]*$", re.MULTILINE)
_LINE = re.compile(r"^[ \t]*(?P<words>\S.*?)[ \t]*$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Step:
    """One prompt of a chain. It may name `$document`, metadata, words, and earlier steps, each between delimiters."""

    name: str
    system: str = ""
    user: str
    sampling: Sampling
    form: AnswerForm = "text"
    schema: Mapping[str, Any] | None = None
    """JSON schema that the answer must follow."""
    checks: tuple[Check, ...] = ()
    """Cheap ones first; a refusal ends the chain with the reason `<step>/<reason>`."""
    for_each: str | None = None
    """Ask once for every item (heading, list item, else line) of this earlier step's answer, which is then `$item`.

    A prompt that names `$context`, the end of what this step has written so far, is asked one item after the other.
    """
    max_items: int = 20
    """More are refused as `<step>/too_many_items`."""
    context_characters: int = 2_000
    joined_as: str = "$answer"
    """How an item and its answer stand in the step's text, such as `## $item\\n\\n$answer`."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "checks", tuple_of(Check, self.checks, where=f"checks of step {self.name!r}"))
        if not self.name.isidentifier() or self.name in _RESERVED:
            raise ValueError(
                f"a step is named like a variable and not {', '.join(_RESERVED)}, for its name is a $name; got {self.name!r}"
            )
        check_form(self.form)
        check_steps(self.checks, where=f"step {self.name!r}")
        if self.max_items < 1 or self.context_characters < 1:
            raise ValueError(
                f"step {self.name!r} needs max_items >= 1 and context_characters >= 1, got {self.max_items} and "
                f"{self.context_characters}"
            )
        if unknown := template_names(joined_as=self.joined_as) - {ITEM, ANSWER}:
            raise ValueError(f"joined_as of step {self.name!r} can name $item and $answer, got {_named(unknown)}")
        if self.for_each is None and (lost := self.names() & {ITEM, CONTEXT}):
            raise ValueError(f"step {self.name!r} names {_named(lost)}, which only a step with for_each has")

    def names(self) -> set[str]:
        return template_names(system=self.system, user=self.user)

    def to_json(self) -> dict[str, Any]:
        value: dict[str, Any] = plain(self)
        return {**value, "sampling": self.sampling.to_json()}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        checks = tuple(map(Check.from_json, value["checks"]))
        return cls(**{**value, "sampling": Sampling.from_json(value["sampling"]), "checks": checks})


@dataclass(frozen=True, kw_only=True)
class ChainGenerator:
    """Steps one after the other. An answer that is empty, cut off or holds control tokens ends the chain, too."""

    kind: ClassVar[str] = "chain"

    steps: tuple[Step, ...]
    output: tuple[str, ...] = ()
    """The steps whose texts, joined by blank lines, are the chain's text; the last one where none is named."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", tuple_of(Step, self.steps, where="a chain"))
        object.__setattr__(self, "output", tuple_of(str, self.output, where="output of a chain"))
        names = [step.name for step in self.steps]
        if not names or len(set(names)) != len(names):
            raise ValueError(f"a chain needs steps with different names, got {', '.join(names) or 'none'}")
        if unknown := [name for name in self.output if name not in names]:
            raise ValueError(f"a chain gives {', '.join(unknown)}, but its steps are {', '.join(names)}")
        for number, step in enumerate(self.steps):
            if later := step.names() & set(names[number:]):
                raise ValueError(f"step {step.name!r} names {_named(later)}, which is not answered before it")
            if step.for_each is not None and step.for_each not in names[:number]:
                raise ValueError(
                    f"step {step.name!r} goes through the items of {step.for_each!r}, which is no step before it; "
                    f"there are: {', '.join(names[:number]) or 'none'}"
                )

    def names(self) -> set[str]:
        """Return the `$names` that the recipe must give."""
        own = {ITEM, CONTEXT, *(step.name for step in self.steps)}
        return {name for step in self.steps for name in step.names()} - own

    def program(self, material: Material) -> Program:
        refuse_exemplars(material, kind=self.kind)
        texts: dict[str, str] = {}
        for step in self.steps:
            text = yield from _run(step, texts, material)
            if isinstance(text, GivenUp):
                return text
            texts[step.name] = text
        return Finished(text="\n\n".join(texts[name] for name in self.output or (self.steps[-1].name,)))

    def to_json(self) -> dict[str, Any]:
        return {"steps": [step.to_json() for step in self.steps], "output": list(self.output)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        return cls(steps=tuple(map(Step.from_json, value["steps"])), output=tuple(value["output"]))


_Asking = Generator[Sequence[Ask], Sequence[Answer], str | GivenUp]


def items_of(text: str) -> list[str]:
    """Return the headings and list items of a text without their marks; all its lines where none is marked."""
    found = [match["words"] for match in _MARKED.finditer(text)]
    return found or [match["words"] for match in _LINE.finditer(text)]


def _run(step: Step, texts: Mapping[str, str], material: Material) -> _Asking:
    """Return the text of one step, or why the chain ends."""
    if step.for_each is None:
        [answer] = yield [_question(step, texts, material, {})]
        return _checked(step, answer, texts, material)
    items = items_of(texts[step.for_each])
    if len(items) > step.max_items:
        return GivenUp(reason=f"{step.name}/too_many_items")
    ask = _one_by_one if CONTEXT in step.names() else _all_at_once
    parts = yield from ask(step, items, texts, material)
    return parts if isinstance(parts, GivenUp) else "\n\n".join(parts)


def _one_by_one(
    step: Step, items: Sequence[str], texts: Mapping[str, str], material: Material
) -> Generator[Sequence[Ask], Sequence[Answer], list[str] | GivenUp]:
    parts: list[str] = []
    for item in items:
        context = "\n\n".join(parts)[-step.context_characters :]
        [answer] = yield [_question(step, texts, material, {ITEM: item, CONTEXT: delimited(context, CONTEXT)})]
        text = _checked(step, answer, texts, material)
        if isinstance(text, GivenUp):
            return text
        parts.append(_joined(step, item, text))
    return parts


def _all_at_once(
    step: Step, items: Sequence[str], texts: Mapping[str, str], material: Material
) -> Generator[Sequence[Ask], Sequence[Answer], list[str] | GivenUp]:
    answers = yield [_question(step, texts, material, {ITEM: item}) for item in items]
    found = [_checked(step, answer, texts, material) for answer in answers]
    given_up = next((text for text in found if isinstance(text, GivenUp)), None)
    if given_up is not None:
        return given_up
    return [_joined(step, item, str(text)) for item, text in zip(items, found, strict=True)]


def _question(step: Step, texts: Mapping[str, str], material: Material, more: Mapping[str, str]) -> Question:
    shown = {name: delimited(text, name) for name, text in texts.items()}
    messages = render_messages(step.system, step.user, material, values={**shown, **more})
    return Question(step=step.name, messages=messages, sampling=step.sampling, schema=step.schema)


def _checked(step: Step, answer: Answer, texts: Mapping[str, str], material: Material) -> str | GivenUp:
    tags = (DOCUMENT, CONTEXT, step.name, *texts)
    text, reason = parse_answer(answer.text, finish_reason=answer.finish_reason, form=step.form, tags=tags)
    if reason is None and CONTROL_TOKENS.search(text):
        reason = "control_tokens"
    reason = reason or step_refusal(text, step.checks, material)
    return text if reason is None else GivenUp(reason=f"{step.name}/{reason}")


def _joined(step: Step, item: str, text: str) -> str:
    return Template(step.joined_as).substitute({ITEM: item, ANSWER: text})


def _named(names: set[str]) -> str:
    return ", ".join(f"${name}" for name in sorted(names))
