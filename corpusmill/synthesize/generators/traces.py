"""Execution traces: the model proposes arguments for a function, and running it in the sandbox says what it gives.

The document is the source with the true calls after it, as comments, and on request how the variables of one call
changed line by line. Nothing that the model claims about outputs is kept: it is asked for arguments only.
"""

import ast
import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from corpusmill.synthesize.asking import Finished, GivenUp, Material, Program, Question
from corpusmill.synthesize.generators import trace_harness
from corpusmill.synthesize.generators.python_tool import PYTHON, PythonRun, python_call, python_run
from corpusmill.synthesize.generators.wording import refusal
from corpusmill.synthesize.prompt import render_messages, template_names
from corpusmill.synthesize.sampling import Sampling
from corpusmill.synthesize.verify.python_source import parse

_OWN = "signature"
_MAX_OUTPUT_CHARACTERS = 1_900
"""What is told of all calls; the Python tool keeps about as much of an output's end."""


@dataclass(frozen=True, kw_only=True)
class TraceGenerator:
    """One prompt for arguments, one run. The prompts may name `$signature`, the function to call."""

    kind: ClassVar[str] = "traces"
    tools: ClassVar[tuple[str, ...]] = (PYTHON,)

    system: str
    user: str
    sampling: Sampling
    max_calls: int = 6
    min_calls: int = 2
    """With fewer calls that can be told, the seed is rejected as `too_few_calls`."""
    max_lines: int = 0
    """So many lines of the first call's way are shown."""
    max_characters: int = 160
    """Longer values are not shown."""

    def __post_init__(self) -> None:
        if not 1 <= self.min_calls <= self.max_calls or self.max_lines < 0 or self.max_characters < 1:
            raise ValueError(
                "traces need 1 <= min_calls <= max_calls, max_lines >= 0 and max_characters >= 1, got "
                f"{self.min_calls}, {self.max_calls}, {self.max_lines} and {self.max_characters}"
            )

    def names(self) -> set[str]:
        """Return every `$name` that the prompts use and that the recipe must give."""
        return template_names(system=self.system, user=self.user) - {_OWN}

    def program(self, material: Material) -> Program:
        function = traced_function(material.text)
        if function is None:
            return GivenUp(reason="no_function")
        values = {_OWN: f"{function.name}({ast.unparse(function.args)})"}
        messages = render_messages(self.system, self.user, material, values=values)
        schema = {"type": "array", "items": {"type": "array"}, "minItems": 1, "maxItems": self.max_calls}
        [answer] = yield [Question(step="arguments", messages=messages, sampling=self.sampling, schema=schema)]
        arguments = proposed_arguments(answer.text)[: self.max_calls]
        if reason := refusal(answer) or (None if arguments else "not_a_json_list"):
            return GivenUp(reason=reason)
        [told] = yield [python_call("run", self._order(material.text, function.name, arguments))]
        calls = _told_calls(python_run(told))
        if calls is None:
            return GivenUp(reason="program_fails")
        if len(calls) < self.min_calls or not any("returned" in call for call in calls):
            return GivenUp(reason="too_few_calls")
        facts = {"function": function.name, "calls": str(len(calls)), "proposed": str(len(arguments))}
        return Finished(text=_sample(material.text, function.name, calls), meta=facts)

    def _order(self, source: str, function: str, arguments: Sequence[str]) -> str:
        """Return the program that makes the calls."""
        order = {
            "source": source,
            "function": function,
            "arguments": list(arguments),
            "max_lines": self.max_lines,
            "max_characters": self.max_characters,
            "max_output_characters": _MAX_OUTPUT_CHARACTERS,
        }
        return f"{inspect.getsource(trace_harness)}\n\nmain(json.loads({json.dumps(order)!r}))\n"

    def to_json(self) -> dict[str, Any]:
        names = ("system", "user", "max_calls", "min_calls", "max_lines", "max_characters")
        return {**{name: getattr(self, name) for name in names}, "sampling": self.sampling.to_json()}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        return cls(**{**value, "sampling": Sampling.from_json(value["sampling"])})


def traced_function(source: str) -> ast.FunctionDef | None:
    """Return the first public top-level function that takes arguments and returns something, or None."""
    tree = parse(source)
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)] if tree is not None else []
    return next((node for node in functions if _is_traced(node)), None)


def proposed_arguments(answer: str) -> list[str]:
    """Return the argument lists that an answer proposes, each as JSON, each once; none where there is no JSON list.

    A list of plain values is taken for the arguments of as many calls of one parameter.
    """
    start, end = answer.find("["), answer.rfind("]")
    try:
        value = json.loads(answer[start : end + 1]) if 0 <= start < end else []
        calls = [item if isinstance(item, list) else [item] for item in value]
        return list(dict.fromkeys(json.dumps(call, allow_nan=False) for call in calls))
    except (ValueError, RecursionError):
        return []


def _is_traced(node: ast.FunctionDef) -> bool:
    if node.decorator_list or node.name.startswith(("_", "test", "main")):
        return False
    takes = bool(node.args.posonlyargs or node.args.args or node.args.vararg)
    needs_names = any(default is None for default in node.args.kw_defaults)
    inner = list(ast.walk(node))
    gives = any(isinstance(item, ast.Return) and item.value is not None for item in inner)
    return (
        takes and gives and not needs_names and not any(isinstance(item, ast.Yield | ast.YieldFrom) for item in inner)
    )


def _told_calls(run: PythonRun) -> list[Mapping[str, Any]] | None:
    """Return what the run tells of calls; None where it failed, ended before it told, or told something else itself."""
    lines = [line for line in run.output.splitlines() if line.startswith(trace_harness.MARK)]
    if not run.succeeded or not lines:
        return None
    try:
        told = json.loads(lines[-1].removeprefix(trace_harness.MARK))
        calls = [call for call in told if call is not None]
        return calls if all(map(_is_told, calls)) else None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _is_told(call: Mapping[str, Any]) -> bool:
    """Whether it has the form that the harness gives, all on single lines; a program can print what it likes."""
    gave = [call[name] for name in ("given", "returned", "raised") if name in call]
    changes = [changed for _, changed in call["lines"]]
    spelled = [*gave, *(value for changed in changes for value in changed.values())]
    return len(gave) == 2 and all(isinstance(text, str) and len(text.splitlines()) < 2 for text in spelled)


def _sample(source: str, function: str, calls: Sequence[Mapping[str, Any]]) -> str:
    """Return the source with what the calls gave as comments; JSON spelled every value on one line."""
    said = [f"{function}({call['given']})  {_gave(call)}" for call in calls]
    way = [
        f"line {line}: {', '.join(f'{name} = {value}' for name, value in changed.items())}"
        for line, changed in calls[0]["lines"]
    ]
    blocks = [("What it gives:", said), (f"How {function}({calls[0]['given']}) goes:", way)]
    comments = "\n#\n".join(
        "\n".join(f"# {line}" for line in [title, *(f"    {line}" for line in lines)])
        for title, lines in blocks
        if lines
    )
    return f"{source.rstrip()}\n\n\n{comments}\n"


def _gave(call: Mapping[str, Any]) -> str:
    return f"-> {call['returned']}" if "returned" in call else f"raises {call['raised']}"
