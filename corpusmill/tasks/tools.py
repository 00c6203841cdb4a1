"""The tools that a recipe's generator may call, by name. What they say is kept like a model's answers.

A tool's version belongs to the name of an answer: it moves when the same arguments would give another text.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from corpusmill.engines.sandbox import Limits, SandboxResult, run_python
from corpusmill.fingerprint import fingerprint
from corpusmill.synthesize.ask_ids import tool_versions
from corpusmill.synthesize.asking import Tool
from corpusmill.synthesize.generators.registry import tools_of
from corpusmill.synthesize.recipe import Recipe
from corpusmill.tasks.task import Job

TAIL_CHARACTERS = 2_000
"""Kept of the end of what a program prints: a model is to read it."""
_FORM = 1
"""One more whenever the text that the Python tool makes of a run changes."""


@dataclass(frozen=True)
class PythonTool:
    """Runs the Python program in the argument `code` in the sandbox; says exit code and the ends of both outputs as JSON."""

    limits: Limits = field(default_factory=Limits)

    @property
    def version(self) -> str:
        return fingerprint({"form": _FORM, "limits": asdict(self.limits), "tail": TAIL_CHARACTERS})

    def __call__(self, arguments: Mapping[str, str]) -> str:
        if set(arguments) != {"code"}:
            raise ValueError(f"the tool python takes the argument code, got {', '.join(sorted(arguments)) or 'none'}")
        return json.dumps(_said(run_python(arguments["code"], limits=self.limits)))


@dataclass(frozen=True)
class ToolVersion:
    """Stands for a tool where answers are only looked up."""

    version: str

    def __call__(self, arguments: Mapping[str, str]) -> str:
        raise AssertionError("answers of tools are looked up here; nothing is called")


def tools_for(job: Job) -> dict[str, Tool]:
    """Return the tools that the recipe of a job may call; raise ValueError for one that there is not."""
    everything: dict[str, Tool] = {"python": PythonTool()}
    used = tools_of(Recipe.from_json(job.parameters["recipe"]).generator)
    return {name: everything[name] for name in tool_versions(used, everything)}


def versions_for(job: Job) -> dict[str, Any]:
    """Return `{"tools": versions}` as an input of a job; nothing for a recipe without tools."""
    versions = {name: tool.version for name, tool in tools_for(job).items()}
    return {"tools": versions} if versions else {}


def _said(result: SandboxResult) -> dict[str, Any]:
    said = {"exit_code": result.exit_code, "stdout": _tail(result.stdout), "stderr": _tail(result.stderr)}
    return {**said, "timed_out": True} if result.timed_out else said


def _tail(text: str) -> str:
    return text[-TAIL_CHARACTERS:]
