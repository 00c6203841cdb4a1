"""Checked programs on real worded problems: every right program is kept and every broken one refused, by running both."""

import json
import re
from pathlib import Path

import pytest

from corpusmill.engines.sandbox import run_programs
from corpusmill.synthesize.asking import Answer, Finished, GivenUp, Material
from corpusmill.synthesize.generators.answer_key import AnswerKey
from corpusmill.synthesize.generators.checked_program import CheckedProgramGenerator
from corpusmill.synthesize.sampling import Sampling
from tests.synthesize.generators.scripted import printed, replay

FILE = Path(__file__).parents[4] / "shared" / "data" / "stem_gsm8k_train" / "gsm8k_train_2000.jsonl"
CALCULATION = re.compile(r"<<([-+*/().\d ]+)=[^>]*>>")
NUM_RUN = 60
GENERATOR = CheckedProgramGenerator(
    system="", user="$document", repair="$output", sampling=Sampling(max_tokens=9), max_attempts=1
)


@pytest.fixture(scope="module")
def problems() -> list[Material]:
    if not FILE.exists():
        pytest.skip(f"the worded problems are not here: {FILE}")
    rows = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]
    return [Material(text=f"{row['question']}\n\nSolution: {row['answer']}") for row in rows]


def last_calculation(problem: Material) -> str | None:
    """Return the last calculation of the worked solution where there is one and its value is the answer."""
    found = [made for made in CALCULATION.findall(problem.text) if re.search(r"[\d)][-+*/]", made)]
    expected = AnswerKey().expected(problem)
    try:
        value = eval(found[-1].lstrip("0")) if found else None
    except SyntaxError:
        return None
    return found[-1] if value is not None and expected is not None and value == float(expected) else None


def ends(problems: list[Material], calculations: list[str]) -> list[Finished | GivenUp]:
    """Return how each problem ends with a program that makes this calculation; all programs run in one sandbox."""
    answers = [f"```python\nresult = {calculation}\nprint(result)\n```" for calculation in calculations]
    asked = [
        replay(GENERATOR, problem, [Answer(text=answer)])[1][-1]
        for problem, answer in zip(problems, answers, strict=True)
    ]
    runs = run_programs([ask.arguments["code"] for ask in asked])
    told = [printed(run.stdout, stderr=run.stderr, exit_code=run.exit_code) for run in runs]
    return [
        replay(GENERATOR, problem, [Answer(text=answer), Answer(text=run)])[0]
        for problem, answer, run in zip(problems, answers, told, strict=True)
    ]


def test_every_answer_is_read_and_no_solution_is_shown(problems):
    assert all(AnswerKey().expected(problem) is not None for problem in problems)
    shown = [AnswerKey().problem(problem).text for problem in problems]
    assert not [text for text in shown if "####" in text or "<<" in text]
    whole = [text for text in shown if text.rstrip().endswith(("?", ".", "!", ")"))]
    assert len(whole) >= 0.97 * len(shown), "the problem is left whole"


def test_right_programs_are_kept_and_broken_ones_refused(problems):
    solved = [(problem, made) for problem in problems if (made := last_calculation(problem))][:NUM_RUN]
    chosen, right = [problem for problem, _ in solved], [made for _, made in solved]
    assert len(chosen) == NUM_RUN
    kept = ends(chosen, right)
    assert [end for end in kept if not isinstance(end, Finished)] == []
    broken = ends(chosen, [f"({made}) + 1" for made in right])
    assert {end.reason if isinstance(end, GivenUp) else "kept" for end in broken} == {"wrong_answer"}
    failing = ends(chosen[:10], [f"({made}) / 0" for made in right[:10]])
    assert {end.reason if isinstance(end, GivenUp) else "kept" for end in failing} == {"program_fails"}
