"""Every kind is found by its name, and a recipe with it is spelled in JSON and read again."""

import json

import pytest

from corpusmill.synthesize.accept import accept
from corpusmill.synthesize.check import check
from corpusmill.synthesize.generators.agent import AgentGenerator
from corpusmill.synthesize.generators.answer_key import AnswerKey
from corpusmill.synthesize.generators.checked_program import CheckedProgramGenerator
from corpusmill.synthesize.generators.code_translation import CodeTranslationGenerator
from corpusmill.synthesize.generators.dialogue import DialogueGenerator, Voice
from corpusmill.synthesize.generators.explained_program import ExplainedProgramGenerator
from corpusmill.synthesize.generators.fill_in_middle import FillInMiddleGenerator
from corpusmill.synthesize.generators.registry import KINDS, tools_of
from corpusmill.synthesize.generators.reviewed import ReviewedGenerator
from corpusmill.synthesize.generators.routes import Entry, Queue, RoutesGenerator
from corpusmill.synthesize.generators.traces import TraceGenerator
from corpusmill.synthesize.recipe import Recipe
from corpusmill.synthesize.review.back_translation import BackTranslation
from corpusmill.synthesize.review.judge import Judge
from corpusmill.synthesize.review.rubric import Criterion, Rubric
from corpusmill.synthesize.sampling import Sampling
from tests.synthesize.rows import MODEL, answers, documents, recipe, requests

PROMPTS = {"system": "s", "user": "$document", "sampling": Sampling(max_tokens=8, stop=("x",))}
VOICES = {"questioner": Voice(role="A", **PROMPTS), "answerer": Voice(role="B", **PROMPTS)}
RUBRIC = Rubric(criteria=(Criterion(name="clear", question="Is it clear?", minimum=2),), pass_mark=0.5)
REVIEWS = (
    BackTranslation(user="$output", sampling=Sampling(max_tokens=8)),
    Judge(rubric=RUBRIC, sampling=Sampling(max_tokens=8), judgements=3, passes_needed=3),
)
GENERATORS = [
    AgentGenerator(**PROMPTS, key=AnswerKey(), tools=("search", "python")),
    CheckedProgramGenerator(**PROMPTS, repair="$output"),
    CodeTranslationGenerator(**PROMPTS, repair="$output", target="go"),
    DialogueGenerator(**VOICES, max_exchanges=2),
    ExplainedProgramGenerator(**PROMPTS),
    FillInMiddleGenerator(),
    ReviewedGenerator(generator=TraceGenerator(**PROMPTS), checks=(check("compiles"),), reviews=REVIEWS),
    RoutesGenerator(
        queues=(
            Queue(
                name="hard",
                generator=AgentGenerator(**PROMPTS, tools=("python",)),
                entry=Entry(languages=("en",), metadata={}),
                simpler="easy",
                too_hard=("cut_off",),
                checks=(check("compiles"),),
            ),
            Queue(name="easy", generator=TraceGenerator(**PROMPTS), is_open=False, rate=0.5),
        )
    ),
    TraceGenerator(**PROMPTS, max_lines=3),
]


@pytest.mark.parametrize("generator", GENERATORS, ids=lambda generator: generator.kind)
def test_a_recipe_is_read_as_it_was_spelled(generator):
    made = recipe(generator=generator)
    read = Recipe.from_json(json.loads(json.dumps(made.to_json())))
    assert read == made and read.version == made.version
    assert KINDS[generator.kind] is type(generator)


def test_a_recipe_knows_its_tools():
    tools = {generator.kind: tools_of(generator) for generator in GENERATORS}
    assert {kind: names for kind, names in tools.items() if names} == {
        "agent": ("search", "python"),
        "checked_program": ("python",),
        "code_translation": ("program",),
        "reviewed": ("python",),
        "routes": ("python",),
        "traces": ("python",),
    }


def test_a_document_that_no_model_wrote_names_what_made_it():

    made = recipe(generator=FillInMiddleGenerator())
    seeds = documents("def area(r):\n    return 3 * r * r\n", language="Python")
    asked = requests(seeds, made)
    (row,) = accept(asked, answers(asked.slice(0, 0)), seeds, recipe=made, identity=MODEL).to_pylist()
    assert row["reject_reason"] is None and row["text"].startswith("<|fim_prefix|>")
    assert (row["generator"], row["generator_license"]) == (f"fill_in_middle@{made.version}", None)
