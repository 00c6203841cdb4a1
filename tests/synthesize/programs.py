"""Small programs for the tests of synthesis, and a world that answers them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from corpusmill.synthesize.ask_ids import ask_id
from corpusmill.synthesize.asking import Answer, Ask, Failed, Finished, GivenUp, Material, Program, Question, ToolCall
from corpusmill.synthesize.sampling import Sampling
from corpusmill.synthesize.waves import Run, plan_waves

SAMPLING = Sampling(max_tokens=64)


def question(text: str, *, step: str = "answer", system: str = "", **changes: object) -> Question:
    messages = [{"role": "system", "content": system}] if system else []
    asked = {"step": step, "messages": (*messages, {"role": "user", "content": text}), "sampling": SAMPLING}
    return Question(**{**asked, **changes})


@dataclass(frozen=True)
class Adder:
    """A tool that adds two numbers."""

    version: str = "1"

    def __call__(self, arguments):
        return str(int(arguments["a"]) + int(arguments["b"]))


TOOLS = {"add": Adder()}


def shown(ask: Ask) -> str:
    """Return the words of an ask."""
    return ask.messages[-1]["content"] if isinstance(ask, Question) else f"{ask.tool} {dict(ask.arguments)}"


def id_of(ask: Ask) -> str:
    return ask_id(ask, model="small", revision="r1", tools=TOOLS)


def play(program: Program, answer: Callable[[Ask], str | Answer | None]) -> Finished | GivenUp | None:
    """Run a program to its end; None where something was not answered."""
    try:
        asks = next(program)
        while True:
            told = [answer(ask) for ask in asks]
            if None in told:
                return None
            asks = program.send([one if isinstance(one, Answer) else Answer(text=one) for one in told])
    except StopIteration as stop:
        return stop.value


def material(text: str = "The document.", **more: object) -> Material:
    return Material(text=text, language="en", **more)


@dataclass
class World:
    """Answers waves and remembers what it was asked."""

    answer: Callable[[Ask], str | Failed]
    known: dict[str, Answer | Failed] = field(default_factory=dict)
    waves: list[list[str]] = field(default_factory=list)

    def run(
        self, starts: Iterable[Callable[[], Program]], *, size: int, stop_after: int | None = None
    ) -> dict[str, str]:
        """Carry programs on; die without a word before wave `stop_after`."""
        waves = plan_waves((Run(start=start, id_of=id_of) for start in starts), find=self.known.get, size=size)
        try:
            while stop_after is None or len(self.waves) < stop_after:
                wave = next(waves)
                self.waves.append([shown(ask) for ask in wave.values()])
                for request_id, ask in wave.items():
                    told = self.answer(ask)
                    self.known[request_id] = told if isinstance(told, Failed) else Answer(text=told)
        except StopIteration as stop:
            return stop.value
        return {}


def tool_call(a: str, b: str, *, step: str = "compute") -> ToolCall:
    return ToolCall(step=step, tool="add", arguments={"a": a, "b": b})
