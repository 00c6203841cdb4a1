"""The plain engine: rows one after the other in this process. The reference that Spark and Ray are compared with."""

from collections.abc import Iterator, Sequence

from corpusmill.named import named_function


class PlainEngine:
    """Runs in the calling process and thread; needs no start and no end."""

    name = "plain"

    def map_rows(self, function: str, rows: Sequence[bytes]) -> Iterator[bytes]:
        """Yield `function(row)` in order. Exceptions of the function pass through unchanged."""
        return map(named_function(function), rows)

    def close(self) -> None:
        """Nothing is held."""
