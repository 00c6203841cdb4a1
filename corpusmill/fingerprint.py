"""Naming work by what it is: fingerprints of JSON values, and of the code that a task runs.

A fingerprint refuses what it cannot spell the same way twice. Costs: one pass over the value; the code version reads the
task's own modules, once per process.
"""

import ast
import functools
import hashlib
import importlib.util
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_PACKAGE = "corpusmill"
_MACHINES = ("corpusmill.lake", "corpusmill.engines", "corpusmill.settings", "corpusmill.tasks.task")
"""Where and how fast work runs is not what it is: these modules never change the bytes of a result."""


def fingerprint(value: Any) -> str:
    """Return 32 hex digits that name a JSON-like value (None, bool, int, finite float, str, list, tuple, dict of str).

    Raises TypeError or ValueError for anything that has no single spelling (sets, objects, NaN).
    """
    spelled = json.dumps(_spell(value), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(spelled.encode()).hexdigest()[:32]


@functools.cache
def code_version(module: str) -> str:
    """Return 32 hex digits naming the source of `module` and of every corpusmill module that it imports, however deep.

    The modules that only know machines (lake, engines, settings) do not count.
    """
    sources = {name: _source_hash(name) for name in sorted(_imported_modules(module))}
    return fingerprint(sources)


def work_version(module: str, parameters: Mapping[str, Any]) -> str:
    """Return 32 hex digits naming what `module` does with `parameters`, whatever its input."""
    return fingerprint({"code": code_version(module), "parameters": dict(parameters)})


def _spell(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"a fingerprint needs finite numbers, got {value}")
        return {"float": value.hex()}
    if isinstance(value, list | tuple):
        return [_spell(item) for item in value]
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise TypeError(f"a fingerprint needs string keys, got {sorted(map(repr, value))[:5]}")
        return {key: _spell(item) for key, item in value.items()}
    raise TypeError(f"a fingerprint cannot spell a {type(value).__name__} the same way twice: {value!r:.80}")


def _imported_modules(module: str) -> set[str]:
    found: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        waiting.extend(_direct_imports(name))
    return found


@functools.cache
def _direct_imports(module: str) -> frozenset[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(_source(module))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    ours = {name for name in names if name.split(".")[0] == _PACKAGE}
    return frozenset(name for name in ours if not _is_machine(name) and _is_module(name))


def _is_machine(name: str) -> bool:
    return any(name == machine or name.startswith(f"{machine}.") for machine in _MACHINES)


def _is_module(name: str) -> bool:
    try:
        spec = importlib.util.find_spec(name)
    except ModuleNotFoundError:
        return False
    return spec is not None and spec.origin is not None


def _source(module: str) -> str:
    spec = importlib.util.find_spec(module)
    assert spec is not None and spec.origin is not None, module
    return Path(spec.origin).read_text(encoding="utf-8")


def _source_hash(module: str) -> str:
    return hashlib.sha256(_source(module).encode()).hexdigest()
