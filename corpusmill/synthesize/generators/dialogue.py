"""A document or problem becomes a dialogue: one voice asks, another answers, each with a prompt of its own.

Both see the document and what was said so far. The text is turns that begin with a role at the start of a line:

    User: What is a pier?

    Assistant: A wall that runs into the water.

No turn holds a line that begins like one, so `parse_turns` finds exactly the turns that were spelled.
"""

import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

from corpusmill.synthesize.asking import Answer, Ask, Finished, GivenUp, Material, Program, Question
from corpusmill.synthesize.generators.wording import EMPTY, refusal, refuse_exemplars
from corpusmill.synthesize.prompt import delimited, render_messages, template_names
from corpusmill.synthesize.sampling import Sampling

_OWN = "dialogue"
_ROLE = re.compile(r"[^\W\d_][\w ]{0,30}")


class Turn(NamedTuple):
    """What one voice says."""

    role: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Voice:
    """One side of a dialogue. Its prompts may name `$document` and `$dialogue`, what was said so far."""

    role: str
    """What stands before its turns: `User`, `Teacher`."""
    system: str
    user: str
    sampling: Sampling

    def __post_init__(self) -> None:
        if not _ROLE.fullmatch(self.role):
            raise ValueError(f"a role is a word or a few, without colon and line end; got {self.role!r}")


@dataclass(frozen=True, kw_only=True)
class DialogueGenerator:
    """At most `max_exchanges` questions with their answers; the questioner may end it."""

    kind: ClassVar[str] = "dialogue"

    questioner: Voice
    answerer: Voice
    max_exchanges: int
    min_exchanges: int = 1
    """With fewer the seed is rejected as `too_few_exchanges`."""
    end_mark: str = "NO MORE QUESTIONS"
    """What the questioner writes, in any case, to end the dialogue."""

    def __post_init__(self) -> None:
        if not 1 <= self.min_exchanges <= self.max_exchanges:
            raise ValueError(
                f"a dialogue needs 1 <= min_exchanges <= max_exchanges, got {self.min_exchanges} and {self.max_exchanges}"
            )
        if self.questioner.role.casefold() == self.answerer.role.casefold():
            raise ValueError(f"the two voices of a dialogue need different roles, both are {self.answerer.role!r}")
        if not self.end_mark.strip():
            raise ValueError("the end_mark of a dialogue must not be blank")

    @property
    def voices(self) -> tuple[Voice, Voice]:
        return (self.questioner, self.answerer)

    def names(self) -> set[str]:
        """Return every `$name` that the prompts use and that the recipe must give."""
        asked = [template_names(system=voice.system, user=voice.user) for voice in self.voices]
        return set().union(*asked) - {_OWN}

    def program(self, material: Material) -> Program:
        refuse_exemplars(material, kind=self.kind)
        turns: list[Turn] = []
        ended_by = "limit"
        while len(turns) < 2 * self.max_exchanges:
            said, reason = yield from self._turn(material, turns)
            if reason is not None:
                return GivenUp(reason=f"turn_{len(turns) + 1}/{reason}")
            if len(turns) % 2 == 0 and self.end_mark.casefold() in said.text.casefold():
                ended_by = "questioner"
                break
            turns.append(said)
        exchanges = len(turns) // 2
        if exchanges < self.min_exchanges:
            return GivenUp(reason="too_few_exchanges")
        return Finished(text=spell_turns(turns), meta={"exchanges": str(exchanges), "ended_by": ended_by})

    def _turn(
        self, material: Material, turns: Sequence[Turn]
    ) -> Generator[Sequence[Ask], Sequence[Answer], tuple[Turn, str | None]]:
        """Ask whose turn it is; return what was said, and why the dialogue cannot go on with it."""
        voice = self.voices[len(turns) % 2]
        so_far = delimited(spell_turns(turns), _OWN)
        messages = render_messages(voice.system, voice.user, material, values={_OWN: so_far})
        step = ("question", "answer")[len(turns) % 2]
        [answer] = yield [Question(step=step, messages=messages, sampling=voice.sampling)]
        said = Turn(voice.role, _without_label(answer.text, voice.role))
        return said, refusal(answer) or self._flaw(said, turns)

    def _flaw(self, said: Turn, turns: Sequence[Turn]) -> str | None:
        if not said.text:
            return EMPTY
        if _labels([voice.role for voice in self.voices]).search(said.text):
            return "speaks_for_both"
        return "repeated_turn" if said.text in [turn.text for turn in turns] else None

    def to_json(self) -> dict[str, Any]:
        return {
            "questioner": _voice_to_json(self.questioner),
            "answerer": _voice_to_json(self.answerer),
            "max_exchanges": self.max_exchanges,
            "min_exchanges": self.min_exchanges,
            "end_mark": self.end_mark,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        voices = {name: _voice_from_json(value[name]) for name in ("questioner", "answerer")}
        return cls(**{**value, **voices})


def spell_turns(turns: Sequence[Turn]) -> str:
    """Return the dialogue as text."""
    return "\n\n".join(f"{turn.role}: {turn.text}" for turn in turns)


def parse_turns(text: str, *, roles: Sequence[str]) -> list[Turn]:
    """Return the turns of a spelled dialogue; raise ValueError when it does not begin with one of `roles`."""
    starts = list(_labels(roles).finditer(text))
    if not starts or starts[0].start() != 0:
        raise ValueError(f"a dialogue begins with one of {', '.join(f'{role}:' for role in roles)}, got {text!r:.80}")
    ends = [match.start() for match in starts[1:]] + [len(text)]
    return [Turn(match.group(1), text[match.end() : end].strip()) for match, end in zip(starts, ends, strict=True)]


def _labels(roles: Sequence[str]) -> re.Pattern[str]:
    return re.compile(rf"^({'|'.join(map(re.escape, roles))}):", re.MULTILINE)


def _without_label(text: str, role: str) -> str:
    """Return what was said without the speaker's own role before it, which models like to repeat."""
    return text.strip().removeprefix(f"{role}:").strip()


def _voice_to_json(voice: Voice) -> dict[str, Any]:
    return {
        "role": voice.role,
        "system": voice.system,
        "user": voice.user,
        "sampling": voice.sampling.to_json(),
    }


def _voice_from_json(value: Mapping[str, Any]) -> Voice:
    return Voice(**{**value, "sampling": Sampling.from_json(value["sampling"])})
