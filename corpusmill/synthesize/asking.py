"""How a generator works: it says what it wants to ask next, is told the answers, and goes on until it has a text.

A generator's program is a Python generator over one primary input: it yields lists of asks (those of one list do not
depend on one another), is sent their answers in the same order, and returns how it ended. It keeps no state elsewhere
and looks at no clock, so a program can be run again from its start at any time: every ask is named by what decides its
answer, and what is answered already is not asked again. That is how chains, dialogues and agents of many turns resume
after a kill: by replay, with at most the chunk lost that was being answered.

    def program(material):
        [plan] = yield [Question(step="plan", messages=..., sampling=...)]
        sections = yield [Question(step="section", ...) for heading in headings(plan.text)]
        return Finished(text="\n\n".join(section.text for section in sections))
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from corpusmill.synthesize.sampling import Sampling

Message = Mapping[str, str]
"""`role` (system, user or assistant) and `content`."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """Something to ask a model."""

    step: str
    """Which step of the recipe asks; costs and failures are counted by it. No part of what decides the answer."""
    messages: tuple[Message, ...]
    sampling: Sampling
    schema: Mapping[str, Any] | None = None
    """JSON schema that the answer must follow (structured output), or None for free text."""
    bears: frozenset[str] = frozenset()
    """Failures that the program is told instead of being ended, as an empty answer with the failure as `finish_reason`. No
    part of what decides the answer."""


@dataclass(frozen=True, kw_only=True)
class ToolCall:
    """Something to ask a tool: a named function outside of the model, such as the sandbox's Python."""

    step: str
    tool: str
    arguments: Mapping[str, str]


Ask = Question | ToolCall


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What came back for one ask."""

    text: str
    finish_reason: str | None = "stop"
    """`length` where max_tokens cut it; a failure that the question bears."""


@dataclass(frozen=True, kw_only=True)
class Finished:
    """The program has its text, still to be parsed and verified as the recipe says."""

    text: str
    finish_reason: str | None = "stop"
    meta: Mapping[str, str] = field(default_factory=dict)
    """Facts about how it came to be, such as the number of turns; they go into the document's `meta`."""


@dataclass(frozen=True, kw_only=True)
class GivenUp:
    """The program ended early: one of its own checks refused a step. The seed is rejected with this reason."""

    reason: str
    text: str = ""
    """What was refused, where it is worth a look; it stands in the rejected row."""
    meta: Mapping[str, str] = field(default_factory=dict)
    """Facts about it, such as a judge's scores; they go into the row's `meta`."""


@dataclass(frozen=True, kw_only=True)
class Failed:
    """An ask has no answer. The seed is failed with this reason."""

    reason: str


@dataclass(frozen=True, kw_only=True)
class Waiting:
    """The program cannot go on before these are answered; they do not depend on one another."""

    asks: tuple[Ask, ...]


@dataclass(frozen=True, kw_only=True)
class Material:
    """What a program works on: one primary input, as the model is to see it, and what else the recipe gives it."""

    text: str
    """The chunk, with formulas and code as placeholders where the recipe masks them."""
    metadata: Mapping[str, str] = field(default_factory=dict)
    """By prompt name."""
    words: Mapping[str, str] = field(default_factory=dict)
    exemplars: Sequence[tuple[str, str]] = ()
    """(document, answer) pairs."""
    seconds: tuple[str, ...] = ()
    """What is shown of other documents."""
    language: str | None = None
    """Of the seed."""
    output_language: str | None = None
    """That the recipe's documents are to have; None keeps the seed's."""


NOT_UNICODE = "not_unicode"
"""A program asks or ends with half of a surrogate pair, as JSON can spell it: nobody can be asked that, and no table holds it."""

Program = Generator[Sequence[Ask], Sequence[Answer], Finished | GivenUp]
Known = Callable[[Ask], Answer | Failed | None]
"""What is known of an ask: its answer, the failure that is left as it is, or None where it has to be asked."""


class Tool(Protocol):
    """A named function outside of the model. The same arguments must give the same text as long as the version stays."""

    @property
    def version(self) -> str: ...

    def __call__(self, arguments: Mapping[str, str]) -> str: ...


@runtime_checkable
class BatchTool(Tool, Protocol):
    """A tool that is cheaper when it is called for many at once."""

    def call_all(self, calls: Sequence[Mapping[str, str]]) -> list[str]:
        """Return what each call alone would give, in their order."""
        ...


class Maker(Protocol):
    """A recipe's generator: a frozen value that starts a program."""

    def program(self, material: Material) -> Program:
        """Start the program for one primary input."""
        ...


def advance(program: Program, known: Known) -> Finished | GivenUp | Failed | Waiting:
    """Run a fresh program as far as the known answers carry it. The first failure that its ask does not bear ends it."""
    try:
        asks = next(program)
        while True:
            if not all(map(_is_askable, asks)):
                program.close()
                return GivenUp(reason=NOT_UNICODE)
            found = [_borne(ask, known(ask)) for ask in asks]
            failed = next((item for item in found if isinstance(item, Failed)), None)
            if failed is not None:
                program.close()
                return failed
            missing = tuple(ask for ask, item in zip(asks, found, strict=True) if item is None)
            if missing:
                program.close()
                return Waiting(asks=missing)
            asks = program.send([item for item in found if isinstance(item, Answer)])
    except StopIteration as stop:
        return _ended(stop.value)


def is_unicode(*texts: str) -> bool:
    """Return whether the texts can be spelled in UTF-8: they hold no half of a surrogate pair."""
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_askable(ask: Ask) -> bool:
    if isinstance(ask, Question):
        return is_unicode(*(message["content"] for message in ask.messages))
    return is_unicode(*ask.arguments.values())


def _ended(end: Finished | GivenUp) -> Finished | GivenUp:
    if isinstance(end, Finished) and not is_unicode(end.text, *end.meta.values()):
        return GivenUp(reason=NOT_UNICODE)
    return end


def _borne(ask: Ask, found: Answer | Failed | None) -> Answer | Failed | None:
    if isinstance(found, Failed) and isinstance(ask, Question) and found.reason in ask.bears:
        return Answer(text="", finish_reason=found.reason)
    return found
