"""A component that is still being made while it is read: what it promises, and what is done where it is not there yet.

A plan counts on what such a component will hold. Which of it is there when a position is reached is decided then
(`corpusmill.mix.availability`), so a plan with live components says how long the stream is and whose turn each position is,
and its log says what came.
"""

from dataclasses import dataclass

from corpusmill.mix.kinds import check_kinds


@dataclass(frozen=True, kw_only=True)
class Live:
    """What a component will hold once it is complete, and who stands in for it until then."""

    expected_tokens: int
    """Tokens that its partitions will hold together; the plan counts on full sequences of them."""
    lenders: tuple[str, ...] = ()
    """Components that give sequences in its place while it has none, and get as many places back; without any, the stream
    waits."""

    def __post_init__(self) -> None:
        check_kinds(self, what="live")
        if self.expected_tokens < 1:
            raise ValueError(f"live: expected_tokens must be at least 1, got {self.expected_tokens}")
        if len({*self.lenders}) < len(self.lenders):
            raise ValueError(f"live: lenders must be different components, got {self.lenders}")


@dataclass(frozen=True, kw_only=True)
class Promise:
    """A live component as planned."""

    num_sequences: int
    num_tokens: int
    lenders: tuple[int, ...] = ()
    """Numbers of components."""
    partitions: tuple[str, ...] | None = None
    """The partitions that will be its, or patterns of their names; None is all that nobody else reads."""

    @property
    def rule(self) -> str:
        """What is done where it has no sequence: `wait` or `borrow`."""
        return "borrow" if self.lenders else "wait"
