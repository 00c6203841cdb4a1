"""Generated inputs: expressions that call a Python program's functions, to be evaluated before and after a rewrite.

Two sources, both read from the original alone. Its doctests: every expression in them with one of its constants changed,
after the examples that stand before it. And its signatures: public functions of the module whose every argument has an
annotation of plain types, a plain default, or a value in a doctest. A call may well be nonsense to the program; what
counts is that the same comes of it afterwards. Nothing runs here. The same text gives the same calls.
"""

import ast
import copy
import doctest
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from corpusmill.synthesize.verify.python_source import docstrings, parse

_PARSER = doctest.DocTestParser()
_MAX_VARIANTS = 6
"""Of one doctest example."""
_MAX_CALLS = 8
"""Of one function."""
_LARGE = 10_000
"""A greater number is often a size, and the time grows with it: it is only made smaller."""
_PLAIN: dict[str, tuple[str, ...]] = {
    "int": ("3", "0", "1", "-2", "7", "10", "2", "15"),
    "float": ("2.5", "0.0", "1.0", "-1.5", "3.0", "10.0", "0.25"),
    "complex": ("1j", "2.0", "1 - 1j"),
    "str": ("'abc'", "''", "'Hello World'", "'aba'", "'12'", "'a b  c'", "'Zz9'"),
    "bool": ("True", "False"),
    "bytes": ("b'abc'", "b''"),
    "None": ("None",),
    "Any": ("3", "'abc'", "None", "[1, 2]"),
    "object": ("3", "'abc'", "None"),
}
_LISTS = ("list", "List", "Sequence", "Iterable", "Collection", "MutableSequence", "Iterator")
_MAPPINGS = ("dict", "Dict", "Mapping", "MutableMapping", "defaultdict", "OrderedDict")


@dataclass(frozen=True, kw_only=True)
class Call:
    """One expression, and the statements that are run before it in the program's namespace."""

    expression: str
    setup: tuple[str, ...] = ()


def generated_calls(source: str, *, max_calls: int = 64) -> list[Call]:
    """Return calls for a program, at most so many, spread over its examples and functions; none where it is not Python."""
    tree = parse(source)
    if tree is None:
        return []
    found = dict.fromkeys([*_from_doctests(tree), *_from_signatures(tree)])
    return _spread(list(found), max_calls)


def _from_doctests(tree: ast.Module) -> Iterator[Call]:
    for examples in _examples(tree):
        setup: list[str] = []
        for example in examples:
            if (expression := _expression(example.source)) is not None:
                for variant in _spread(list(_variants(expression)), _MAX_VARIANTS):
                    yield Call(expression=variant, setup=tuple(setup))
            setup.append(example.source)


def _examples(tree: ast.Module) -> Iterator[list[doctest.Example]]:
    for text in docstrings(tree).values():
        try:
            examples = _PARSER.get_examples(text.expandtabs())
        except ValueError:
            continue
        yield [example for example in examples if not example.options.get(doctest.SKIP)]


def _expression(text: str) -> ast.Expression | None:
    try:
        return ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError):
        return None


def _variants(expression: ast.Expression) -> Iterator[str]:
    """Yield the expression with one constant or list changed, in every place and way."""
    for place, node in enumerate(ast.walk(expression)):
        for changed in _changes(node):
            yield ast.unparse(_Replaced(place, changed).of(expression))


def _changes(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.Constant):
        return [ast.Constant(value) for value in _changed_values(node.value)]
    if isinstance(node, ast.List) and node.elts:
        return [ast.List([*reversed(node.elts)], node.ctx), ast.List(node.elts[:-1], node.ctx)]
    return []


def _changed_values(value: Any) -> Sequence[Any]:
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value // 2, value - 1] if abs(value) > _LARGE else [value + 1, value - 1, 2 * value, 0]
    if isinstance(value, float):
        return [value + 0.5, value / 3, 0.0]
    if isinstance(value, str):
        return [value[::-1], value + "a", value[1:], ""]
    return []


class _Replaced:
    """A copy of a tree in which one node, by its place in `ast.walk`, is another."""

    def __init__(self, place: int, node: ast.expr) -> None:
        self.place, self.node = place, node

    def of(self, tree: ast.Expression) -> ast.Expression:
        copied = copy.deepcopy(tree)
        old = list(ast.walk(copied))[self.place]
        for parent in ast.walk(copied):
            for name, value in ast.iter_fields(parent):
                if value is old:
                    setattr(parent, name, self.node)
                elif isinstance(value, list):
                    value[:] = [self.node if item is old else item for item in value]
        return ast.fix_missing_locations(copied)


def _from_signatures(tree: ast.Module) -> Iterator[Call]:
    seen = _seen_arguments(tree)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            parameters = _parameters(node)
            offered = [
                _offered(argument, default) or seen.get((node.name, place), ())
                for place, (argument, default, _) in enumerate(parameters)
            ]
            if offered and all(offered):
                yield from _calls(node.name, [keyword for _, _, keyword in parameters], offered)


