"""How many requests one server holds at a time: found out by asking, not set. No clock here; moments are arguments.

It grows by one an answer until the first overload, from then on by one a round, and is halved by every overload. Answers
to requests that were asked before it was halved say nothing about the new limit and do not halve it again. It only grows
while it is used up, so an idle server's limit does not run away.
"""

FIRST = 4.0


class Concurrency:
    """The limit of one server, between 1 and `maximum`."""

    def __init__(self, maximum: int, *, first: float = FIRST) -> None:
        if maximum < 1:
            raise ValueError(f"a server holds at least one request, got max_concurrency {maximum}")
        self._maximum = float(maximum)
        self._limit = min(first, self._maximum)
        self._is_searching = True
        self._halved_at = float("-inf")

    @property
    def limit(self) -> int:
        return int(self._limit)

    def note_answer(self, *, in_flight: int) -> None:
        """An answer came while the server held so many requests, this one among them."""
        if in_flight >= self.limit:
            step = 1.0 if self._is_searching else 1.0 / self._limit
            self._limit = min(self._maximum, self._limit + step)

    def note_overload(self, *, asked_at: float, now: float) -> None:
        """A request that was sent at `asked_at` found the server busy or too slow."""
        if asked_at >= self._halved_at:
            self._limit = max(1.0, self._limit / 2)
            self._halved_at = now
        self._is_searching = False
