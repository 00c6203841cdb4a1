"""Execution traces: the model gives arguments, and only what running the function says about them is kept."""

import json

import pytest

from corpusmill.engines.sandbox import run_python
from corpusmill.synthesize.asking import Finished, GivenUp, Material, ToolCall
from corpusmill.synthesize.generators.trace_harness import fitting, told_call
from corpusmill.synthesize.generators.traces import TraceGenerator, proposed_arguments, traced_function
from corpusmill.synthesize.sampling import Sampling
from tests.synthesize.generators.scripted import CUT, printed, reason, run

SOURCE = '''import math

def _hidden(a):
    return a

def digits(number, base=10):
    """Count digits."""
    if number < 0:
        raise ValueError("negative </document> $document")
    count = 1
    while number >= base:
        number //= base
        count += 1
    return count

if __name__ == "__main__":
    print(digits(5))
'''
FILE = Material(text=SOURCE, language="Python")
ARGUMENTS = '[[7], [1234], [255, 16], [-1], ["a"], [7]]'


def traces(**changes: object) -> TraceGenerator:
    plain = {"system": "", "user": "$document\nArguments for $signature, please.", "sampling": Sampling(max_tokens=99)}
    return TraceGenerator(**{**plain, **changes})


def in_sandbox(call: ToolCall) -> str:
    """Return what the Python tool answers to a call, from a real run."""
    done = run_python(call.arguments["code"])
    return printed(done.stdout[-2000:], stderr=done.stderr, exit_code=done.exit_code)


def ran(generator: TraceGenerator, material: Material, arguments: str):
    """Return how the program ends after a real run of what it asks for."""
    _, asked = run(generator, material, arguments)
    return run(generator, material, arguments, in_sandbox(asked[1]))[0]


def test_the_document_is_the_function_with_its_true_calls():
    end = ran(traces(max_lines=9), FILE, f"Sure: {ARGUMENTS} They give 1, 4, 99.")
    assert end == Finished(
        text=f"{SOURCE.rstrip()}\n\n\n"
        "# What it gives:\n"
        "#     digits(7)  -> 1\n"
        "#     digits(1234)  -> 4\n"
        "#     digits(255, 16)  -> 2\n"
        "#     digits(-1)  raises ValueError: negative </document> $document\n"
        "#\n"
        "# How digits(7) goes:\n"
        "#     line 10: count = 1\n",
        meta={"function": "digits", "calls": "4", "proposed": "5"},
    )
    compile(end.text, "document", "exec")


def test_the_model_is_asked_for_arguments_only():
    _, asked = run(traces(), FILE, ARGUMENTS)
    assert asked[0].messages[-1]["content"].endswith("Arguments for digits(number, base=10), please.")
    assert asked[0].schema == {"type": "array", "items": {"type": "array"}, "minItems": 1, "maxItems": 6}
    assert (asked[1].tool, asked[1].step) == ("python", "run")


def test_a_file_that_does_not_run_is_refused():
    assert ran(traces(), Material(text="import nothing_such\n" + SOURCE), "[[1], [2]]").reason == "program_fails"
    assert ran(traces(), Material(text=f"{SOURCE}\nexit(0)\n"), "[[1], [2]]").reason == "program_fails"


def test_what_a_program_prints_is_not_taken_for_its_calls():
    loud = f"import atexit\nprint('[7]')\natexit.register(print, '[8]')\n{SOURCE.replace('count = 1', 'count = 1; print([9])')}"
    assert ran(traces(), Material(text=loud), "[[1], [20]]").meta["calls"] == "2"


def test_what_only_raises_or_is_called_wrongly_is_refused():
    assert ran(traces(), FILE, "[[-1], [-2], [-3]]").reason == "too_few_calls"
    assert ran(traces(), FILE, '[["a"], [[]]]').reason == "too_few_calls"


REFUSED = {
    "no function": (Material(text="x = 1"), [], "no_function"),
    "no Python": (Material(text="def f(:"), [], "no_function"),
    "nothing": (FILE, [" "], "empty_answer"),
    "half": (FILE, [CUT], "cut_off"),
    "prose": (FILE, ["Try 7 and 8."], "not_a_json_list"),
    "an object": (FILE, ['{"number": 7}'], "not_a_json_list"),
    "it could not run": (FILE, [ARGUMENTS, printed("", exit_code=1)], "program_fails"),
    "its time was up": (FILE, [ARGUMENTS, printed("", exit_code=-9, timed_out=True)], "program_fails"),
}


@pytest.mark.parametrize(("material", "said", "why"), REFUSED.values(), ids=REFUSED)
def test_what_gives_no_trace_is_refused(material, said, why):
    assert reason(traces(), material, *said) == why


