"""Traces and fill-in-the-middle on real programs: what is told of a call is what the program's own doctests say of it."""

import ast
import doctest
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from corpusmill.engines.sandbox import run_programs
from corpusmill.synthesize.asking import Answer, Finished, Material
from corpusmill.synthesize.generators.fill_in_middle import FillInMiddleGenerator
from corpusmill.synthesize.generators.traces import TraceGenerator, traced_function
from corpusmill.synthesize.middle import restore
from corpusmill.synthesize.sampling import Sampling
from tests.synthesize.generators.scripted import printed, replay

FOLDER = Path(__file__).parents[4] / "shared" / "data" / "code_thealgorithms"
NUM_RUN = 40
TRACES = TraceGenerator(system="", user="$document $signature", sampling=Sampling(max_tokens=9), min_calls=1)


def programs(language: str) -> list[str]:
    file = FOLDER / f"{language}.jsonl.gz"
    if not file.exists():
        pytest.skip(f"the programs are not here: {file}")
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return [json.loads(line)["content"] for line in lines]


def examples(source: str) -> dict[str, str]:
    """Return arguments as JSON -> what the doctests of the traced function say that it returns, of plain values only."""
    function = traced_function(source)
    found: dict[str, str] = {}
    for example in doctest.DocTestParser().get_examples((function and ast.get_docstring(function)) or ""):
        try:
            call = ast.parse(example.source.strip(), mode="eval").body
            assert isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and not call.keywords
            arguments = [ast.literal_eval(argument) for argument in call.args]
            if call.func.id == function.name and json.loads(json.dumps(arguments)) == arguments:
                found[json.dumps(arguments)] = repr(ast.literal_eval(example.want.strip()))
        except (SyntaxError, ValueError, AssertionError, TypeError):
            continue
    return found


def test_what_is_told_is_what_the_doctests_say():
    documented = [(source, said) for source in programs("python") if len(said := examples(source)) >= 2][:NUM_RUN]
    assert len(documented) == NUM_RUN
    materials = [Material(text=source, language="Python") for source, _ in documented]
    proposed = [Answer(text=f"[{', '.join(said)}]") for _, said in documented]
    asked = [replay(TRACES, *pair)[1][-1] for pair in zip(materials, ([one] for one in proposed), strict=True)]
    runs = run_programs([ask.arguments["code"] for ask in asked])
    num_compared = 0
    for material, answer, run, (_, said) in zip(materials, proposed, runs, documented, strict=True):
        told = Answer(text=printed(run.stdout, stderr=run.stderr, exit_code=run.exit_code))
        end, _ = replay(TRACES, material, [answer, told])
        if isinstance(end, Finished):
            assert ast.dump(ast.parse(end.text)) == ast.dump(ast.parse(material.text)), "only comments are added"
            num_compared += compare(end, said)
    assert num_compared > NUM_RUN


def compare(end: Finished, said: dict[str, str]) -> int:
    """Return how many calls the document tells that doctests tell too; they must say the same."""
    name = end.meta["function"]
    lines = [line.removeprefix("#     ") for line in end.text.splitlines() if line.startswith(f"#     {name}(")]
    told = dict(line.split("  -> ", 1) for line in lines if "  -> " in line)
    wanted = {f"{name}({', '.join(map(repr, json.loads(given)))})": value for given, value in said.items()}
    both = told.keys() & wanted.keys()
    assert {call: told[call] for call in both} == {call: wanted[call] for call in both}
    return len(both)


@pytest.mark.parametrize("language", ["python", "rust"])
def test_every_program_has_a_middle_and_is_whole_with_it(language: str):
    generator = FillInMiddleGenerator()
    sizes: list[int] = []
    for source in programs(language)[:120]:
        end: Any = replay(generator, Material(text=source, language=language), [])[0]
        assert isinstance(end, Finished), source[:200]
        assert restore(end.text, generator.sentinels) == source
        sizes.append(int(end.meta["middle_characters"]))
    sizes.sort()
    assert sizes[len(sizes) // 10] < 40 and sizes[-len(sizes) // 10] > 300, "small and large middles"
