"""Several recipes as queues of one run: a document enters one, and goes on to others by what comes of it.

    hard  --accepted-->  polish  --accepted-->  end
      |  too hard           ^
      v                     |
    easy  --accepted--------'

Where a document goes is a function of its text and of the answers, so the program is replayed like any other and keeps no
state. What a queue's checks refuse ends the program with the reason `<queue>/<reason>`, and the names of steps begin with
their queue's.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from corpusmill.synthesize.answer import AnswerForm, check_form, parse_answer
from corpusmill.synthesize.asking import Finished, GivenUp, Material, Program
from corpusmill.synthesize.check import Check, check_steps, step_refusal
from corpusmill.synthesize.generators.bearing import bearing
from corpusmill.synthesize.shares import is_in_share, side_by_side
from corpusmill.synthesize.spelling import plain, tuple_of, tuples

if TYPE_CHECKING:
    from corpusmill.synthesize.generators.registry import Generator

ROUTE = "route"
"""Key in the document's `meta`, of a rejected one too: the queues that it went through, such as `hard>easy>polish`."""
NOT_ADMITTED = "not_admitted"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """Which documents a queue takes."""

    languages: tuple[str, ...] = ()
    """In any case; empty takes all."""
    min_characters: int = 0
    max_characters: int | None = None
    metadata: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Accepted values of columns of the recipe's metadata, by their names in prompts: `{"meta_tier": ("high",)}`."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "metadata", {name: tuple(values) for name, values in self.metadata.items()})
        if self.max_characters is not None and not self.min_characters <= self.max_characters:
            raise ValueError(
                f"an entry needs min_characters <= max_characters, got {self.min_characters} and {self.max_characters}"
            )

    def admits(self, material: Material) -> bool:
        """Return whether a document may enter."""
        spoken = (material.language or "").casefold()
        return (
            self.min_characters <= len(material.text)
            and (self.max_characters is None or len(material.text) <= self.max_characters)
            and (not self.languages or spoken in {name.casefold() for name in self.languages})
            and all(material.metadata.get(name) in values for name, values in self.metadata.items())
        )


