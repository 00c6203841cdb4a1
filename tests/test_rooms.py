"""The walls of the house, and the two limits on how its code reads. Judged from the syntax trees; only the last test imports."""

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
ROOMS = ("assets", "resources", "sensors", "jobs")
PURE = ("curate", "dedup", "synthesize", "mix", "trace", "tune")
ENGINES = {"pyspark", "ray", "vllm", "torch", "transformers"}
MACHINES = ENGINES | {"boto3", "botocore", "time"}
VAGUE = {"utils", "util", "common", "helpers", "helper", "misc", "v2"}
MODULE_LINES, BODY_LINES = 500, 60
UNFINISHED = 0
"""How many TODOs there are. The number may only fall."""


class Import(NamedTuple):
    """One import: the dotted name, and whether it runs when the module is loaded."""

    name: str
    is_at_load: bool

    @property
    def top(self) -> str:
        return self.name.partition(".")[0]


def modules(*folders: str) -> list[Path]:
    return sorted(file for folder in folders for file in (ROOT / folder).rglob("*.py"))


PRODUCT = [*modules("corpusmill", *ROOMS), *ROOT.glob("definitions.py")]
EVERYTHING = [*PRODUCT, *modules("benchmarks", "tests")]


def tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def imports(file: Path) -> list[Import]:
    return list(_imports(tree(file).body, is_at_load=True))


def _imports(nodes: list[ast.stmt], *, is_at_load: bool) -> Iterator[Import]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, is_at_load) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative import at line {node.lineno}: name the module in full"
            yield Import(node.module or "", is_at_load)
            yield from (Import(f"{node.module}.{alias.name}", is_at_load) for alias in node.names)
        elif isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            yield from _imports(node.orelse, is_at_load=is_at_load)
        else:
            is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            inner = [child for child in ast.walk(node) if isinstance(child, ast.stmt) and child is not node]
            direct = [child for child in inner if isinstance(child, ast.Import | ast.ImportFrom)]
            at_load = _loaded(node) if is_at_load and not is_function else set()
            for child in direct:
                yield from _imports([child], is_at_load=id(child) in at_load)


def _loaded(node: ast.AST) -> set[int]:
    """Ids of the nodes below `node` that run when it runs: all but those inside functions."""
    found = set()
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            found |= {id(child)} | _loaded(child)
    return found


def name(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


def breaches(files: list[Path], is_forbidden) -> list[str]:
    return [f"{name(file)} imports {one.name}" for file in files for one in imports(file) if is_forbidden(one)]


def test_an_import_counts_as_at_load_unless_a_function_holds_it(tmp_path):
    file = tmp_path / "case.py"
    file.write_text("import a\nif x:\n    import b\nclass C:\n    import c\n    def f(self):\n        import d.e\n")
    assert imports(file) == [Import("a", True), Import("b", True), Import("c", True), Import("d.e", False)]


def test_the_library_knows_no_dagster_and_no_other_room():
    def is_forbidden(one: Import) -> bool:
        return one.top.startswith("dagster") or one.top in {*ROOMS, "definitions"}

    door = ROOT / "corpusmill/tasks/__main__.py"
    files = [file for file in modules("corpusmill") if file != door]
    assert breaches(files, is_forbidden) == []
    assert breaches([door][: door.exists()], lambda one: is_forbidden(one) and one.top != "dagster_pipes") == []


@pytest.mark.parametrize("room", PURE)
def test_pure_rooms_know_no_machine_no_clock_and_no_environment(room):
    files = modules(f"corpusmill/{room}")
    assert breaches(files, lambda one: one.top in MACHINES or one.name.startswith("corpusmill.engines")) == []
    looks = {"os.environ", "os.getenv", "datetime.now", "datetime.utcnow", "datetime.today", "date.today"}
    seen = [
        f"{name(file)}:{node.lineno} {ast.unparse(node)}"
        for file in files
        for node in ast.walk(tree(file))
        if isinstance(node, ast.Attribute) and ast.unparse(node).removeprefix("datetime.") in looks
    ]
    assert seen == []


def test_assets_know_no_engine():
    assert breaches(modules("assets"), lambda one: one.top in ENGINES) == []


def test_resources_know_no_asset():
    assert breaches(modules("resources"), lambda one: one.top in {"assets", "definitions"}) == []


def test_only_the_front_door_joins_the_rooms():
    joins = [name(file) for file in modules(*ROOMS) if {one.top for one in imports(file)} >= {"assets", "resources"}]
    assert [file for file in joins if not file.startswith("assets/")] == []
    assert breaches(modules(*ROOMS), lambda one: one.top == "definitions" and one.is_at_load) == []
    assert breaches(modules("assets", "resources", "sensors"), lambda one: one.top == "definitions") == []


def test_no_engine_is_loaded_with_a_module():
    assert breaches(PRODUCT, lambda one: one.top in ENGINES and one.is_at_load) == []


def test_packages_hold_a_docstring_and_nothing_else():
    packages = [file for file in PRODUCT if file.name == "__init__.py"]
    assert [name(file) for file in packages if len(tree(file).body) != 1 or not ast.get_docstring(tree(file))] == []
    assert [name(file) for file in modules("tests") if file.name == "__init__.py"] == []


def test_every_module_says_what_it_is():
    assert [name(file) for file in EVERYTHING if not ast.get_docstring(tree(file))] == []


def test_no_file_is_named_after_nothing():
    parts = [(name(file), {*file.relative_to(ROOT).with_suffix("").parts}) for file in EVERYTHING]
    assert [file for file, words in parts if words & VAGUE] == []


def test_modules_stay_short():
    lengths = {name(file): len(file.read_text(encoding="utf-8").splitlines()) for file in EVERYTHING}
    assert {file: length for file, length in lengths.items() if length > MODULE_LINES} == {}


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


def functions(files: list[Path]) -> dict[str, int]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {
        f"{name(file)}:{node.lineno} {node.name}": body_lines(node)
        for file in files
        for node in ast.walk(tree(file))
        if isinstance(node, kinds)
    }


def test_bodies_stay_short():
    lengths = functions(EVERYTHING)
    assert {where: length for where, length in lengths.items() if length > BODY_LINES} == {}
    short = sum(length <= 20 for length in functions(PRODUCT).values())
    assert short >= 0.8 * len(functions(PRODUCT))


def test_unfinished_work_does_not_grow():
    marks = sum(file.read_text(encoding="utf-8").count("TODO" + "(") for file in EVERYTHING)
    assert marks <= UNFINISHED


def test_an_assets_group_is_its_folder_and_its_key_names_its_module():
    definitions = importlib.import_module("definitions")
    for stage in definitions.STAGES:
        for module in definitions.stage_modules(stage):
            for asset in module.ASSETS:
                table = asset.key.to_user_string()
                assert asset.key.path[:2] == [stage, module.__name__.rpartition(".")[2]], table
                assert set(asset.group_names_by_key.values()) == {stage}, table
