"""How a program asks for a program in any language that the sandbox runs, and reads what came back."""

from collections.abc import Mapping

from corpusmill.synthesize.asking import Answer, ToolCall
from corpusmill.synthesize.generators.python_tool import PythonRun, python_run

PROGRAM = "program"
NAMES: Mapping[str, str] = {
    "python": "Python",
    "javascript": "JavaScript",
    "java": "Java",
    "cpp": "C++",
    "rust": "Rust",
    "go": "Go",
}
"""As the sandbox names a language, to how documents name it."""


def program_call(step: str, language: str, source: str) -> ToolCall:
    """Return the call that compiles and runs a program of one file."""
    return ToolCall(step=step, tool=PROGRAM, arguments={"language": language, "source": source})


def program_run(answer: Answer) -> PythonRun:
    """Read what the tool answered: the same as of Python."""
    return python_run(answer)
