"""The kinds of generators by name, and their spelling in JSON. A new kind is one file and one line here."""

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol, Self

from corpusmill.synthesize.asking import Maker, Material, Program
from corpusmill.synthesize.generators.agent import AgentGenerator
from corpusmill.synthesize.generators.chain import ChainGenerator
from corpusmill.synthesize.generators.checked_program import CheckedProgramGenerator
from corpusmill.synthesize.generators.code_translation import CodeTranslationGenerator
from corpusmill.synthesize.generators.dialogue import DialogueGenerator
from corpusmill.synthesize.generators.explained_program import ExplainedProgramGenerator
from corpusmill.synthesize.generators.fallback import FallbackGenerator
from corpusmill.synthesize.generators.fill_in_middle import FillInMiddleGenerator
from corpusmill.synthesize.generators.function import FunctionGenerator
from corpusmill.synthesize.generators.prompt import PromptGenerator
from corpusmill.synthesize.generators.reviewed import ReviewedGenerator
from corpusmill.synthesize.generators.routes import Queue, RoutesGenerator
from corpusmill.synthesize.generators.traces import TraceGenerator


class Generator(Maker, Protocol):
    """What a kind must have besides `program`."""

    kind: ClassVar[str]

    def names(self) -> set[str]:
        """Return every `$name` that the recipe must give; `document` where the model is shown the primary input."""
        ...

    def to_json(self) -> dict[str, Any]: ...

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self: ...


KINDS: dict[str, type[Generator]] = {
    generator.kind: generator
    for generator in (
        AgentGenerator,
        ChainGenerator,
        CheckedProgramGenerator,
        CodeTranslationGenerator,
        DialogueGenerator,
        ExplainedProgramGenerator,
        FallbackGenerator,
        FillInMiddleGenerator,
        FunctionGenerator,
        PromptGenerator,
        ReviewedGenerator,
        RoutesGenerator,
        TraceGenerator,
    )
}


def generator_to_json(generator: Generator) -> dict[str, Any]:
    """Spell a generator of any kind. One prompt has no `kind`: the ids of documents hang on how it was always spelled."""
    if generator.kind not in KINDS:
        raise ValueError(f"generators of kind {generator.kind!r} are not in the registry; there are: {_kinds()}")
    kind = {} if generator.kind == PromptGenerator.kind else {"kind": generator.kind}
    return {**kind, **generator.to_json()}


def generator_from_json(value: Mapping[str, Any]) -> Generator:
    """Read what `generator_to_json` wrote."""
    kind = value.get("kind", PromptGenerator.kind)
    if kind not in KINDS:
        raise ValueError(f"there is no generator of kind {kind!r}; there are: {_kinds()}")
    return KINDS[kind].from_json({name: item for name, item in value.items() if name != "kind"})


def tools_of(generator: Generator) -> tuple[str, ...]:
    """Return the names of the tools that a generator may call: its `tools`, where its kind has any."""
    return tuple(getattr(generator, "tools", ()))


def simpler_program(generator: Generator, material: Material) -> Program | None:
    """Start a generator's simpler way; None where its kind has none. Reviews come after it as after the other."""
    if isinstance(generator, ReviewedGenerator):
        simpler = simpler_program(generator.generator, material)
        return None if simpler is None else generator.after(simpler, material)
    start = getattr(generator, "simpler_program", None)
    return None if start is None else start(material)


def has_simpler(generator: Generator) -> bool:
    writer = writer_of(generator)
    return hasattr(writer, "simpler_program") and bool(getattr(writer, "has_simpler", True))


def writer_of(generator: Generator) -> Generator:
    """Return the generator that writes the text, without the reviews after it."""
    return writer_of(generator.generator) if isinstance(generator, ReviewedGenerator) else generator


def queues_of(generator: Generator) -> tuple[Queue, ...]:
    """Return the queues that a generator routes documents through; none where its kind has no queues."""
    writer = writer_of(generator)
    return writer.queues if isinstance(writer, RoutesGenerator) else ()


def queue_names(generator: Generator) -> tuple[str, ...]:
    return tuple(queue.name for queue in queues_of(generator))


def priorities(generator: Generator) -> list[int]:
    """Return the priorities of the queues that documents enter, the highest first; a single one where there are none."""
    return sorted({queue.priority for queue in queues_of(generator) if queue.is_open}, reverse=True) or [0]


def entered_queue(generator: Generator, material: Material) -> Queue | None:
    """Return the queue that a document enters; None where none takes it, or the kind has no queues."""
    writer = writer_of(generator)
    return writer.entered(material) if isinstance(writer, RoutesGenerator) else None


def queue_of(generator: Generator, step: str) -> str:
    """Return the queue that a step of a generator's program belongs to; an empty name where it is no queue's."""
    name = step.partition("/")[0]
    return name if name in queue_names(generator) else ""


def _kinds() -> str:
    return ", ".join(sorted(KINDS))
