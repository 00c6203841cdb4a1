"""What is kept because it was run: programs for real worded problems, and traces of real functions.

A scripted model answers each problem with the last calculation of its own worked solution, once as it stands and once with
one of its numbers changed; only problems whose last calculation gives the answer are taken. It answers each function with
the arguments of the function's own doctests, and the traces must tell what the doctests say. All go through the recipes'
own programs, with the sandbox; nothing of the programs' own judgement decides what is right.
"""

import ast
import doctest
import gzip
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from assets.synthesized.code_rephrased import RECIPES as CODE
from assets.synthesized.stem_programs import RECIPES as STEM
from benchmarks.harness import Measure, at_least, print_measures
from corpusmill.synthesize.asking import (
    Answer,
    Ask,
    Failed,
    Finished,
    GivenUp,
    Known,
    Maker,
    Material,
    ToolCall,
    Waiting,
    advance,
)
from corpusmill.synthesize.generators.answer_key import AnswerKey
from corpusmill.synthesize.generators.traces import traced_function
from corpusmill.tasks.program_tool import PythonTool

DATA = Path(__file__).parents[2] / "shared" / "data"
PROBLEMS = DATA / "stem_gsm8k_train" / "gsm8k_train_2000.jsonl"
PROGRAMS = DATA / "code_thealgorithms" / "python.jsonl.gz"
TOGETHER = 100
_CALCULATION = re.compile(r"<<([-+*/().\d ]+)=[^>]*>>")
_OPERATOR = re.compile(r"[\d)][-+*/]")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")

End = Finished | GivenUp | Failed | Waiting


def measures() -> list[Measure]:
    """Return the measures; none, with a line that says why, where the data are absent."""
    if missing := [path for path in (PROBLEMS, PROGRAMS) if not path.exists()]:
        print(f"no measures of what is run: {', '.join(map(str, missing))} are absent")
        return []
    return [*_problem_measures(), *_trace_measures()]


def _problem_measures() -> list[Measure]:
    rows = [json.loads(line) for line in PROBLEMS.read_text(encoding="utf-8").splitlines()]
    materials = [Material(text=f"{row['question']}\n\nSolution: {row['answer']}") for row in rows]
    solved = [(problem, made) for problem in materials if (made := _last_calculation(problem))]
    right = _ends(STEM["program"].generator, [(problem, _block(made)) for problem, made in solved])
    changed = [(problem, _block(other)) for problem, made in solved if (other := _changed(made))]
    wrong = _ends(STEM["program"].generator, changed)
    for name, ends in (("right", right), ("changed", wrong)):
        print(f"{name}: {Counter(end.reason if isinstance(end, GivenUp) else 'kept' for end in ends)}")
    return [
        Measure(
            measure=f"share of {len(right)} right programs that are kept",
            ours=sum(isinstance(end, Finished) for end in right) / len(right),
            bar=at_least(1.0),
        ),
        Measure(
            measure=f"share of {len(wrong)} programs with a changed number that are refused",
            ours=sum(isinstance(end, GivenUp) for end in wrong) / len(wrong),
            bar=at_least(1.0),
        ),
    ]


def _trace_measures() -> list[Measure]:
    with gzip.open(PROGRAMS, "rt", encoding="utf-8") as lines:
        sources = [json.loads(line)["content"] for line in lines]
    documented = [(source, said) for source in sources if len(said := _examples(source)) >= 2]
    asked = [(Material(text=source, language="Python"), f"[{', '.join(said)}]") for source, said in documented]
    ends = _ends(CODE["traced"].generator, asked)
    compared = [pair for end, (_, said) in zip(ends, documented, strict=True) for pair in _compared(end, said)]
    kept = sum(isinstance(end, Finished) for end in ends)
    print(f"traced: {Counter(end.reason if isinstance(end, GivenUp) else 'kept' for end in ends)}")
    return [
        Measure(
            measure=f"share of {len(compared)} traced calls that give what the doctests say",
            ours=sum(told == said for told, said in compared) / max(1, len(compared)),
            bar=at_least(1.0),
        ),
        Measure(measure=f"share of {len(ends)} documented functions that are traced", ours=kept / max(1, len(ends))),
    ]