def _calls(name: str, keywords: Sequence[str], offered: Sequence[Sequence[str]]) -> Iterator[Call]:
    """Yield calls that step through every argument's values at its own pace; arguments are looked at afterwards, too."""
    for number in range(min(_MAX_CALLS, max(map(len, offered)) if len(offered) == 1 else _MAX_CALLS)):
        values = [choices[(number + place * (number // 2)) % len(choices)] for place, choices in enumerate(offered)]
        setup = tuple(f"_a{place} = {value}" for place, value in enumerate(values))
        arguments = [f"{keyword}_a{place}" for place, keyword in enumerate(keywords)]
        changeable = [f"_a{place}" for place, value in enumerate(values) if value[0] in "[{" or value.startswith("set")]
        looked_at = ", ".join([f"{name}({', '.join(arguments)})", *changeable])
        yield Call(expression=f"({looked_at},)", setup=setup)


def _parameters(node: ast.FunctionDef) -> list[tuple[ast.arg, ast.expr | None, str]]:
    """Return the arguments with their defaults and, for those that need it, `name=`."""
    positional = [*node.args.posonlyargs, *node.args.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(node.args.defaults)) + list(node.args.defaults)
    by_place = [(argument, default, "") for argument, default in zip(positional, defaults, strict=True)]
    pairs = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
    return by_place + [(argument, default, f"{argument.arg}=") for argument, default in pairs]


def _offered(argument: ast.arg, default: ast.expr | None) -> tuple[str, ...]:
    found = _values(argument.annotation) if argument.annotation is not None else ()
    if default is not None and isinstance(default, ast.Constant):
        own = ast.unparse(default)
        found = (own, *(value for value in found if value != own))
    return found


def _values(annotation: ast.expr) -> tuple[str, ...]:
    """Return values of a type as source text, empty where the type is not a plain one."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        quoted = _expression(annotation.value)
        return _values(quoted.body) if quoted is not None else ()
    if isinstance(annotation, ast.BinOp) and isinstance(annotation.op, ast.BitOr):
        return _mixed(_values(annotation.left), _values(annotation.right))
    if isinstance(annotation, ast.Subscript):
        inner = annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else [annotation.slice]
        return _generic_values(_name(annotation.value), inner)
    name = _name(annotation)
    if name in _PLAIN:
        return _PLAIN[name]
    return _generic_values(name, [ast.Name("int")])


def _generic_values(name: str, inner: Sequence[ast.expr]) -> tuple[str, ...]:
    items = [_values(item) for item in inner if not (isinstance(item, ast.Constant) and item.value is ...)]
    if not items or not all(items):
        return ()
    first = items[0]
    if name in ("Union", "Optional"):
        return _mixed(*items, *([("None",)] if name == "Optional" else []))
    if name in _LISTS:
        return tuple(f"[{', '.join(row)}]" for row in _rows(first))
    if name in ("set", "frozenset", "Set", "FrozenSet"):
        return tuple(f"set([{', '.join(row)}])" for row in _rows(first))
    if name in _MAPPINGS:
        values = items[-1]
        return ("{}", *(f"{{{', '.join(map(': '.join, zip(row, values, strict=False)))}}}" for row in _rows(first)[:3]))
    if name in ("tuple", "Tuple"):
        if len(items) == 1:
            return tuple(f"tuple([{', '.join(row)}])" for row in _rows(first))
        return tuple(f"({', '.join(choices[n % len(choices)] for choices in items)})" for n in range(3))
    return ()


def _rows(values: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return contents for a list: some, none, one, twice the same, many."""
    return [values[:4], values[1:2], (), values[2:0:-1] + values[:3], values[:1] * 2, values[::-1]]


def _mixed(*offers: tuple[str, ...]) -> tuple[str, ...]:
    """Return what the offers hold in turn: the first of each, then the second of each."""
    longest = max(map(len, offers), default=0)
    return tuple(offer[n] for n in range(longest) for offer in offers if n < len(offer))


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else str(node.value) if isinstance(node, ast.Constant) else ""


def _seen_arguments(tree: ast.Module) -> dict[tuple[str, int], tuple[str, ...]]:
    """Return the plain values that the doctests give to functions: (function, place) -> source texts."""
    seen: dict[tuple[str, int], dict[str, None]] = {}
    for examples in _examples(tree):
        for example in examples:
            for node in ast.walk(_expression(example.source) or ast.Expression(ast.Constant(None))):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                    for place, argument in enumerate(node.args):
                        if _is_plain(argument):
                            seen.setdefault((node.func.id, place), {})[ast.unparse(argument)] = None
    return {key: tuple(values) for key, values in seen.items()}


def _is_plain(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def _spread(items: Sequence[Any], count: int) -> list[Any]:
    """Return at most `count` of the items, evenly spread."""
    if len(items) <= count:
        return list(items)
    return [items[number * len(items) // count] for number in range(count)]
