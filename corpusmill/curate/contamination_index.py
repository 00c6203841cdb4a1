"""The index of benchmark items that documents are searched with: kept as one Arrow buffer, named by its content.

An item's text, and its answer where there is one, are references; equal ones are kept once, with the names of all their
items. Per word an index holds about 30 bytes: the word itself, its place, the n-grams of `part_words` as sorted hashes
with their places, and a bitmap that says no to most n-grams of a document with one look. `contamination_build` makes it.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Self

import numpy as np
import pyarrow as pa

from corpusmill.curate.contamination_rules import ContaminationRules
from corpusmill.fingerprint import fingerprint

NAMES = pa.schema([("benchmark", pa.string()), ("item", pa.string()), ("is_answer", pa.bool_())])


@dataclass(frozen=True, kw_only=True)
class ContaminationIndex:
    """References and the n-grams in them. Places are numbers of words, counted through all references."""

    rules: ContaminationRules
    names: pa.Table
    """NAMES, sorted by reference: what is found when a reference is."""
    first_name: np.ndarray
    """int32: names of reference r are `first_name[r]` to `first_name[r + 1]`."""
    first_word: np.ndarray
    """int32: words of reference r are `first_word[r]` to `first_word[r + 1]`."""
    text: np.ndarray
    """uint8: the normal forms of all references, one behind the other."""
    word_starts: np.ndarray
    """int64: where each word begins in `text`, and one more for the end."""
    ngrams: np.ndarray
    """int32: the n-gram that begins at each word, -1 where the reference ends before it does."""
    evidence_words: np.ndarray
    """uint8: how many words from each word on are a match by themselves, 0 for none."""
    keys: np.ndarray
    """uint64: the hashes of the distinct n-grams, sorted; an n-gram's number is its place here."""
    first_use: np.ndarray
    """int32: n-gram i stands at the places `uses[first_use[i]:first_use[i + 1]]`."""
    uses: np.ndarray
    buckets: np.ndarray
    """int32: keys whose first bits are b are `keys[buckets[b]:buckets[b + 1]]`."""
    bitmap: np.ndarray
    """uint64: one bit for each value of a hash's last bits, set where an n-gram has it."""
    skipped: pa.Table
    """NAMES and reason (`too_short`, `too_plain`): what the index cannot search for."""

    @property
    def num_references(self) -> int:
        return len(self.first_word) - 1

    @property
    def num_bytes(self) -> int:
        """What the index takes in memory."""
        arrays = (getattr(self, name) for name in _ARRAYS)
        return sum(array.nbytes for array in arrays) + self.names.nbytes + self.skipped.nbytes

    @cached_property
    def fingerprint(self) -> str:
        """32 hex digits naming all that decides what the index finds."""
        content = hashlib.sha256(self.text.tobytes())
        for array in (self.first_word, self.first_name):
            content.update(array.tobytes())
        names = json.dumps(self.names.to_pydict()).encode()
        content.update(names)
        return fingerprint({"content": content.hexdigest(), "rules": self.rules.to_json()})

    def to_buffer(self) -> pa.Buffer:
        """Return the index as an Arrow IPC file."""
        columns = {name: _one_list(pa.array(getattr(self, name))) for name in _ARRAYS}
        for prefix, table in (("names", self.names), ("skipped", self.skipped)):
            columns |= {f"{prefix}.{name}": _one_list(table[name].combine_chunks()) for name in table.column_names}
        metadata = {"rules": json.dumps(self.rules.to_json())}
        rows = pa.record_batch(columns).replace_schema_metadata(metadata)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_file(sink, rows.schema) as writer:
            writer.write_batch(rows)
        return sink.getvalue()

    @classmethod
    def from_buffer(cls, buffer: pa.Buffer) -> Self:
        """Return the index that `to_buffer` gave; a memory-mapped buffer is shared by all processes that read it."""
        rows = pa.ipc.open_file(buffer).get_batch(0)
        columns = {name: rows[name].values for name in rows.schema.names}
        arrays = {name: columns[name].to_numpy() for name in _ARRAYS}
        rules = ContaminationRules.from_json(json.loads(rows.schema.metadata[b"rules"]))
        return cls(rules=rules, names=_table(columns, "names"), skipped=_table(columns, "skipped"), **arrays)


_ARRAYS = tuple(field.name for field in fields(ContaminationIndex) if field.name not in ("rules", "names", "skipped"))


def _one_list(values: pa.Array) -> pa.LargeListArray:
    return pa.LargeListArray.from_arrays(pa.array([0, len(values)], pa.int64()), values)


def _table(columns: Mapping[str, pa.Array], prefix: str) -> pa.Table:
    named = {name.partition("."): column for name, column in columns.items()}
    return pa.table({name: column for (first, _, name), column in named.items() if first == prefix and name})