@dataclass(frozen=True, kw_only=True)
class Queue:
    """One recipe with its conditions."""

    name: str
    generator: "Generator"
    entry: Entry = Entry()
    is_open: bool = True
    """Whether documents enter here from outside; others come only from queues that name it."""
    form: AnswerForm = "text"
    checks: tuple[Check, ...] = ()
    """Of this queue's text, parsed as `form`: what decides whether it is accepted here."""
    next: str | None = None
    """The queue whose document an accepted text becomes; None ends the route."""
    simpler: str | None = None
    """Where documents go that this queue is too hard for, and those that come from other queues and are not admitted."""
    too_hard: tuple[str, ...] = ()
    """Reasons of refusal and failure that say so, such as `cut_off`, `prompt_too_long` or `budget_spent`."""
    priority: int = 0
    """Of the open queues that admit a document the highest takes it, and its documents are asked first."""
    rate: float = 1.0
    """Documents for each of the others', where several open queues of one priority admit them."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "checks", tuple_of(Check, self.checks, where=f"checks of queue {self.name!r}"))
        object.__setattr__(self, "too_hard", tuple_of(str, self.too_hard, where=f"too_hard of queue {self.name!r}"))
        if not self.name.isidentifier():
            raise ValueError(f"a queue is named like a variable, got {self.name!r}")
        if not self.rate > 0:
            raise ValueError(f"queue {self.name!r} needs a rate above 0, got {self.rate}; to ask nothing leave it out")
        if bool(self.too_hard) != (self.simpler is not None):
            raise ValueError(
                f"queue {self.name!r} needs both a simpler queue and what is too hard, or neither; got "
                f"{self.simpler!r} and {', '.join(self.too_hard) or 'nothing'}"
            )
        check_form(self.form)
        check_steps(self.checks, where=f"queue {self.name!r}")

    def to_json(self) -> dict[str, Any]:
        from corpusmill.synthesize.generators.registry import generator_to_json

        value = {name: plain(getattr(self, name)) for name in self.__dataclass_fields__ if name != "generator"}
        return {**value, "generator": generator_to_json(self.generator)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        from corpusmill.synthesize.generators.registry import generator_from_json

        read = {
            "generator": generator_from_json(value["generator"]),
            "entry": Entry(**tuples(value["entry"])),
            "checks": tuple(map(Check.from_json, value["checks"])),
        }
        return cls(**{**value, **read})


@dataclass(frozen=True, kw_only=True)
class RoutesGenerator:
    """Queues, and the ways between them."""

    kind: ClassVar[str] = "routes"

    queues: tuple[Queue, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "queues", tuple(self.queues))
        names = [queue.name for queue in self.queues]
        if len({*names}) != len(names) or not any(queue.is_open for queue in self.queues):
            raise ValueError(
                f"routes need queues with different names, one of them open; got {', '.join(names) or 'none'}"
            )
        for queue in self.queues:
            for way in filter(None, (queue.next, queue.simpler)):
                if way not in names:
                    raise ValueError(f"queue {queue.name!r} leads to {way!r}; there are: {', '.join(names)}")
        for name in names:
            self._check_ends(name, ())

    @property
    def tools(self) -> tuple[str, ...]:
        from corpusmill.synthesize.generators.registry import tools_of

        return tuple(dict.fromkeys(tool for queue in self.queues for tool in tools_of(queue.generator)))

    @property
    def has_simpler(self) -> bool:
        return any(queue.is_open and queue.simpler is not None for queue in self.queues)

    def names(self) -> set[str]:
        asked = [queue.generator.names() | queue.entry.metadata.keys() for queue in self.queues]
        return {name for names in asked for name in names}

    def entered(self, material: Material) -> Queue | None:
        """Return the queue that a document enters from outside."""
        admitting = [queue for queue in self.queues if queue.is_open and queue.entry.admits(material)]
        if not admitting:
            return None
        highest = max(queue.priority for queue in admitting)
        rates = {queue.name: queue.rate for queue in admitting if queue.priority == highest}
        shares = side_by_side(rates)
        return self._queue(next(name for name in rates if is_in_share(self.kind, material.text, shares[name])))

    def program(self, material: Material) -> Program:
        return self._walk(self.entered(material), material)

    def simpler_program(self, material: Material) -> Program | None:
        """Start with the simpler queue of the one that the document enters; None where that has none."""
        queue = self.entered(material)
        if queue is None or queue.simpler is None:
            return None
        return self._walk(self._admitting(queue.simpler, material), material)

    def to_json(self) -> dict[str, Any]:
        return {"queues": [queue.to_json() for queue in self.queues]}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        return cls(queues=tuple(map(Queue.from_json, value["queues"])))

    def _walk(self, queue: Queue | None, material: Material) -> Program:
        route: list[str] = []
        refused = GivenUp(reason=NOT_ADMITTED)
        while queue is not None:
            route.append(queue.name)
            end = yield from _asked(queue, material)
            text, reason = _outcome(queue, end, material)
            meta = {**end.meta, ROUTE: ">".join(route)}
            if reason is None and isinstance(end, Finished) and queue.next is None:
                return replace(end, meta=meta)
            if reason is None:
                refused = GivenUp(reason=f"{queue.next}/{NOT_ADMITTED}", text=text, meta=meta)
                material, way = replace(material, text=text), queue.next
            else:
                refused = GivenUp(reason=f"{queue.name}/{reason}", text=text, meta=meta)
                way = queue.simpler if reason in queue.too_hard else None
            queue = self._admitting(way, material)
        return refused

    def _admitting(self, name: str | None, material: Material) -> Queue | None:
        """Return the queue of this name, or the first down the chain of simpler ones that takes the document."""
        while name is not None:
            queue = self._queue(name)
            if queue.entry.admits(material):
                return queue
            name = queue.simpler
        return None

    def _queue(self, name: str) -> Queue:
        return next(queue for queue in self.queues if queue.name == name)

    def _check_ends(self, name: str, path: tuple[str, ...]) -> None:
        if name in path:
            raise ValueError(f"documents would go round in a circle: {' > '.join((*path, name))}")
        for way in filter(None, (self._queue(name).next, self._queue(name).simpler)):
            self._check_ends(way, (*path, name))


def _asked(queue: Queue, material: Material) -> Program:
    """Run a queue's program, with its steps under the queue's name."""
    program = bearing(queue.generator.program(material), queue.too_hard)
    try:
        asks = next(program)
        while True:
            answers = yield [replace(ask, step=f"{queue.name}/{ask.step}") for ask in asks]
            asks = program.send(answers)
    except StopIteration as stop:
        end = stop.value
        return end


def _outcome(queue: Queue, end: Finished | GivenUp, material: Material) -> tuple[str, str | None]:
    """Return the text of a queue and None, or why it is refused there."""
    if isinstance(end, GivenUp):
        return end.text, end.reason
    text, reason = parse_answer(end.text, finish_reason=end.finish_reason, form=queue.form)
    return text, reason or step_refusal(text, queue.checks, material)