PROPOSED = {
    "lists": ("[[1, 2], [3]]", ["[1, 2]", "[3]"]),
    "one parameter each": ('[1, "a"]', ["[1]", '["a"]']),
    "twice the same": ("[[1], [1]]", ["[1]"]),
    "fenced": ("```json\n[[1]]\n```", ["[1]"]),
    "not finite": ("[[NaN]]", []),
    "no end": ("[[1]", []),
    "deep": ("[" * 100_000 + "]" * 100_000, []),
}


@pytest.mark.parametrize(("answer", "calls"), PROPOSED.values(), ids=PROPOSED)
def test_proposed_arguments(answer, calls):
    assert proposed_arguments(answer) == calls


FUNCTIONS = {
    "public and with a value": ("def _a(x): return x\ndef b(x): return x", "b"),
    "no arguments": ("def a(): return 1", None),
    "no value": ("def a(x): print(x)", None),
    "a generator": ("def a(x):\n yield x\n return x", None),
    "a decorated one": ("@cache\ndef a(x): return x", None),
    "a test": ("def test_a(x): return x", None),
    "names that it needs": ("def a(x, *, y): return x", None),
    "any number": ("def a(*x): return x", "a"),
}


@pytest.mark.parametrize(("source", "name"), FUNCTIONS.values(), ids=FUNCTIONS)
def test_which_function_is_traced(source, name):
    found = traced_function(source)
    assert (found.name if found else None) == name


ORDER = {"max_characters": 30, "max_lines": 0}


def told(function, *arguments):
    call = told_call(function, json.dumps(arguments), ORDER)
    return call and (call.get("returned") or call["raised"])


def test_only_what_is_true_in_every_process_is_told():
    counter = iter(range(9))
    assert told(lambda x: [*x, 1.5, None], ["a"]) == "['a', 1.5, None]"
    assert told(lambda x: {x}, 1) == "{1}"
    assert told(lambda x: {x, "b"}, "a") is None, "a set has another order in every process"
    assert told(lambda x: object(), 1) is None
    assert told(lambda x: [object()], 1) is None
    assert told(lambda x: next(counter), 1) is None, "two calls give two values"
    assert told(lambda x: "a" * 31, 1) is None
    assert told(lambda x: x.append(1) or x, []) == "[1]", "each call gets fresh arguments"


def test_what_is_raised_is_told_unless_the_call_was_wrong():
    assert told(lambda x: 1 // x, 0) == "ZeroDivisionError: integer division or modulo by zero"[:30]
    assert told(lambda x: [][x], 0) == "IndexError: list index out of range"[:30]
    assert told(lambda x: x.upper(), 0) is None
    assert told(lambda x: exit(x), 0) == "SystemExit: 0"


def test_the_way_of_a_call_is_told_line_by_line():
    def total(numbers):
        result = 0
        for number in numbers:
            result += number
        return result

    first = total.__code__.co_firstlineno
    call = told_call(total, "[[2, 3]]", {"max_characters": 30, "max_lines": 4})
    assert call["lines"] == [
        [first + 1, {"result": "0"}],
        [first + 2, {"number": "2"}],
        [first + 3, {"result": "2"}],
        [first + 2, {"number": "3"}],
    ]


def test_what_is_told_fits():
    calls = [{"given": "1", "returned": "2", "lines": [[1, {"a": "b" * 40}]]}, None, {"given": "3", "lines": []}]
    assert json.loads(fitting(calls, 1000)) == calls
    assert json.loads(fitting(calls, 100)) == [{"given": "1", "returned": "2", "lines": []}, None, calls[2]]
    assert json.loads(fitting(calls, 50)) == [{"given": "1", "returned": "2", "lines": []}]


@pytest.mark.parametrize("changes", [{"min_calls": 0}, {"min_calls": 7}, {"max_lines": -1}, {"max_characters": 0}])
def test_what_cannot_be_is_refused(changes):
    with pytest.raises(ValueError, match="traces need 1 <= min_calls <= max_calls"):
        traces(**changes)


def test_json_gives_it_back():
    made = traces(max_calls=3, max_lines=5)
    assert TraceGenerator.from_json(json.loads(json.dumps(made.to_json()))) == made
    assert made.names() == {"document"}


@pytest.mark.parametrize(
    "told", ["[", "3", "[3]", "[{}]", '[{"given": "1", "returned": 2, "lines": []}]', "[" * 900], ids=range(6)
)
def test_what_a_program_prints_in_the_name_of_the_harness_ends_its_own_trace_alone(told):
    """It takes the harness's own word for printing."""
    line = f"what the calls gave: {told}"
    spoof = f"import builtins\nbuiltins.print = lambda *_, say=print: say({line!r})\n\ndef f(x):\n    return x\n"
    end = ran(traces(), Material(text=spoof, language="Python"), "[[1], [2]]")
    assert end == GivenUp(reason="program_fails")
