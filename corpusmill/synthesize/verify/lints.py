"""Lints: faults of Python that are certain from the text alone, and that the seed does not have.

A name that is bound nowhere in the file, in no scope, is undefined whatever runs; a statement behind `return`, `raise`,
`break` or `continue` never runs; and the compiler's own warnings (an invalid escape, `is` with a literal).
"""

import ast
import builtins
import warnings
from collections.abc import Iterator
from itertools import pairwise

from corpusmill.synthesize.verify.case import Case
from corpusmill.synthesize.verify.python_source import parse

_BUILTINS = frozenset(dir(builtins)) | {
    "__file__", "__name__", "__doc__", "__builtins__", "__spec__", "__path__", "__package__", "__annotations__",
    "__class__", "__loader__", "reveal_type",
}  # fmt: skip
_DYNAMIC = frozenset({"exec", "eval", "globals", "locals", "vars", "setattr", "__import__"})
_LEAVING = (ast.Return, ast.Raise, ast.Break, ast.Continue)


def lints(case: Case) -> str | None:
    """Refuse an undefined name, a statement that is never reached, or a warning of the compiler that the seed has not."""
    before, after = parse(case.seed), parse(case.output)
    if after is None:
        return "does_not_compile"
    known = undefined_names(before) if before else frozenset()
    if undefined_names(after) - known:
        return "undefined_name"
    if num_unreachable(after) > (num_unreachable(before) if before else 0):
        return "unreachable_code"
    return "compiler_warning" if compiler_warnings(case.output) - compiler_warnings(case.seed) else None


def undefined_names(tree: ast.Module) -> frozenset[str]:
    """Return names that are read and never bound; none where names may come from elsewhere (`import *`, `exec`)."""
    read = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    bound = set(_bound(tree))
    if "*" in bound or read & _DYNAMIC:
        return frozenset()
    return frozenset(read - bound - _BUILTINS)


def num_unreachable(tree: ast.Module) -> int:
    """Count the blocks that go on behind a statement that leaves them."""
    blocks = (
        block
        for node in ast.walk(tree)
        for block in (getattr(node, name, None) for name in ("body", "orelse", "finalbody"))
        if isinstance(block, list) and all(isinstance(item, ast.stmt) for item in block)
    )
    return sum(
        any(isinstance(left, _LEAVING) and not _is_yield(following) for left, following in pairwise(block))
        for block in blocks
    )


def compiler_warnings(source: str) -> set[str]:
    """Return the messages of the warnings that compiling gives, without their places."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            compile(source, "<output>", "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return set()
    return {str(item.message) for item in caught if issubclass(item.category, SyntaxWarning | DeprecationWarning)}


def _is_yield(statement: ast.AST) -> bool:
    """Return whether it is the `yield` behind a `return` that makes a generator of nothing."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Yield)


def _bound(tree: ast.Module) -> Iterator[str]:
    """Yield every name that anything in the file binds, whichever scope it is in."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]
        elif isinstance(node, ast.Global | ast.Nonlocal):
            yield from node.names
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            yield node.name
        elif isinstance(node, ast.MatchMapping) and node.rest:
            yield node.rest
        elif type(node).__name__ in ("TypeVar", "ParamSpec", "TypeVarTuple"):
            yield node.name  # type: ignore[attr-defined]
