"""Tools that recipes call: what the Python tool says, and a program of questions and tool calls through the whole path."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import pytest

from corpusmill.synthesize.asking import Finished, GivenUp, Material, Program, ToolCall
from corpusmill.synthesize.generators.registry import KINDS
from corpusmill.synthesize.recipe import Recipe
from corpusmill.tasks import program_tool
from corpusmill.tasks.program_tool import ProgramTool, PythonTool
from corpusmill.tasks.tools import ToolVersion
from tests.synthesize.rows import recipe
from tests.tasks.chain_lake import COMPLETIONS, DOCUMENTS_TABLE, ChainLake


@dataclass(frozen=True, kw_only=True)
class RunsItself:
    """A kind of generator that runs its document and says what it printed, twice if asked to."""

    kind: ClassVar[str] = "runs_itself"
    tools: tuple[str, ...] = ("python",)
    times: int = 1

    def names(self) -> set[str]:
        return {"document"}

    def program(self, material: Material) -> Program:
        said = ""
        for number in range(self.times):
            code = f"{material.text}\nprint({number})"
            [answer] = yield [ToolCall(step="run", tool="python", arguments={"code": code})]
            result = json.loads(answer.text)
            if result["exit_code"]:
                return GivenUp(reason="run/raised")
            said += result["stdout"]
        return Finished(text=said, meta={"num_runs": str(self.times)})

    def to_json(self) -> dict[str, Any]:
        return {"tools": list(self.tools), "times": self.times}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        return cls(tools=tuple(value["tools"]), times=value["times"])


@pytest.fixture
def runs_itself(monkeypatch: pytest.MonkeyPatch) -> Recipe:
    monkeypatch.setitem(KINDS, RunsItself.kind, RunsItself)
    return recipe(generator=RunsItself())


def test_python_says_how_a_program_ended() -> None:
    python = PythonTool()
    assert json.loads(python({"code": "print('hello')"})) == {"exit_code": 0, "stdout": "hello\n", "stderr": ""}
    raised = json.loads(python({"code": "1 / 0"}))
    assert raised["exit_code"] == 1 and raised["stderr"].endswith("ZeroDivisionError: division by zero\n")
    assert len(json.loads(python({"code": "print('x' * 9999)"}))["stdout"]) == program_tool.TAIL_CHARACTERS
    with pytest.raises(ValueError, match="takes the argument code, got program"):
        python({"program": "1"})


def test_many_programs_in_one_jail_say_what_each_alone_would() -> None:
    codes = [{"code": f"print({number})"} for number in range(3)]
    assert PythonTool().call_all(codes) == list(map(PythonTool(), codes))


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no JavaScript here")
def test_programs_in_two_languages_keep_their_order() -> None:
    python, script = (
        {"language": "python", "source": "print(1)"},
        {"language": "javascript", "source": "console.log(2)"},
    )
    said = ProgramTool().call_all([script, python, script])
    assert [json.loads(text)["stdout"] for text in said] == ["2\n", "1\n", "2\n"]


def test_a_tools_answers_are_kept_like_a_models_and_named_by_its_version(
    tmp_path, monkeypatch: pytest.MonkeyPatch, runs_itself: Recipe
) -> None:
    lake = ChainLake(tmp_path, recipe=runs_itself)
    lake.put("print(6 * 7)", "1 / 0")
    lake.run()
    rows = lake.lake.read(COMPLETIONS).to_pylist()
    assert {(row["engine"], row["step"], row["completion_tokens"]) for row in rows} == {
        (f"tool:python@{PythonTool().version}", "run", None)
    }
    assert sorted(lake.lake.read(DOCUMENTS_TABLE)["text"].to_pylist()) == ["", "42\n0"]
    assert lake.verdicts() == {"d0": None, "d1": "run/raised"}
    assert lake.asked() == []

    lake.recipe = recipe(generator=RunsItself(times=2))
    assert lake.run("requests", "completions")["metrics"]["requests_asked"] == 1, "only the second run of the first"
    monkeypatch.setattr(program_tool, "_FORM", 2)
    assert lake.run("requests", "completions")["metrics"]["requests_asked"] == 3, "another version asks anew"


def test_a_tool_that_is_not_there_is_refused_before_anything_runs(tmp_path, runs_itself: Recipe) -> None:
    lake = ChainLake(tmp_path, recipe=recipe(generator=RunsItself(tools=("python", "oracle"))))
    lake.put("print(1)")
    with pytest.raises(ValueError, match=r"no tool 'oracle' to call; there are: .*python"):
        lake.run("requests")


def test_where_answers_are_looked_up_no_tool_is_called() -> None:
    with pytest.raises(AssertionError, match="looked up"):
        ToolVersion("1")({})