def _ends(generator: Maker, answered: Sequence[tuple[Material, str]]) -> list[End]:
    """Return how each program ends when the model always gives this one answer; runs go to the sandbox many at once."""
    tool, ends, waiting = PythonTool(), [], iter(answered)
    while some := list(islice(waiting, TOGETHER)):
        calls = [advance(generator.program(material), _knowing(text, None)) for material, text in some]
        codes = [
            ask.arguments for end in calls if isinstance(end, Waiting) for ask in end.asks if isinstance(ask, ToolCall)
        ]
        told = iter(tool.call_all(codes))
        runs = [next(told) if isinstance(end, Waiting) else None for end in calls]
        ends += [
            advance(generator.program(material), _knowing(text, run))
            for (material, text), run in zip(some, runs, strict=True)
        ]
    return [end if not isinstance(end, Waiting) else GivenUp(reason="asks again") for end in ends]


def _knowing(text: str, run: str | None) -> Known:
    """Return what is known: the model's one answer, and the run of it. The model has no second answer."""
    state = {"model": text, "tool": run}

    def known(ask: Ask) -> Answer | None:
        found = state.pop("tool" if isinstance(ask, ToolCall) else "model", None)
        return None if found is None else Answer(text=found)

    return known


def _last_calculation(problem: Material) -> str | None:
    found = [made for made in _CALCULATION.findall(problem.text) if _OPERATOR.search(made)]
    expected = AnswerKey().expected(problem)
    value = _value(found[-1]) if found else None
    return found[-1] if expected is not None and value == float(expected) else None


def _changed(calculation: str) -> str | None:
    """Return the calculation with its first number one larger, where that gives another value."""
    other = _NUMBER.sub(lambda match: f"({match.group()} + 1)", calculation, count=1)
    return other if _value(other) not in (None, _value(calculation)) else None


def _value(calculation: str) -> float | None:
    try:
        return float(eval(compile(calculation, "<calculation>", "eval"), {"__builtins__": {}}))
    except (SyntaxError, ZeroDivisionError):
        return None


def _block(calculation: str) -> str:
    return f"```python\nresult = {calculation}\nprint(result)\n```"


def _examples(source: str) -> dict[str, str]:
    """Return arguments as JSON -> what the doctests of the traced function say that it returns, plain values only."""
    function = traced_function(source)
    docstring = None if function is None else ast.get_docstring(function)
    if function is None or docstring is None:
        return {}
    return dict(_plain_examples(docstring, function.name))


def _plain_examples(docstring: str, name: str) -> Iterator[tuple[str, str]]:
    for example in doctest.DocTestParser().get_examples(docstring):
        try:
            call = ast.parse(example.source.strip(), mode="eval").body
            if not isinstance(call, ast.Call) or ast.unparse(call.func) != name or call.keywords:
                continue
            arguments = [ast.literal_eval(argument) for argument in call.args]
            if json.loads(json.dumps(arguments)) == arguments:
                yield json.dumps(arguments), repr(ast.literal_eval(example.want.strip()))
        except (SyntaxError, ValueError, TypeError):
            continue


def _compared(end: End, said: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return (told, said) for each call that the document and the doctests both tell."""
    if not isinstance(end, Finished):
        return []
    start = f"#     {end.meta['function']}("
    told = dict(
        line[len(start) :].split(")  -> ", 1)
        for line in end.text.splitlines()
        if line.startswith(start) and ")  -> " in line
    )
    wanted = {", ".join(map(repr, json.loads(given))): value for given, value in said.items()}
    return [(told[given], wanted[given]) for given in told.keys() & wanted.keys()]


if __name__ == "__main__":
    print_measures(measures())
