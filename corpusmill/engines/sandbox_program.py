"""Inside the sandbox: run one untrusted program, or doctests or calls of one text in the namespace of another.

A program is run as a script; for doctests and calls it is imported, so that what it guards with `__main__` does not run.

Only the standard library is used. The process belongs to the program: when it is done, the process ends with its code.
"""

import ast
import doctest
import json
import os
import re
import sys
import threading
import traceback
import types
from collections.abc import Iterator
from functools import partial
from typing import Any, Self

from corpusmill.engines.sandbox_calls import evaluate

DOCTEST_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
REPORT = 3
"""File descriptor that takes the outcomes of doctests, one line of JSON each."""
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")
_Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def run_job(job: dict[str, Any]) -> None:
    """Run the job and end this process; exit codes are those of a Python interpreter."""
    file = job.get("file", "<program>")
    sys.argv[:] = [file, *job.get("arguments", ())]
    if "file" in job:
        sys.path.insert(0, os.path.dirname(os.path.abspath(file)))
    with _ProgramEnd():
        is_script = "doctests_of" not in job and "calls" not in job
        namespace = _run(job["source"], file=file, name="__main__" if is_script else "program")
        if is_script:
            return
        _report({"module": "ran"})
        for test in _doctests(job["doctests_of"], namespace) if "doctests_of" in job else ():
            _Reporter(optionflags=DOCTEST_FLAGS).run(test, out=lambda text: None)
        if "calls" in job:
            chance = partial(_chance, is_seeded="seed(" in job["source"])
            evaluate(job["calls"], namespace, **job["times"], chance=chance, report=_report)
        _report({"module": "done"})


class _ProgramEnd:
    """Ends the process when the block ends, as the interpreter would: code, traceback, threads, buffers."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: types.TracebackType | None) -> None:
        code: Any = 0
        if isinstance(error, SystemExit):
            code = error.code or 0
            if not isinstance(code, int):
                print(code, file=sys.stderr)
                code = 1
        elif error is not None:
            while trace and trace.tb_frame.f_code.co_filename == __file__:
                trace = trace.tb_next
            traceback.print_exception(kind, error, trace)
            code = 1
        threading._shutdown()  # type: ignore[attr-defined]
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code & 0xFF)


def _run(source: str, *, file: str, name: str) -> dict[str, Any]:
    module = types.ModuleType(name)
    module.__file__ = file
    sys.modules[name] = module
    exec(compile(source, file, "exec", dont_inherit=True), module.__dict__)
    return module.__dict__


def _chance(*, is_seeded: bool) -> object:
    """Return the state of the module `random`, where the program uses it and does not set it itself."""
    module = None if is_seeded else sys.modules.get("random")
    return None if module is None else module.getstate()


def _doctests(text: str, namespace: dict[str, Any]) -> Iterator[doctest.DocTest]:
    parser = doctest.DocTestParser()
    for name, docstring in _docstrings(ast.parse(text), ""):
        yield parser.get_doctest(docstring, dict(namespace), name, None, 0)


def _docstrings(node: _Documented, name: str) -> Iterator[tuple[str, str]]:
    docstring = ast.get_docstring(node, clean=True)
    if docstring:
        yield name, docstring
    for child in node.body:
        if isinstance(child, _Documented) and isinstance(node, ast.Module | ast.ClassDef):
            yield from _docstrings(child, f"{name}.{child.name}".strip("."))


class _Reporter(doctest.DocTestRunner):
    """Tells what every example gave, the moment it is known."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(verbose=False, **arguments)
        self._counts: dict[str, int] = {}

    def report_start(self, out: Any, test: doctest.DocTest, example: doctest.Example) -> None:
        """Nothing is printed."""

    def report_success(self, out: Any, test: doctest.DocTest, example: doctest.Example, got: str) -> None:
        self._tell(test, example, "passed", got)

    def report_failure(self, out: Any, test: doctest.DocTest, example: doctest.Example, got: str) -> None:
        self._tell(test, example, "failed", got)

    def report_unexpected_exception(
        self, out: Any, test: doctest.DocTest, example: doctest.Example, exc_info: Any
    ) -> None:
        self._tell(test, example, "raised", "".join(traceback.format_exception_only(exc_info[1])))

    def _tell(self, test: doctest.DocTest, example: doctest.Example, status: str, got: str) -> None:
        number = self._counts.get(test.name, 0)
        self._counts[test.name] = number + 1
        got = _ADDRESS.sub("0x0", got)[:2000]
        _report({"name": test.name, "number": number, "source": example.source, "status": status, "got": got})


def _report(value: dict[str, Any]) -> None:
    line = memoryview(json.dumps(value).encode() + b"\n")
    while line:
        line = line[os.write(REPORT, line) :]
