"""Interface: the rewrite offers the same public names with the same signatures."""

import ast
import copy
from collections.abc import Iterator, Sequence

from corpusmill.synthesize.verify.case import Case
from corpusmill.synthesize.verify.python_source import parse


def same_interface(case: Case, *, compare_annotations: bool = False) -> str | None:
    """Refuse when a public function, class, method or module variable is gone or takes other arguments.

    Public names may be added. Annotations count only where asked: a rewrite may add them.
    """
    before, after = parse(case.seed), parse(case.output)
    if before is None or after is None:
        return "does_not_compile"
    wanted = _public(before, compare_annotations)
    offered = _public(after, compare_annotations)
    if set(wanted) - set(offered):
        return "public_name_lost"
    return None if all(offered[name] == wanted[name] for name in wanted) else "signature_changed"


def _public(tree: ast.Module | ast.ClassDef, compare_annotations: bool, prefix: str = "") -> dict[str, str]:
    found: dict[str, str] = {}
    for node in _statements(tree.body):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _is_public(node.name):
            found[prefix + node.name] = _signature(node, compare_annotations)
        elif isinstance(node, ast.ClassDef) and _is_public(node.name):
            found[prefix + node.name] = "class " + ", ".join(map(ast.unparse, node.bases))
            found.update(_public(node, compare_annotations, f"{prefix}{node.name}."))
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            found.update({prefix + name: "variable" for name in _assigned(node) if _is_public(name)})
    return found


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a body, those under `if`, `try` and `with` included."""
    for node in body:
        yield node
        if isinstance(node, ast.If | ast.Try | ast.With):
            yield from _statements([*node.body, *getattr(node, "orelse", []), *getattr(node, "finalbody", [])])


def _signature(node: ast.FunctionDef | ast.AsyncFunctionDef, compare_annotations: bool) -> str:
    """Spell kind, decorators and arguments: `def f(a: int, b=2)` is `FunctionDef a, b=2`."""
    arguments = node.args if compare_annotations else _without_annotations(node.args)
    returns = [node.returns] if compare_annotations and node.returns is not None else []
    return " ".join((type(node).__name__, *map(ast.unparse, [*node.decorator_list, arguments, *returns])))


def _without_annotations(arguments: ast.arguments) -> ast.arguments:
    copied = copy.deepcopy(arguments)
    for argument in ast.walk(copied):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    return copied


def _assigned(node: ast.Assign | ast.AnnAssign) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return [name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]


def _is_public(name: str) -> bool:
    return not name.startswith("_") or (name.startswith("__") and name.endswith("__"))
