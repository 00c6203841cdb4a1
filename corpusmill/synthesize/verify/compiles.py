"""Compilation: code that the compiler refuses is no code."""

from corpusmill.synthesize.verify.case import Case
from corpusmill.synthesize.verify.python_source import does_compile


def compiles(case: Case) -> str | None:
    """Refuse an output that Python does not compile. It is not run."""
    return None if case.output.strip() and does_compile(case.output) else "does_not_compile"
