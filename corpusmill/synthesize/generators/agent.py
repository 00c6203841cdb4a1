"""An agent: a model that may call tools until it answers. The trajectory is the sample: thoughts, calls, observations, answer.

Every turn is one question that holds all turns before it, so that prefixes are shared. What a tool says comes back
between delimiters that it cannot close. The loop is bounded: too many turns, or the same call twice, is
`tool_calls_never_end`.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self, get_args

from corpusmill.synthesize.asking import Answer, Ask, Finished, GivenUp, Material, Message, Program, Question
from corpusmill.synthesize.generators.agent_tools import AGENT_TOOLS, describe_tools, observation, tool_call
from corpusmill.synthesize.generators.agent_turn import (
    AgentTurn,
    TurnFormat,
    describe_format,
    parse_turn,
    spell_turn,
    turn_schema,
    without_inventions,
)
from corpusmill.synthesize.generators.answer_key import AnswerKey, is_answer, last_number
from corpusmill.synthesize.generators.wording import EMPTY, clipped, inert, refusal, refuse_exemplars
from corpusmill.synthesize.prompt import delimited, render_messages, template_names
from corpusmill.synthesize.sampling import Sampling

NEVER_ENDS = "tool_calls_never_end"
_OWN = {"tools", "format"}


@dataclass(frozen=True, kw_only=True)
class AgentGenerator:
    """The prompts may name `$tools`, what there is, and `$format`, how to call it."""

    kind: ClassVar[str] = "agent"

    system: str
    user: str
    sampling: Sampling
    tools: tuple[str, ...] = ("python",)
    turn_format: TurnFormat = "plain"
    """`json` asks the engine for structured output."""
    max_turns: int = 6
    min_calls: int = 1
    """An agent that answers after fewer is rejected as `too_few_calls`."""
    max_malformed: int = 2
    """So many replies that keep to no format, or name no tool, are told so; one more is `malformed_calls`."""
    max_observation_characters: int = 2_000
    shows_task: bool = True
    """Whether the sample begins with the document that the agent was given."""
    key: AnswerKey | None = None
    """Where the document is a problem with a known answer: the solution is hidden, another number is `wrong_answer`."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "tools", tuple(self.tools))
        if unknown := sorted(set(self.tools) - set(AGENT_TOOLS)):
            raise ValueError(f"agents have no tools {', '.join(unknown)}; there are: {', '.join(AGENT_TOOLS)}")
        if not self.tools or len(set(self.tools)) < len(self.tools):
            raise ValueError(f"an agent needs tools, each once; got {self.tools!r}")
        if self.turn_format not in get_args(TurnFormat):
            raise ValueError(f"turn_format is one of {', '.join(get_args(TurnFormat))}, got {self.turn_format!r}")
        if not 0 <= self.min_calls < self.max_turns or self.max_malformed < 0 or self.max_observation_characters < 1:
            raise ValueError(
                "an agent needs 0 <= min_calls < max_turns, max_malformed >= 0 and max_observation_characters >= 1, got "
                f"{self.min_calls}, {self.max_turns}, {self.max_malformed} and {self.max_observation_characters}"
            )
        if self.key is not None:
            self.key.refuse_shown(template_names(system=self.system, user=self.user))

    def names(self) -> set[str]:
        """Return every `$name` that the prompts use and that the recipe must give."""
        asked = template_names(system=self.system, user=self.user) - _OWN
        return asked if self.key is None else asked | self.key.names()

    def program(self, material: Material) -> Program:
        refuse_exemplars(material, kind=self.kind)
        expected = None if self.key is None else self.key.expected(material)
        if self.key is not None and expected is None:
            return GivenUp(reason="no_known_answer")
        task = material if self.key is None else self.key.problem(material)
        run = _Run(messages=self._messages(task))
        for number in range(1, self.max_turns + 1):
            reason = yield from self._turn(task, run)
            if reason is not None:
                return GivenUp(reason=reason if "/" not in reason else f"turn_{number}{reason}")
            if run.answer is not None:
                break
        if run.answer is None:
            return GivenUp(reason=NEVER_ENDS)
        if len(run.calls) < self.min_calls:
            return GivenUp(reason="too_few_calls")
        if expected is not None and not is_answer(last_number(run.answer), expected):
            return GivenUp(reason="wrong_answer")
        return Finished(text=self._sample(task, run), meta=run.facts())

    def _messages(self, task: Material) -> tuple[Message, ...]:
        own = {"tools": describe_tools(self.tools), "format": describe_format(self.turn_format)}
        return render_messages(self.system, self.user, task, values=own)

    def _turn(self, task: Material, run: "_Run") -> Generator[Sequence[Ask], Sequence[Answer], str | None]:
        """Ask for the next turn and do what it says; return why the agent cannot go on, `/reason` where its turn counts."""
        schema = turn_schema(self.tools) if self.turn_format == "json" else None
        [reply] = yield [Question(step="turn", messages=run.messages, sampling=self.sampling, schema=schema)]
        if reason := refusal(reply):
            return f"/{reason}"
        said = without_inventions(reply.text)
        turn = parse_turn(said, self.turn_format)
        if turn is None or not (turn.is_answer or turn.tool in self.tools):
            run.note_malformed(reply.text, f"{describe_format(self.turn_format)}\nTools: {', '.join(self.tools)}.")
            return None if run.num_malformed <= self.max_malformed else "malformed_calls"
        if not turn.input:
            return f"/{EMPTY}"
        if turn.is_answer:
            run.answer, run.texts = turn.input, [*run.texts, spell_turn(turn)]
            return None
        if (turn.tool, turn.input) in run.calls:
            return NEVER_ENDS
        run.calls.append((turn.tool, turn.input))
        [told] = yield [tool_call(turn, task)]
        run.note_observation(
            said, turn, clipped(observation(turn, told), max_characters=self.max_observation_characters)
        )
        return None

    def _sample(self, task: Material, run: "_Run") -> str:
        return "\n\n".join([*([f"Task:\n{task.text.strip()}"] if self.shows_task else []), *run.texts])

    def to_json(self) -> dict[str, Any]:
        names = (
            "system",
            "user",
            "turn_format",
            "max_turns",
            "min_calls",
            "max_malformed",
            "max_observation_characters",
        )
        return {
            **{name: getattr(self, name) for name in (*names, "shows_task")},
            "sampling": self.sampling.to_json(),
            "tools": list(self.tools),
            "key": None if self.key is None else self.key.to_json(),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        key = None if value["key"] is None else AnswerKey.from_json(value["key"])
        return cls(**{**value, "sampling": Sampling.from_json(value["sampling"]), "key": key})


@dataclass
class _Run:
    """One agent at work."""

    messages: tuple[Message, ...]
    texts: list[str] = field(default_factory=list)
    calls: list[tuple[str, str]] = field(default_factory=list)
    num_malformed: int = 0
    answer: str | None = None

    def note_malformed(self, said: str, advice: str) -> None:
        self.num_malformed += 1
        self._say(said, f"That keeps to no form that is known here. {advice}")

    def note_observation(self, said: str, turn: AgentTurn, seen: str) -> None:
        shown = f"Observation:\n{delimited(inert(seen), 'observation')}"
        self.texts += [spell_turn(turn), shown]
        self._say(said, shown)

    def _say(self, said: str, answer: str) -> None:
        self.messages = (
            *self.messages,
            {"role": "assistant", "content": said},
            {"role": "user", "content": answer},
        )

    def facts(self) -> dict[str, str]:
        return {"tool_calls": str(len(self.calls)), "malformed_calls": str(self.num_malformed)}
