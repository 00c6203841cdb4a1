"""What a scripted generator does to Python programs: rewrites that keep the behaviour, and breakages of known kinds.

Both work on the syntax tree and know nothing of the verifiers. A good rewrite is good by construction: each kind is a
transformation that is safe wherever it is applied, and gives None where it cannot be sure. A breakage either breaks
by construction (a test is gone, a public name is gone, an endless loop stands where a doctest goes), or it is a mutation
of which an outsider must say whether it can be seen at all.
"""

import ast
import copy
import doctest
from collections.abc import Callable, Iterator

Rewrite = Callable[[str], str | None]
Breakage = Callable[[str], Iterator[str]]

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_INSPECTING = {"locals", "globals", "vars", "eval", "exec", "dir", "inspect", "sys", "super", "__name__"}
_SWAPPED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
}
_SHIFTED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}


def with_comments(source: str) -> str | None:
    """Explain the file and every function that starts a line, in comments."""
    lines = ["# This file was read with care; what follows is as it was, with a few words on every function."]
    for line in source.splitlines():
        if line.startswith("def ") and not (lines[-1].startswith("@") or lines[-1].endswith("\\")):
            lines.append(f"# {line[4:].split('(')[0]} is explained in its docstring.")
        lines.append(line)
    found = "\n".join(lines) + "\n"
    return found if _dumped(found) == _dumped(source) else None


