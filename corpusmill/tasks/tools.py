"""The tools that a recipe's generator may call, by name. What they say is kept like a model's answers.

A tool's version belongs to the name of an answer: it moves when the same arguments would give another text.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from corpusmill.synthesize.ask_ids import tool_versions
from corpusmill.synthesize.asking import Tool
from corpusmill.synthesize.generators.registry import tools_of
from corpusmill.synthesize.recipe import Recipe
from corpusmill.tasks.corpus_search import CorpusSearch
from corpusmill.tasks.program_tool import ProgramTool, PythonTool
from corpusmill.tasks.task import Job


@dataclass(frozen=True)
class ToolVersion:
    """Stands for a tool where answers are only looked up."""

    version: str

    def __call__(self, arguments: Mapping[str, str]) -> str:
        raise AssertionError("answers of tools are looked up here; nothing is called")


def tools_for(job: Job) -> dict[str, Tool]:
    """Return the tools that the recipe of a job may call; raise ValueError for one that there is not."""
    everything: dict[str, Tool] = {"program": ProgramTool(), "python": PythonTool(), "search": CorpusSearch(job)}
    used = tools_of(Recipe.from_json(job.parameters["recipe"]).generator)
    return {name: everything[name] for name in tool_versions(used, everything)}


def versions_for(job: Job) -> dict[str, Any]:
    """Return `{"tools": versions}` as an input of a job; nothing for a recipe without tools."""
    versions = {name: tool.version for name, tool in tools_for(job).items()}
    return {"tools": versions} if versions else {}
