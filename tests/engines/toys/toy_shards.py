"""Shard functions that tests send to engines' workers."""

import os
import signal
from pathlib import Path

import pyarrow as pa

from corpusmill.counts import Counts

SCHEMA = pa.schema([pa.field("word", pa.string(), nullable=False), pa.field("length", pa.int32())])


def measure(inputs, parameters, context):
    """Keep the words of one shard that are long enough, two words a table."""
    if "visits" in parameters:
        with Path(parameters["visits"]).open("a") as file:
            file.write(f"{inputs['words'][0]}\n")
    words = inputs["words"]
    kept = [word for word in words if len(word) >= parameters["min_length"]]
    for start in range(0, len(kept), 2):
        yield table(kept[start : start + 2])
    context.add_counts(Counts(rows_in=len(words), kept=len(kept), dropped={"too_short": len(words) - len(kept)}))
    context.note("characters", sum(map(len, words)))
    for word in words:
        context.sample({"word": word})


def measure_or_fail(inputs, parameters, context):
    """Measure, except for the shard that begins with the bad word."""
    if inputs["words"][0] == parameters.get("bad"):
        raise OSError("the disk is full")
    yield from measure(inputs, parameters, context)


def measure_or_die(inputs, parameters, context):
    """Measure, but kill the process at the fatal word, in the middle of the shard's rows."""
    rows = measure(inputs, parameters, context)
    yield next(rows)
    if inputs["words"][0] == parameters.get("fatal") and Path(parameters["trigger"]).exists():
        Path(parameters["trigger"]).unlink()
        os.kill(os.getpid(), signal.SIGKILL)
    yield from rows


def lose_a_row(inputs, parameters, context):
    """Forget one row in the ledger."""
    yield table(inputs["words"][1:])
    context.add_counts(Counts(rows_in=len(inputs["words"]), kept=len(inputs["words"]) - 1))


def wrong_type(inputs, parameters, context):
    yield pa.table({"word": inputs["words"], "length": ["long"] * len(inputs["words"])})


def fill_the_disk(inputs, parameters, context):
    yield from ()
    with open("/dev/full", "w") as full:
        full.write("x")


def refuse(inputs, parameters, context):
    yield from ()
    raise ValueError("wanted other words; write those")


def table(words):
    return pa.table({"word": words, "length": [len(word) for word in words]}, schema=SCHEMA)


def die_always(inputs, parameters, context):
    """Measure, but kill every worker that gets the fatal shard."""
    if inputs["words"][0] == parameters["fatal"]:
        os.kill(os.getpid(), signal.SIGKILL)
    yield from measure(inputs, parameters, context)
