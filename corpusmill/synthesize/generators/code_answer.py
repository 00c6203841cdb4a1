"""Code in an answer: the only fenced block, or the whole answer where nothing is fenced, and whether it can run."""

import ast

from corpusmill.synthesize.answer import parse_answer
from corpusmill.synthesize.asking import Answer
from corpusmill.synthesize.generators.wording import refusal
from corpusmill.synthesize.verify.python_source import does_compile, parse

_ACTS = (ast.BinOp, ast.AugAssign, ast.For, ast.While, ast.comprehension)


def code_of(answer: Answer) -> tuple[str, str | None]:
    """Return the code that an answer gives, and why there is none."""
    code, reason = parse_answer(answer.text, finish_reason=answer.finish_reason, form="code_block")
    return code, reason or refusal(answer)


def python_of(answer: Answer) -> tuple[str, str | None]:
    """Return the Python program that an answer gives, and why there is none that compiles."""
    code, reason = code_of(answer)
    return code, reason or (None if does_compile(code) else "does_not_compile")


def computes(source: str) -> bool:
    """Return whether a program does anything but say constants: it calculates, loops, or calls more than `print`."""
    tree = parse(source)
    nodes = list(ast.walk(tree)) if tree is not None else []
    return any(isinstance(node, _ACTS) or _is_call(node) for node in nodes)


def fenced(code: str, *, language: str = "") -> str:
    """Return the code as a fenced block whose fence the code does not hold."""
    fence = "```"
    while fence in code:
        fence += "`"
    content = code.strip("\n")
    return f"{fence}{language}\n{content}\n{fence}"


def _is_call(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and not (
        isinstance(node.func, ast.Name) and node.func.id in ("print", "str", "int")
    )
