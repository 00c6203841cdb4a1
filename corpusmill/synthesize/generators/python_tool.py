"""How a program asks for Python in the sandbox, and reads what came back."""

import json
from dataclasses import dataclass

from corpusmill.synthesize.asking import Answer, ToolCall

PYTHON = "python"


@dataclass(frozen=True, kw_only=True)
class PythonRun:
    """How a Python program ended."""

    succeeded: bool
    output: str
    """Its standard output."""
    error: str = ""
    """Its standard error, or that its time was up."""

    @property
    def shown(self) -> str:
        """What a reader of the run should see: what it printed, then what went wrong."""
        parts = [part.strip("\n") for part in (self.output, self.error) if part.strip()]
        return "\n".join(parts) or "(it printed nothing)"


def python_call(step: str, source: str) -> ToolCall:
    """Return the call that runs a program."""
    return ToolCall(step=step, tool=PYTHON, arguments={"code": source})


def python_run(answer: Answer) -> PythonRun:
    """Read what the tool answered."""
    value = json.loads(answer.text)
    timed_out = value.get("timed_out", False)
    error = value["stderr"] + ("\nIts time was up." if timed_out else "")
    succeeded = value["exit_code"] == 0 and not timed_out
    return PythonRun(succeeded=succeeded, output=value["stdout"], error=error.strip("\n"))
