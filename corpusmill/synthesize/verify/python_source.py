"""Python source as a tree: what the code verifiers look at. Nothing here runs the code."""

import ast
import warnings

_UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def parse(source: str) -> ast.Module | None:
    """Return the tree, or None when this is not Python (or nested deeper than the parser can go)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(source)
        except _UNREADABLE:
            return None


def does_compile(source: str) -> bool:
    """Whether the compiler takes it; stricter than parsing (a `return` outside of a function parses)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(source, "<output>", "exec", dont_inherit=True)
        except _UNREADABLE:
            return False
    return True


def docstrings(tree: ast.Module) -> dict[str, str]:
    """Return the docstrings by dotted name, the module's under the empty name."""
    return dict(_docstrings(tree, ""))


def spell_without_docstrings(source: str) -> str | None:
    """Spell the program without docstrings (a tree never has comments); None when it is not Python."""
    tree = parse(source)
    try:
        return None if tree is None else ast.dump(_Undocumented().visit(tree))
    except RecursionError:
        return None


def _docstrings(node: ast.AST, name: str) -> list[tuple[str, str]]:
    found = []
    if isinstance(node, _DOCUMENTED) and (text := ast.get_docstring(node, clean=False)) is not None:
        found.append((name, text))
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _DOCUMENTED[1:]):
            found += _docstrings(child, f"{name}.{child.name}" if name else child.name)
        elif isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            found += _docstrings(child, name)
    return found


class _Undocumented(ast.NodeTransformer):
    """Removes docstrings and `pass`; a body that was nothing else becomes `pass`."""

    def visit(self, node: ast.AST) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node, _DOCUMENTED):
            rest = node.body[ast.get_docstring(node, clean=False) is not None :]
            kept: list[ast.stmt] = [statement for statement in rest if not isinstance(statement, ast.Pass)]
            node.body = kept or [ast.Pass()]
        return node
