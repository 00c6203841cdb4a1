"""What every engine can do: apply one named function to many rows of bytes, on however many machines it has.

Everything else stands on that: shards of a table (`corpusmill.engines.shards`) and a rule over an Arrow table
(`corpusmill.engines.table_rule`).
"""

from collections.abc import Iterator, Sequence
from typing import Protocol


class EngineFailedError(RuntimeError):
    """The engine itself failed (a driver or a worker died), not the function that it ran."""


class Engine(Protocol):
    """A place where functions run."""

    name: str

    def map_rows(self, function: str, rows: Sequence[bytes]) -> Iterator[bytes]:
        """Yield `function(row)` for every row, in any order, as soon as the engine hands it over.

        `function` is named `module:function`, takes and returns bytes. Each row is a task of its own. An exception of
        the function ends the call with `EngineFailedError`, so functions report what they expect to fail in their
        result. Closing the iterator early stops the work.
        """

    def close(self) -> None:
        """Let go of what the engine holds; a second call does nothing."""
