"""The tools that run programs in the sandbox: Python, and every language that it has a toolchain for.

Both say exit code and the ends of both outputs as JSON. A tool's version moves when its limits or the form of what it says
do; a newer compiler or interpreter does not move it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from corpusmill.engines.sandbox import Limits, SandboxResult, run_programs, run_programs_in
from corpusmill.engines.sandbox_languages import LANGUAGES, LIMITS, program
from corpusmill.fingerprint import fingerprint

TAIL_CHARACTERS = 2_000
"""Kept of the end of what a program prints: a model is to read it."""
_FORM = 1
"""One more whenever the text that the tools make of a run changes."""


@dataclass(frozen=True)
class PythonTool:
    """Runs the Python program in the argument `code`."""

    limits: Limits = field(default_factory=Limits)

    @property
    def version(self) -> str:
        return fingerprint({"form": _FORM, "limits": asdict(self.limits), "tail": TAIL_CHARACTERS})

    def __call__(self, arguments: Mapping[str, str]) -> str:
        return self.call_all([arguments])[0]

    def call_all(self, calls: Sequence[Mapping[str, str]]) -> list[str]:
        for arguments in calls:
            if set(arguments) != {"code"}:
                got = ", ".join(sorted(arguments)) or "none"
                raise ValueError(f"the tool python takes the argument code, got {got}")
        results = run_programs([arguments["code"] for arguments in calls], limits=self.limits)
        return [json.dumps(_said(result)) for result in results]


@dataclass(frozen=True)
class ProgramTool:
    """Compiles and runs the one file in the argument `source`, in the `language` that the sandbox runs."""

    @property
    def version(self) -> str:
        limits = {language: asdict(limits) for language, limits in LIMITS.items()}
        return fingerprint({"form": _FORM, "limits": limits, "tail": TAIL_CHARACTERS})

    def __call__(self, arguments: Mapping[str, str]) -> str:
        return self.call_all([arguments])[0]

    def call_all(self, calls: Sequence[Mapping[str, str]]) -> list[str]:
        for arguments in calls:
            if set(arguments) != {"language", "source"} or arguments["language"] not in LANGUAGES:
                raise ValueError(
                    f"the tool program takes the arguments source and language, one of {', '.join(LANGUAGES)}; "
                    f"got {dict(arguments)}"
                )
        said: dict[int, str] = {}
        for language in LANGUAGES:
            places = [place for place, arguments in enumerate(calls) if arguments["language"] == language]
            if not places:  # its toolchain may be missing
                continue
            results = run_programs_in(language, [program(language, calls[place]["source"]) for place in places])
            said |= {place: json.dumps(_said(result)) for place, result in zip(places, results, strict=True)}
        return [said[place] for place in range(len(calls))]


def _said(result: SandboxResult) -> dict[str, Any]:
    said = {"exit_code": result.exit_code, "stdout": _tail(result.stdout), "stderr": _tail(result.stderr)}
    return {**said, "timed_out": True} if result.timed_out else said


def _tail(text: str) -> str:
    return text[-TAIL_CHARACTERS:]
