"""Same program: a rewrite that may touch comments and docstrings only."""

from corpusmill.synthesize.verify.case import Case
from corpusmill.synthesize.verify.python_source import spell_without_docstrings


def same_program(case: Case) -> str | None:
    """Refuse when the syntax trees differ in anything but docstrings."""
    before, after = spell_without_docstrings(case.seed), spell_without_docstrings(case.output)
    if before is None or after is None:
        return "does_not_compile"
    return None if before == after else "program_changed"
