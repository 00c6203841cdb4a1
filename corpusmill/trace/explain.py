"""From a position of a mix to the documents whose tokens stand there, and on to the places that they came from.

A mix is opened once; each position then costs one row group's small columns of the sequences, and what `lookup` reads for
its documents.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from corpusmill.lake.tables import Lake
from corpusmill.mix.plan import Plan, PlannedComponent
from corpusmill.stream.erased import ErasedError
from corpusmill.stream.index import ComponentIndex, open_components, read_row_group
from corpusmill.stream.loader import MixtureStream
from corpusmill.trace.document import Document, DocumentTracer, Where
from corpusmill.trace.lookup import INDEX_BYTES, RowFinder
from corpusmill.trace.reads import documents_table


@dataclass(frozen=True, kw_only=True)
class TracedPiece:
    """Consecutive tokens of one document in a sequence."""

    first_token: int
    """Number of its first token in the sequence."""
    length: int
    start: int
    """Number of its first token in the document."""
    document: Document


@dataclass(frozen=True, kw_only=True)
class TracedSequence:
    """A packed sequence and where all its tokens came from."""

    mix: str
    """Name and version."""
    position: int | None
    """None where it was asked for by its place in the lake: the order may read it at many positions."""
    component: str
    epoch: int | None
    table: str
    partition: str
    index: int
    """Number of the sequence in its component."""
    pieces: Sequence[TracedPiece]

    def at_token(self, token: int) -> "TracedSequence":
        """Return the same with only the piece that holds a token; raises ValueError where there is no such token."""
        num_tokens = sum(piece.length for piece in self.pieces)
        if not 0 <= token < num_tokens:
            raise ValueError(f"the sequence has tokens 0 to {num_tokens - 1}, got {token}")
        pieces = [one for one in self.pieces if one.first_token <= token < one.first_token + one.length]
        return TracedSequence(**{**vars(self), "pieces": pieces})

    @property
    def is_located(self) -> bool:
        """Whether every piece leads to source records."""
        return all(piece.document.is_located for piece in self.pieces)


class MixTracer:
    """An opened mix whose positions can be explained. `mix` is a name, or `name@version`."""

    def __init__(self, lake: Lake, mix: str, *, index_bytes: int = INDEX_BYTES) -> None:
        self._lake = lake
        self._stream = MixtureStream(lake.settings, mix, allow_erased=True)
        self._finder = RowFinder(lake, index_bytes=index_bytes)
        self._documents = DocumentTracer(self._finder)

    @property
    def plan(self) -> Plan:
        return self._stream.plan

    @property
    def mix(self) -> str:
        return self._stream.mix

    def explain(self, position: int) -> TracedSequence:
        """Return where the tokens at a position came from; raises ValueError where the mix has no such position."""
        found = self._stream.provenance(position)
        component = next(one for one in self.plan.components if one.name == found.component)
        return TracedSequence(
            mix=self.mix,
            position=position,
            component=found.component,
            epoch=found.epoch,
            table=found.table,
            partition=found.partition,
            index=found.index,
            pieces=self._pieces(component, found.index, [(one.doc_id, one.start, one.length) for one in found.pieces]),
        )

    def explain_row(self, shard: str, offset: int) -> TracedSequence:
        """Return where the tokens of a row of a file of sequences came from; `shard` is the end of the file's path."""
        number, first_row = self._find_shard(shard)
        component, index = self.plan.components[number], self._components[number]
        groups = [group for group in index.groups if group.path.endswith(shard)]
        num_rows = sum(group.num_rows for group in groups)
        if not 0 <= offset < num_rows:
            raise ValueError(f"{groups[0].path} has rows 0 to {num_rows - 1}, got {offset}")
        row = first_row + offset
        [(group, start, _)] = index.overlapping(row, row + 1)
        rows = read_row_group(self._lake.store, group, ["doc_ids", "starts", "lengths"]).slice(start, 1).to_pylist()[0]
        spans = list(zip(rows["doc_ids"], rows["starts"], rows["lengths"], strict=True))
        if not spans:
            raise ErasedError(f"row {offset} of {group.path} was erased")
        return TracedSequence(
            mix=self.mix,
            position=None,
            component=component.name,
            epoch=None,
            table=component.table,
            partition=group.partition,
            index=row,
            pieces=self._pieces(component, row, spans),
        )

    @cached_property
    def _components(self) -> list[ComponentIndex]:
        return open_components(self._lake, self.plan)

    def _find_shard(self, shard: str) -> tuple[int, int]:
        """Return the component that reads a file, and the number of the file's first sequence in it."""
        found = {
            group.path: (number, int(index.starts[place]))
            for number, index in enumerate(self._components)
            for place, group in reversed(list(enumerate(index.groups)))
            if group.path.endswith(shard)
        }
        if len(found) != 1:
            wanted = "one of its files of sequences, by the end of its path"
            got = f"{len(found)} that end so" if found else "none that ends so"
            known = next(group.path for index in self._components for group in index.groups)
            raise ValueError(f"mix {self.mix}: wanted {wanted}, got {shard!r}, {got}; one of them is {known}")
        return next(iter(found.values()))

    def _pieces(
        self, component: PlannedComponent, index: int, spans: Sequence[tuple[str, int, int]]
    ) -> list[TracedPiece]:
        documents = self._documents.trace({doc_id for doc_id, _, _ in spans}, self._where(component, index))
        pieces, first_token = [], 0
        for doc_id, start, length in spans:
            pieces.append(TracedPiece(first_token=first_token, length=length, start=start, document=documents[doc_id]))
            first_token += length
        return pieces

    def _where(self, component: PlannedComponent, index: int) -> Where:
        """Return where the documents of a sequence are likely to lie: a shard of sequences is made of a file of documents."""
        table = documents_table(self._finder.tables, component.table)
        for pin in sorted(component.pins, key=lambda it: it.partition):
            if index < pin.num_sequences:
                return Where(table=table, partition=pin.partition, place=(index + 0.5) / pin.num_sequences)
            index -= pin.num_sequences
        raise AssertionError(f"{component.name} has fewer sequences than {index} more")
