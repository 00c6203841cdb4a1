"""A mixture as a stream: the sequence at any position, and where each of its tokens came from.

The stream is one global sequence of positions. Rank r of n takes positions r, r + n, r + 2n, ... of it; a checkpoint is
the next global position, so it can be taken up by any other number of ranks.
"""

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from corpusmill.lake.store import LakeSettings
from corpusmill.lake.tables import Lake
from corpusmill.mix.decided import DecidedPlan
from corpusmill.mix.order import IntArray, Located
from corpusmill.mix.permutation import GROUP_BLOCKS
from corpusmill.mix.plan import Plan
from corpusmill.stream.block import write_rows
from corpusmill.stream.course import Course, FixedCourse, LakeSource, LiveCourse
from corpusmill.stream.erased import ErasedError, check_whole
from corpusmill.stream.index import open_components
from corpusmill.stream.inventory import read_plan
from corpusmill.stream.live import PATIENCE_SECONDS, Waiting, say_to_stderr, standing
from corpusmill.stream.numbers import check_int
from corpusmill.stream.reader import Reader, SequenceReader, Tokens

CACHE_BYTES = 512 << 20
"""The most that is kept unless more is asked for."""
_ROW_BYTES = 64
"""Of a sequence, beside its tokens."""
LOOKAHEAD = 1024
"""Samples after which a stream looks again at what comes."""
HORIZON = 4 * LOOKAHEAD
"""Samples whose blocks are loaded ahead."""


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One packed sequence of the stream."""

    position: int
    component: str
    epoch: int
    index: int
    """Number of the sequence in its component."""
    tokens: Tokens
    """At most the mixture's sequence length; not padded."""
    lengths: Tokens
    """Tokens of each document piece: attention and loss must not cross these boundaries."""


@dataclass(frozen=True, kw_only=True)
class Piece:
    """Consecutive tokens of one document."""

    doc_id: str
    start: int
    """Number of the first token in the document."""
    length: int


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """Where the sequence at a position came from."""

    position: int
    component: str
    epoch: int
    table: str
    partition: str
    index: int
    pieces: tuple[Piece, ...]