def with_docstrings(source: str) -> str | None:
    """Give a docstring to every function that has none."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, _FUNCTIONS) and ast.get_docstring(node) is None:
            node.body.insert(0, ast.Expr(ast.Constant(f"Do what {node.name} says.")))
    return None if "__doc__" in source else ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def written_anew(source: str) -> str | None:
    """Spell the tree again: other quotes, blanks and parentheses, no comments."""
    return ast.unparse(ast.parse(source)) + "\n"


def with_locals_renamed(source: str) -> str | None:
    """Rename the local variables of plain functions: no scopes inside, nothing that looks at names."""
    tree = ast.parse(source)
    num_renamed = 0
    for function in _plain_functions(tree):
        names = _renamable(function)
        num_renamed += len(names)
        for node in ast.walk(function):
            if isinstance(node, ast.Name) and node.id in names:
                node.id = f"the_{node.id}"
    return ast.unparse(tree) + "\n" if num_renamed else None


def with_results_named(source: str) -> str | None:
    """Name what a plain function returns before it returns it."""
    tree = _ResultsNamed().visit(ast.parse(source))
    found = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
    return found if "the_result_of_this" in found else None


def with_branches_turned(source: str) -> str | None:
    """Turn every `if` with a plain `else` round."""
    tree = ast.parse(source)
    num_turned = 0
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and node.orelse and not isinstance(node.orelse[0], ast.If):
            node.test = ast.UnaryOp(ast.Not(), node.test)
            node.body, node.orelse = node.orelse, node.body
            num_turned += 1
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n" if num_turned else None


def with_functions_reordered(source: str) -> str | None:
    """Let two neighbouring functions of the module change places, where neither is needed to define the other."""
    tree = ast.parse(source)
    for place, (first, second) in enumerate(zip(tree.body, tree.body[1:], strict=False)):
        if isinstance(first, ast.FunctionDef) and isinstance(second, ast.FunctionDef):
            evaluated = {node.id for function in (first, second) for node in _at_definition(function)}
            if first.name != second.name and not {first.name, second.name} & evaluated:
                tree.body[place : place + 2] = [second, first]
                return ast.unparse(tree) + "\n"
    return None


GOOD: dict[str, Rewrite] = {
    "comments": with_comments,
    "docstrings": with_docstrings,
    "written anew": written_anew,
    "locals renamed": with_locals_renamed,
    "results named": with_results_named,
    "branches turned": with_branches_turned,
    "functions reordered": with_functions_reordered,
}


def cut_off(source: str) -> Iterator[str]:
    """The file ends in the middle, where that does not parse."""
    lines = source.splitlines()
    for last in range(len(lines) * 2 // 3, 0, -1):
        found = "\n".join(lines[:last]) + "\n"
        if _dumped(found) is None:
            yield found
            return


def doctest_dropped(source: str) -> Iterator[str]:
    """The line of one doctest example is gone."""
    lines = source.splitlines()
    places = [place for place, line in enumerate(lines) if line.strip().startswith(">>> ") and "import" not in line]
    for place in places[::-1]:
        follower = lines[place + 1].strip() if place + 1 < len(lines) else ""
        found = "\n".join([*lines[:place], *lines[place + 1 :]]) + "\n"
        if not follower.startswith("...") and _num_examples(found) == _num_examples(source) - 1:
            yield found
            return


def public_function_renamed(source: str) -> Iterator[str]:
    """A public function has another name, everywhere in the code but in the doctests."""
    tree = ast.parse(source)
    names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")]
    for name in names:
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and node.id == name:
                node.id = f"do_{name}"
            elif isinstance(node, ast.FunctionDef) and node.name == name:
                node.name = f"do_{name}"
        yield ast.unparse(tree) + "\n"
        return


def argument_added(source: str) -> Iterator[str]:
    """A public function wants one argument more, before the others."""
    tree = ast.parse(source)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            (node.args.posonlyargs or node.args.args).insert(0, ast.arg("another"))
            yield ast.unparse(ast.fix_missing_locations(tree)) + "\n"
            return


def endless_loop(source: str) -> Iterator[str]:
    """A function that its own doctest calls never comes back."""
    tree = ast.parse(source)
    for node in tree.body:
        is_called = isinstance(node, ast.FunctionDef) and f">>> {node.name}(" in (ast.get_docstring(node) or "")
        if isinstance(node, ast.FunctionDef) and is_called and not _yields(node):
            node.body.insert(1, ast.parse("while True:\n    pass").body[0])
            yield ast.unparse(ast.fix_missing_locations(tree)) + "\n"
            return


def unknown_import(source: str) -> Iterator[str]:
    """The module needs another that nobody has."""
    yield source.rstrip() + "\n\nimport a_module_that_nobody_has\n"


CERTAIN: dict[str, Breakage] = {
    "cut off": cut_off,
    "doctest dropped": doctest_dropped,
    "public function renamed": public_function_renamed,
    "argument added": argument_added,
    "endless loop": endless_loop,
    "unknown import": unknown_import,
}
"""Broken by construction, whatever the program."""


def mutation(change: Callable[[ast.AST], bool]) -> Breakage:
    """Return the breakage that changes one node, at every place in the functions where it can."""

    def mutants(source: str) -> Iterator[str]:
        places = [place for place, node in enumerate(_code_nodes(ast.parse(source))) if change(copy.deepcopy(node))]
        for place in places:
            tree = ast.parse(source)
            change(_code_nodes(tree)[place])
            yield ast.unparse(ast.fix_missing_locations(tree)) + "\n"

    return mutants


def _off_by_one(node: ast.AST) -> bool:
    is_number = isinstance(node, ast.Constant) and type(node.value) is int
    if isinstance(node, ast.Constant) and is_number:
        node.value = int(str(node.value)) + 1
    return is_number


def _operator_swapped(node: ast.AST) -> bool:
    if isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in _SWAPPED:
        node.op = _SWAPPED[type(node.op)]()
        return True
    return False


def _operands_swapped(node: ast.AST) -> bool:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub | ast.Div | ast.FloorDiv | ast.Mod | ast.Pow):
        node.left, node.right = node.right, node.left
        return True
    return False


def _comparison_shifted(node: ast.AST) -> bool:
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _SHIFTED:
        node.ops[0] = _SHIFTED[type(node.ops[0])]()
        return True
    return False


def _branch_removed(node: ast.AST) -> bool:
    if isinstance(node, ast.If):
        node.test = ast.Constant(False)
        return True
    return False


def _condition_turned(node: ast.AST) -> bool:
    if isinstance(node, ast.If | ast.While | ast.IfExp):
        node.test = ast.UnaryOp(ast.Not(), node.test)
        return True
    return False


def _result_lost(node: ast.AST) -> bool:
    if isinstance(node, ast.Return) and node.value is not None:
        node.value = None
        return True
    return False


def _statement_lost(node: ast.AST) -> bool:
    body = getattr(node, "body", None)
    if isinstance(node, ast.For | ast.While | ast.If) and isinstance(body, list) and len(body) > 1:
        body.pop()
        return True
    return False


MUTATIONS: dict[str, Breakage] = {
    "off by one": mutation(_off_by_one),
    "operator swapped": mutation(_operator_swapped),
    "operands swapped": mutation(_operands_swapped),
    "comparison shifted": mutation(_comparison_shifted),
    "branch removed": mutation(_branch_removed),
    "condition turned": mutation(_condition_turned),
    "result lost": mutation(_result_lost),
    "last statement of a block lost": mutation(_statement_lost),
}
"""Changes of which an outsider must say whether they can be seen."""


def _code_nodes(tree: ast.Module) -> list[ast.AST]:
    """Return the nodes of all functions' bodies, in the order of the walk."""
    functions = [node for node in ast.walk(tree) if isinstance(node, _FUNCTIONS)]
    found = {id(node): node for function in functions for statement in function.body for node in ast.walk(statement)}
    return list(found.values())


