"""One of two servers killed with -9 at a quarter of the work: the job completes, and how much of it was asked again."""

import sys
import tempfile
import time
from pathlib import Path

from benchmarks.harness import Measure, at_least, at_most, print_measures
from benchmarks.synthesis_faults import asked_again
from benchmarks.synthesis_lake import CHUNK_REQUESTS, add_seeds, prompts, run_task, settings_in
from tests.servers.chat_server import chat_server

NUM_REQUESTS = 1_000
DIES_AT = 230
"""In the middle of a chunk, of which each server gets about half."""
LATENCY_SECONDS = 0.05


def measures() -> list[Measure]:
    """Run requests and completions over two servers, one of which kills itself at its 230th request."""
    with tempfile.TemporaryDirectory(prefix="corpusmill-engines-") as scratch:
        folder, log = Path(scratch), Path(scratch, "servers.log")
        with (
            chat_server(latency_seconds=LATENCY_SECONDS, log=str(log), name="stays") as stays,
            chat_server(latency_seconds=LATENCY_SECONDS, log=str(log), name="dies", dies_at=DIES_AT) as dies,
        ):
            settings = settings_in(folder, [stays.url, dies.url])
            add_seeds(settings, NUM_REQUESTS)
            run_task(settings, "requests")
            started = time.perf_counter()
            counts = run_task(settings, "completions")["counts"]
            seconds = time.perf_counter() - started
            assert dies.process.poll() is not None, "the server that should have died did not"
            again = asked_again(log, prompts(settings).values())
    about = f"{NUM_REQUESTS:,} requests, 1 of 2 servers killed"
    print(f"{about}: {counts}", file=sys.stderr, flush=True)
    return [
        Measure(measure=f"{about}: answered", ours=counts["kept"], bar=at_least(NUM_REQUESTS)),
        Measure(measure=f"{about}: chunks redone", ours=again / CHUNK_REQUESTS, bar=at_most(1)),
        Measure(measure=f"{about}: completions (s)", ours=seconds),
    ]


if __name__ == "__main__":
    print_measures(measures())
