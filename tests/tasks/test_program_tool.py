"""The tools that run programs, with the real sandbox: what a recipe's program is told of a run."""

import json

import pytest

from corpusmill.engines.sandbox import Limits, SandboxError, run_programs_in
from corpusmill.engines.sandbox_languages import toolchain
from corpusmill.synthesize.asking import Answer, Finished, GivenUp, Material, Waiting, advance
from corpusmill.synthesize.generators.code_translation import CodeTranslationGenerator
from corpusmill.synthesize.generators.program_tool import NAMES
from corpusmill.synthesize.sampling import Sampling
from corpusmill.tasks import program_tool
from corpusmill.tasks.program_tool import LANGUAGES, ProgramTool, PythonTool

SOURCE = "for number in range(3):\n    print(number * number)\n"


def told(tool, **arguments: str) -> dict:
    return json.loads(tool(arguments))


def test_a_run_is_told_with_both_outputs_and_its_exit_code():
    code = "import sys\nprint('a')\nprint('b', file=sys.stderr)\nsys.exit(3)"
    said = {"exit_code": 3, "stdout": "a\n", "stderr": "b\n"}
    assert told(PythonTool(), code=code) == said
    assert told(ProgramTool(), language="python", source=code) == said


def test_of_much_output_the_end_is_told():
    assert told(PythonTool(), code="print('a' * 9999 + 'z')")["stdout"] == "a" * 1998 + "z\n"


def test_a_program_whose_time_is_up_is_told_so():
    slow = PythonTool(limits=Limits(cpu_seconds=1, wall_seconds=1))
    assert told(slow, code="while True: pass")["timed_out"] is True
    assert slow.version != PythonTool().version


@pytest.mark.parametrize("arguments", [{}, {"source": "1"}, {"language": "cobol", "source": "1"}])
def test_other_arguments_are_refused(arguments):
    with pytest.raises(ValueError, match="takes the argument"):
        ProgramTool()(arguments)
    with pytest.raises(ValueError, match="takes the argument code"):
        PythonTool()(arguments)


def test_the_languages_are_those_of_the_sandbox():
    assert tuple(NAMES) == LANGUAGES


def test_a_toolchain_is_looked_for_only_where_its_language_is_asked_for(monkeypatch):
    def missing(language, programs):
        assert language == "python", f"{language} was looked for"
        return run_programs_in(language, programs)

    monkeypatch.setattr(program_tool, "run_programs_in", missing)
    calls = [{"language": "python", "source": f"print({number})"} for number in range(2)]
    assert [json.loads(said)["stdout"] for said in ProgramTool().call_all(calls)] == ["0\n", "1\n"]


ANSWERS = {
    "javascript": ("for (let n = 0; n < 3; n++) console.log(n * n);", Finished),
    "cpp": ("#include <iostream>\nint main() { for (int n = 0; n < 3; n++) std::cout << n << std::endl; }", GivenUp),
}


@pytest.mark.parametrize(("target", "code", "end"), [(key, *value) for key, value in ANSWERS.items()], ids=ANSWERS)
def test_a_translation_is_run_and_compared_with_its_original(target, code, end):
    try:
        toolchain(target)
    except SandboxError as error:
        pytest.skip(str(error))
    prompts = {"system": "", "user": "$document", "repair": "$output"}
    generator = CodeTranslationGenerator(target=target, **prompts, sampling=Sampling(max_tokens=9), max_attempts=1)
    tool = ProgramTool()

    def known(ask):
        return Answer(text=tool(ask.arguments) if hasattr(ask, "tool") else code)

    ended = advance(generator.program(Material(text=SOURCE, language="Python")), known)
    assert not isinstance(ended, Waiting) and isinstance(ended, end)
    assert getattr(ended, "reason", "") in ("", "prints_something_else")