class MixtureStream:
    """Iterates over the samples of one rank, from where it stands; each sample it gives moves it on.

    `mix` is a name for the current version or `name@version`. Opening checks that every pinned partition is there with
    the pinned content, before the first sample, and that nothing was erased that is read from `start` on; with
    `allow_erased` only reading what was erased raises ErasedError. Pickles without its cache, for workers.

    Of a mix with live components a position is decided when it is first asked for. Where it has to wait, rank 0 says so, and
    ComponentLateError ends it after `patience_seconds`.
    """

    def __init__(
        self,
        settings: LakeSettings,
        mix: str,
        *,
        rank: int = 0,
        world_size: int = 1,
        start: int = 0,
        cache_bytes: int | None = None,
        patience_seconds: float = PATIENCE_SECONDS,
        say: Callable[[str], None] = say_to_stderr,
        allow_erased: bool = False,
    ) -> None:
        if not isinstance(settings, LakeSettings):
            raise ValueError(
                f"wanted the LakeSettings of the lake to read, got {settings!r}; for a folder: "
                'LakeSettings(store=StoreSettings(root="..."))'
            )
        _check_rank(rank, world_size)
        lake = Lake(settings)
        try:
            plan = standing(lake, read_plan(lake, mix))
            components = open_components(lake, plan)
        finally:
            lake.close()
        if not allow_erased:
            check_whole(plan, components, start)
        self.rank, self.world_size = rank, world_size
        held = _cache_bytes(plan) if cache_bytes is None else cache_bytes
        reader = SequenceReader(lake.store, components, blocks=plan.blocks, cache_bytes=held)
        self.reader: Reader = reader
        waiting = Waiting(patience_seconds=patience_seconds, say=None if rank else say)
        self.course: Course = (
            LiveCourse(plan, LakeSource(lake, reader), waiting) if isinstance(plan, DecidedPlan) else FixedCourse(plan)
        )
        self._position = 0
        self.seek(start)

    @classmethod
    def over(
        cls, course: Course, reader: Reader, *, rank: int = 0, world_size: int = 1, start: int = 0
    ) -> "MixtureStream":
        """Return the stream of a course whose sequences a reader gives that is not the lake's."""
        _check_rank(rank, world_size)
        stream = cls.__new__(cls)
        stream.course, stream.rank, stream.world_size, stream.reader = course, rank, world_size, reader
        stream._position = 0
        stream.seek(start)
        return stream

    @property
    def plan(self) -> Plan:
        """The plan; of one with live components, what is decided of it so far (`corpusmill.mix.decided`)."""
        return self.course.plan

    @property
    def whole_plan(self) -> Plan:
        """The plan from its first position to its last, whatever is decided of it."""
        return self.course.whole

    @property
    def mix(self) -> str:
        """Name and version: with a position, all that a run needs to record to be replayed."""
        return f"{self.plan.mix}@{self.plan.version}"

    @property
    def num_positions(self) -> int:
        """Length of the global sequence."""
        return self.course.whole.num_positions

    @property
    def position(self) -> int:
        """The next global position, the same on all ranks that have taken as many samples."""
        return min(self._position, self.num_positions)

    def for_rank(self, rank: int, world_size: int) -> "MixtureStream":
        """Return the stream of another rank that stands at the same position and shares what this one has open."""
        _check_rank(rank, world_size)
        other = copy.copy(self)
        other.rank, other.world_size = rank, world_size
        return other

    def seek(self, position: int) -> None:
        """Go on from a global position, whichever rank this is."""
        if not _is_int(position):
            raise ValueError(f"mix {self.mix} has positions 0 to {self.num_positions}, got {position!r}")
        if not 0 <= position <= self.num_positions:
            raise ValueError(f"mix {self.mix} has positions 0 to {self.num_positions}, got {position}")
        self._position = position

    def __iter__(self) -> Iterator[Sample]:
        while self._position + self.rank < self.num_positions:
            first = self._position + self.rank
            end = self.course.reach(first)
            self.expect(range(first, min(self._position + HORIZON * self.world_size, end), self.world_size))
            stop = min(self._position + LOOKAHEAD * self.world_size, end)
            for sample in self._samples(range(first, stop, self.world_size)):
                self._position = sample.position - self.rank + self.world_size
                yield sample
        # The last round may have nothing for this rank; it has ended for all.
        self._position = self.num_positions

    def read(self, positions: Sequence[int]) -> list[Sample]:
        """Return the samples at any positions, without moving the stream."""
        return list(self._samples(positions))

    def write_rows(self, positions: Sequence[int] | IntArray, rows_2BL: Any) -> None:
        """Write the tokens at some positions, and beside them which of its sequence's documents each is of (1, 2, ...)."""
        found = self._located(self._within(positions))
        empty = write_rows(*self.reader.blocks(found.component_T, found.index_T), rows_2BL)
        if empty is not None:
            raise self._erased(int(positions[empty]))

    def expect(self, positions: Sequence[int] | IntArray) -> None:
        """Begin to load in the background what these positions need, in the order in which they will be read.

        Of a mix with live components only what is decided already.
        """
        asked = self._within(positions)
        found = self.course.order.locate(asked[asked < self.course.stop])
        self.reader.expect(found.component_T.tolist(), found.index_T.tolist())

    def provenance(self, position: int) -> Provenance:
        """Return where the sequence at a position came from; raises ValueError for one that is not decided."""
        asked = self._within([position])
        if (stop := self.course.reach(position, decides=False)) <= position:
            raise ValueError(
                f"the first {stop:,} positions of mix {self.mix} are decided, got {position}; no run has read it"
            )
        found = self.course.order.locate(asked)
        number, index = int(found.component_T[0]), int(found.index_T[0])
        component = self.plan.components[number]
        pieces = self.reader.read_pieces(number, index)
        if not pieces.doc_ids:
            raise self._erased(position)
        return Provenance(
            position=position,
            component=component.name,
            epoch=int(found.epoch_T[0]),
            table=component.table,
            partition=pieces.partition,
            index=index,
            pieces=tuple(
                Piece(doc_id=doc_id, start=start, length=length)
                for doc_id, start, length in zip(pieces.doc_ids, pieces.starts, pieces.lengths, strict=True)
            ),
        )

    def state_dict(self) -> dict[str, Any]:
        """Return where the stream stands. Take it on all ranks after as many samples; any number of ranks may go on."""
        return {"mix": self.plan.mix, "mix_version": self.plan.version, "position": self.position}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a `state_dict`, of this version or of one whose stream is the same up to there.

        Raises ValueError for any other, and for what is no `state_dict`.
        """
        mix, version, position = _checkpoint(state)
        if mix != self.plan.mix or not self.plan.continues(version, position):
            raise ValueError(
                f"the checkpoint is of mix {mix}@{version} at position {position}, the stream of {self.mix}; open the "
                f"stream as {mix}@{version}"
            )
        self.seek(position)

    def _located(self, asked: IntArray) -> Located:
        """Return where the sequences at these positions are, once it is decided."""
        if asked.size:
            self.course.reach(int(asked.max()))
        return self.course.order.locate(asked)

    def _samples(self, positions: Sequence[int]) -> Iterator[Sample]:
        asked = self._within(positions)
        found = self._located(asked)
        located = zip(
            positions, found.component_T.tolist(), found.epoch_T.tolist(), found.index_T.tolist(), strict=True
        )
        for position, number, epoch, index in located:
            tokens, lengths = self.reader.read(number, index)
            if not len(tokens):
                raise self._erased(position)
            yield Sample(
                position=position,
                component=self.plan.components[number].name,
                epoch=epoch,
                index=index,
                tokens=tokens,
                lengths=lengths,
            )

    def _erased(self, position: int) -> ErasedError:
        return ErasedError(f"the sequence at position {position} of mix {self.mix} was erased")

    def _within(self, positions: Sequence[int] | IntArray) -> IntArray:
        given = np.asarray(positions)
        if given.dtype.kind not in "iu":
            # NumPy makes floats of ints that are too large for it.
            given = np.asarray(positions, object)
            if wrong := [one for one in given if not _is_int(one)]:
                raise ValueError(f"mix {self.mix} has positions 0 to {self.num_positions - 1}, got {wrong[0]!r}")
        if given.size and not 0 <= given.min() <= given.max() < self.num_positions:
            raise ValueError(
                f"mix {self.mix} has positions 0 to {self.num_positions - 1}, got {given.min()} to {given.max()}"
            )
        return given.astype(np.int64)


def _cache_bytes(plan: Plan) -> int:
    """Return what the order turns to at once, and one more block of each component, if that is not too much.

    To how many pieces of a live component it will turn is not known yet.
    """
    if isinstance(plan, DecidedPlan):
        return CACHE_BYTES
    block_bytes = plan.block_sequences * (4 * plan.sequence_length + _ROW_BYTES)
    return min(CACHE_BYTES, (GROUP_BLOCKS + 1) * len(plan.components) * block_bytes)


def _check_rank(rank: int, world_size: int) -> None:
    check_int("world_size", world_size, least=1)
    check_int("rank", rank)
    if not 0 <= rank < world_size:
        raise ValueError(f"rank must be one of 0 to {world_size - 1} in a world of {world_size}, got {rank}")


def _is_int(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _checkpoint(state: Mapping[str, Any]) -> tuple[str, str, int]:
    """Return mix, version and position of a `state_dict`; raises ValueError where they are not there or no such things."""
    if not isinstance(state, Mapping):
        raise ValueError(f"wanted the state_dict of a stream (mix, mix_version, position), got {state!r}")
    wanted = {"mix": str, "mix_version": str, "position": int}
    faults = [
        f"{name} {state[name]!r}" if name in state else f"no {name}"
        for name, kind in wanted.items()
        if not isinstance(state.get(name), kind) or isinstance(state[name], bool)
    ]
    if faults:
        raise ValueError(f"wanted the state_dict of a stream (mix, mix_version, position), got {', '.join(faults)}")
    return state["mix"], state["mix_version"], state["position"]
