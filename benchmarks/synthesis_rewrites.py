"""Verified rewriting of real programs: a scripted generator rewrites 70 % well and breaks 30 % in known ways.

The programs are single Python files whose own doctests pass with the standard library alone. Nothing of the verifiers
decides what counts as good or broken: good rewrites are safe transformations; a third of the breakages break by
construction; the others are mutations, and a mutation counts as broken when the data's own command, `python3 -m doctest
FILE`, fails or hangs on it, run by itself outside of the sandbox. Mutations that this command does not notice are kept
apart: how many of them our verifiers notice all the same, by generated inputs and printed output, is shown without a bar,
for some of them change nothing that can be seen. The answers go the way of a real recipe:
requests, answers in a code block, `accept` with the sandbox.
"""

import gzip
import itertools
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from assets.synthesized.code_rephrased import RECIPES
from benchmarks.code_rewrites import CERTAIN, GOOD, MUTATIONS
from benchmarks.harness import Measure, at_least, at_most, print_measures
from corpusmill.document import COMPLETIONS, DOCUMENTS
from corpusmill.engines.inference import EngineIdentity
from corpusmill.synthesize.accept import FAILED, Instruments, accept
from corpusmill.synthesize.recipe import SeedRule
from corpusmill.synthesize.requests import build_requests
from corpusmill.tasks.behaviour import check_behaviour

PROGRAMS = Path(__file__).parents[2] / "shared" / "data" / "code_thealgorithms" / "python.jsonl.gz"
BROKEN_SHARE = 0.3
MAX_TRIES = 4
"""Mutants of one kind that are shown to the data's command before another kind is tried."""
COMMAND_SECONDS = 20
TOGETHER = 40
IDENTITY = EngineIdentity(model="scripted", revision="1", license="MIT", name="scripted")
RECIPE = replace(RECIPES["rewritten"], seeds=SeedRule(languages=("python",), max_characters=1_000_000))


@dataclass(frozen=True, kw_only=True)
class Rewritten:
    """One program and what the generator made of it."""

    seed: str
    output: str
    kind: str


@dataclass(frozen=True, kw_only=True)
class Planned:
    """What the generator answers, and the mutations that the data's command does not notice."""

    good: list[Rewritten]
    broken: list[Rewritten]
    silent: list[Rewritten]


def measures(num_programs: int | None = None) -> list[Measure]:
    """Return the measures; none, with a line that says why, where the programs are absent."""
    if not PROGRAMS.exists():
        print(f"no measures of rewriting: {PROGRAMS} is absent")
        return []
    with gzip.open(PROGRAMS, "rt", encoding="utf-8") as lines:
        given = [json.loads(line)["content"] for line in itertools.islice(lines, num_programs)]
    programs = [program for program in given if _passes_own_command(program)]
    print(f"{len(given) - len(programs)} of {len(given)} programs need more than the standard library and are left out")
    planned = plan(programs)
    started = time.perf_counter()
    good, broken, silent = (_reasons(answers) for answers in (planned.good, planned.broken, planned.silent))
    seconds = time.perf_counter() - started
    _print(planned, good, broken, silent)
    num_judged = len(good) + len(broken) + len(silent)
    return [
        Measure(
            measure=f"share of {len(broken)} broken rewrites that are refused",
            ours=sum(reason is not None for reason in broken) / len(broken),
            bar=at_least(1.0),
        ),
        Measure(
            measure=f"good rewrites that are refused (of {len(good)})",
            ours=sum(reason is not None for reason in good),
            bar=at_most(0),
        ),
        Measure(
            measure=f"share of {len(silent)} mutations that no doctest notices and ours refuse",
            ours=sum(reason is not None for reason in silent) / max(len(silent), 1),
        ),
        Measure(measure="judging one rewrite (s)", ours=seconds / num_judged),
    ]


def plan(programs: Sequence[str]) -> Planned:
    """Decide which programs are rewritten well and which are broken, and how; the kinds go round."""
    order = random.Random(0).sample(range(len(programs)), len(programs))
    num_broken = round(BROKEN_SHARE * len(programs))
    planned = Planned(good=[], broken=[], silent=[])
    for number, place in enumerate(order[:num_broken]):
        found = _broken(programs[place], number, planned.silent)
        if found is not None:
            planned.broken.append(found)
    for number, place in enumerate(order[num_broken:]):
        planned.good.append(_good(programs[place], number))
    return planned


def _good(source: str, number: int) -> Rewritten:
    kinds = list(GOOD)
    for kind in (*kinds[number % len(kinds) :], *kinds):
        output = GOOD[kind](source)
        if output is not None:
            return Rewritten(seed=source, output=output, kind=kind)
    raise AssertionError("every program can be written anew")


