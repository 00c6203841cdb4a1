"""The request store: what is asked already, what is missing, and how committed chunks of answers become one table.

A chunk is about a minute of work, committed on its own. The first committed answer to a request stands, for engines do
not answer twice alike. Nothing here depends on how an engine groups its work: a request is found by its id alone.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.document import COMPLETIONS
from corpusmill.fingerprint import fingerprint


@dataclass(frozen=True, kw_only=True)
class RetryPolicy:
    """Which failed requests are asked again."""

    permanent: frozenset[str] = frozenset({"prompt_too_long", "empty_answer", "request_refused"})
    """Failures that asking again would only repeat."""
    max_attempts: int = 3
    """A request that failed so often otherwise is left as it is."""


@dataclass(frozen=True, kw_only=True)
class RequestChunk:
    """Requests that are asked and committed together."""

    name: str
    """Fingerprint of the ids."""
    request_ids: tuple[str, ...]


def settled(chunks: Iterable[pa.Table], *, policy: RetryPolicy) -> set[str]:
    """Return the ids that need no further asking: answered, failed for good, or failed often enough."""
    done: set[str] = set()
    failures: Counter[str] = Counter()
    for chunk in chunks:
        for request_id, failure in zip(*(chunk[name].to_pylist() for name in ("request_id", "failure")), strict=True):
            if failure is None or failure in policy.permanent:
                done.add(request_id)
            else:
                failures[request_id] += 1
    return done | {request_id for request_id, number in failures.items() if number >= policy.max_attempts}


def missing(requests: pa.Table, answered: Iterable[str]) -> pa.Table:
    """Return the requests whose id is not among the answered ones, the first of each id, in order."""
    seen = set(answered)
    is_missing = []
    for request_id in requests["request_id"].to_pylist():
        is_missing.append(request_id not in seen)
        seen.add(request_id)
    return requests.filter(pa.array(is_missing, pa.bool_()))


def plan_chunks(requests: pa.Table, *, size: int) -> list[RequestChunk]:
    """Cut requests into chunks of `size`, in order, so that prompts with a shared prefix stay together."""
    if size < 1:
        raise ValueError(f"a chunk holds at least one request, got size {size}")
    ids = requests["request_id"].to_pylist()
    parts = [tuple(ids[at : at + size]) for at in range(0, len(ids), size)]
    return [RequestChunk(name=fingerprint(part), request_ids=part) for part in parts]


def merge(chunks: Sequence[pa.Table], *, requests: pa.Table) -> pa.Table:
    """Return COMPLETIONS with one row per asked id that anything came back for, in the order of the requests.

    `chunks` come in the order in which they were committed: the first answer stands; where there is none, the last
    failure. Answers to what is not asked any more are left out.
    """
    everything = pa.concat_tables([COMPLETIONS.empty_table(), *(chunk.select(COMPLETIONS.names) for chunk in chunks)])
    chosen: dict[str, int] = {}
    is_answered = pc.is_null(everything["failure"]).to_pylist()
    for row, request_id in enumerate(everything["request_id"].to_pylist()):
        if request_id not in chosen or not is_answered[chosen[request_id]]:
            chosen[request_id] = row
    ids = dict.fromkeys(requests["request_id"].to_pylist())
    return everything.take(pa.array([chosen[request_id] for request_id in ids if request_id in chosen], pa.int64()))