def _plain_functions(tree: ast.Module) -> list[ast.FunctionDef]:
    """Return the functions of the module without scopes inside, whose names nothing looks at."""
    inner = (*_FUNCTIONS, ast.ClassDef, ast.Lambda, ast.NamedExpr, ast.Match, ast.Global, ast.Nonlocal)
    return [
        node
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        and not any(isinstance(below, inner) for below in ast.walk(node) if below is not node)
        and not any(isinstance(below, ast.Name) and below.id in _INSPECTING for below in ast.walk(node))
    ]


def _renamable(function: ast.FunctionDef) -> set[str]:
    """Return the variables that only assignments bind, and no comprehension, import, argument or exception does."""
    inside = list(ast.walk(function))
    comprehensions = [node for node in inside if isinstance(node, ast.comprehension)]
    bound = {node.arg for node in inside if isinstance(node, ast.arg)}
    bound |= {node.name for node in inside if isinstance(node, ast.ExceptHandler) and node.name}
    bound |= {(alias.asname or alias.name) for alias in inside if isinstance(alias, ast.alias)}
    bound |= {name.id for one in comprehensions for name in ast.walk(one.target) if isinstance(name, ast.Name)}
    stored = {node.id for node in inside if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return stored - bound


class _ResultsNamed(ast.NodeTransformer):
    """Turns `return x` into an assignment and a return; loops and branches inside are visited, too."""

    def visit_Return(self, node: ast.Return) -> ast.AST | list[ast.stmt]:
        if node.value is None:
            return node
        name = "the_result_of_this"
        return [ast.Assign([ast.Name(name, ast.Store())], node.value), ast.Return(ast.Name(name, ast.Load()))]


def _at_definition(function: ast.FunctionDef) -> Iterator[ast.Name]:
    """Yield the names that are evaluated when the function is defined."""
    arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    evaluated = [*function.decorator_list, *function.args.defaults, *filter(None, function.args.kw_defaults)]
    evaluated += [argument.annotation for argument in arguments if argument.annotation]
    evaluated += [function.returns] if function.returns else []
    for expression in evaluated:
        yield from (node for node in ast.walk(expression) if isinstance(node, ast.Name))


def _yields(function: ast.FunctionDef) -> bool:
    return any(isinstance(node, ast.Yield | ast.YieldFrom) for node in ast.walk(function))


def _num_examples(source: str) -> int:
    try:
        return len(doctest.DocTestParser().get_examples(source))
    except ValueError:
        return -1


def _dumped(source: str) -> str | None:
    try:
        return ast.dump(ast.parse(source))
    except SyntaxError:
        return None