def _broken(source: str, number: int, silent: list[Rewritten]) -> Rewritten | None:
    """Return the first breakage that applies, beginning with the program's turn: two mutations to one certain kind."""
    certain, mutations = list(CERTAIN), list(MUTATIONS)
    turn = number // 3
    first = certain[turn % len(certain) :] if number % 3 == 0 else []
    rest = mutations[number % len(mutations) :] + mutations + certain
    for kind in (*first, *rest):
        if kind in CERTAIN:
            output = next(CERTAIN[kind](source), None)
            if output is not None:
                return Rewritten(seed=source, output=output, kind=kind)
            continue
        mutants = list(MUTATIONS[kind](source))
        for mutant in random.Random(number).sample(mutants, min(MAX_TRIES, len(mutants))):
            made = Rewritten(seed=source, output=mutant, kind=kind)
            if not _passes_own_command(mutant):
                return made
            silent.append(made)
    return None


def _passes_own_command(source: str) -> bool:
    """Say what the data's own command says of a program, with no sandbox, no site-packages and none of our code."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "program.py").write_text(source, encoding="utf-8")
        command = [sys.executable, "-S", "-W", "ignore", "-m", "doctest", "program.py"]
        try:
            done = subprocess.run(
                command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=COMMAND_SECONDS
            )
        except subprocess.TimeoutExpired:
            return False
    return done.returncode == 0


def _reasons(answers: Sequence[Rewritten]) -> list[str | None]:
    """Return for each answer why it is refused, or None."""
    found = {place: reason for places in _batches(answers) for place, reason in _judged(places, answers).items()}
    return [found[place] for place in range(len(answers))]


def _batches(answers: Sequence[Rewritten]) -> Iterator[list[int]]:
    """Yield the places of some answers, of a seed at most one: the same prompt has one answer only."""
    layers: dict[int, list[int]] = {}
    times = Counter[str]()
    for place, answer in enumerate(answers):
        layers.setdefault(times[answer.seed], []).append(place)
        times[answer.seed] += 1
    for layer in layers.values():
        for start in range(0, len(layer), TOGETHER):
            yield layer[start : start + TOGETHER]


def _judged(places: Sequence[int], answers: Sequence[Rewritten]) -> dict[int, str | None]:
    """Let answers go the way of the recipe."""
    rows = [
        {
            "doc_id": f"program-{place:05}",
            "source": "code",
            "snapshot": "s1",
            "title": f"program {place}",
            "language": "python",
            "license": "MIT",
            "text": answers[place].seed,
            "text_hash": "",
            "text_file": "programs.parquet",
        }
        for place in places
    ]
    documents = pa.Table.from_pylist(rows, schema=DOCUMENTS.append(pa.field("text_file", pa.string())))
    requests = build_requests(documents, recipe=RECIPE, identity=IDENTITY)
    asked = [int(doc_id.removeprefix("program-")) for doc_id in requests["doc_id"].to_pylist()]
    completions = [
        {"request_id": name, "answer": f"```python\n{answers[place].output}```", "finish_reason": "stop", "engine": "1"}
        for name, place in zip(requests["request_id"].to_pylist(), asked, strict=True)
    ]
    table = accept(
        requests,
        pa.Table.from_pylist(completions, schema=COMPLETIONS),
        documents,
        recipe=RECIPE,
        identity=IDENTITY,
        instruments=Instruments(check_code=check_behaviour),
    )
    reasons = table["reject_reason"].to_pylist()
    if sorted(asked) != sorted(places) or any((reason or "").startswith(FAILED) for reason in reasons):
        raise ValueError(f"every answer must be judged; got {Counter(reasons)} for {len(places)} answers")
    return dict(zip(asked, reasons, strict=True))


def _print(planned: Planned, good: list[str | None], broken: list[str | None], silent: list[str | None]) -> None:
    for name, answers, reasons in (
        ("good", planned.good, good),
        ("broken", planned.broken, broken),
        ("not noticed by doctests", planned.silent, silent),
    ):
        counts: dict[str, Counter[str]] = {}
        for answer, reason in zip(answers, reasons, strict=True):
            counts.setdefault(answer.kind, Counter())[reason or "accepted"] += 1
        print(f"{name}:")
        for kind, found in sorted(counts.items()):
            print(f"  {kind}: {', '.join(f'{reason} {number}' for reason, number in found.most_common())}")


if __name__ == "__main__":
    print_measures(measures(int(sys.argv[1]) if len(sys.argv) > 1 else None))
