"""The datasets beyond one prompt, walked with a scripted model and the real sandbox: from seeds to accepted documents."""

import importlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from assets.asset import partition_parameters
from corpusmill.counts import Counts
from corpusmill.document import DOCUMENTS, text_hash
from corpusmill.engines.sandbox import SandboxError
from corpusmill.engines.sandbox_languages import toolchain
from corpusmill.lake.files import ShardWriter
from corpusmill.lake.tables import Lake
from corpusmill.settings import Settings, settings_from_table
from corpusmill.synthesize.generators.dialogue import parse_turns
from corpusmill.tasks.task import execute
from tests.assets import shapes_model

SNAPSHOT = "2024"
HARBOUR = (
    "The harbour of Tallow was built in 1870 by the fishermen of the coast. Its long pier shelters the boats from the north "
    "wind, and a lamp at its end guides the boats home at night. On market days the fishermen sell herring and cod in the "
    "square behind the harbour, and many travellers come from the villages in the hills to buy the fish and to hear the "
    "news of the sea. In winter the square is empty and the boats lie on the beach, where the men mend the nets and paint "
    "the planks. The old school stands near the church, and its bell can be heard far out on the water when the wind comes "
    "from the land. Nobody in the town remembers who cast the bell.\n"
)
LIGHTHOUSE = (
    "The lighthouse of Marrow stands alone on a rock, an hour by boat from the land. It was built after a winter in which "
    "three ships were lost, and its light can be seen from twenty miles away. Two keepers live in it with a dog and a goat. "
    "They have nothing to sell and nobody to sell it to, but they watch the light by night and the weather by day, and they "
    "write down every ship that passes. A boat brings them bread, oil and letters when the sea is calm. In the storms of "
    "autumn no boat can land for weeks, and then the keepers eat what is in the cellar and read the old letters once more. "
    "The book in which they write is older than both of them.\n"
)
CHAIRS = "There are 4 chairs in the hall, and every one of them has 3 legs. How many legs do the chairs have together?"
SOLVED = f"{CHAIRS}\n\nSolution: 4 * 3 = 12\n#### 12"
ENERGY = (
    "A body at rest has energy. This energy is the mass of the body multiplied by the square of the speed of light. As the "
    "speed of light is large, a small mass has much energy: one gram would be enough to light a town for a year."
)
DIGITS = '''def digits(number, base=10):
    """Count the digits of a number."""
    if number < 0:
        raise ValueError("a negative number")
    count = 1
    while number >= base:
        number //= base
        count += 1
    return count
'''


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    table = {
        "spark": {"engine": "plain"},
        "inference": {"engine": "scripted", "script": f"{shapes_model.__name__}:answer"},
    }
    return settings_from_table(table, base=tmp_path)


def walk(settings: Settings, dataset: str, variant: str, *texts: str, language: str = "en") -> list[dict[str, Any]]:
    """Make all tables of one partition of an asset from these seeds; return its documents, the accepted first."""
    assets = importlib.import_module(f"assets.synthesized.{dataset}").ASSETS
    for asset in assets:
        metadata = asset.metadata_by_key[asset.key]
        parameters = partition_parameters(metadata["parameters"].value, f"{variant}|{SNAPSHOT}")
        if asset.key.path[-1] == "requests":
            put_seeds(settings, parameters["seeds"], texts, language)
        arguments = {
            "settings": settings.to_json(),
            "dataset": dataset,
            "partition": f"{variant}|{SNAPSHOT}",
            "parameters": parameters,
        }
        result = execute(metadata["task"], arguments, lambda message, numbers: None)
        Counts.from_json(result["counts"]).check()
    rows = Lake(settings.lake).read(f"synthesized/{dataset}/documents").to_pylist()
    assert len(rows) == len(texts), "every seed is accepted, rejected or failed"
    return sorted(rows, key=lambda row: (row["reject_reason"] or "", row["doc_id"]))


def put_seeds(settings: Settings, seeds: str, texts: tuple[str, ...], language: str) -> None:
    rows = [
        {
            "doc_id": f"d{number}",
            "source": seeds,
            "snapshot": SNAPSHOT,
            "language": language,
            "license": "MIT",
            "text": text,
            "text_hash": text_hash(text),
        }
        for number, text in enumerate(texts)
    ]
    lake = Lake(settings.lake)
    attempt = lake.begin(f"curated/{seeds}/documents", SNAPSHOT, DOCUMENTS)
    with ShardWriter(
        lake.store, directory=attempt.directory, name=attempt.attempt, schema=DOCUMENTS, partition=SNAPSHOT
    ) as writer:
        writer.write(pa.Table.from_pylist(rows, schema=DOCUMENTS))
    lake.commit(attempt, writer.files, {"gate_failures": []})


def steps(settings: Settings, dataset: str) -> dict[str, int]:
    """Return how often each step asked."""
    asked = Lake(settings.lake).read(f"synthesized/{dataset}/completions")["step"].to_pylist()
    return {step: asked.count(step) for step in sorted(set(asked))}


def test_web_articles_are_planned_and_written_section_by_section(settings: Settings) -> None:
    (article,) = walk(settings, "web_articles", "encyclopedic", HARBOUR)
    assert article["reject_reason"] is None
    assert article["text"] == "\n\n".join(f"## {heading}\n\n{text}" for heading, text in shapes_model.SECTIONS.items())
    assert steps(settings, "web_articles") == {"plan": 1, "sections": 2}


def test_web_articles_for_pupils_are_judged(settings: Settings) -> None:
    (lesson,) = walk(settings, "web_articles", "lesson", HARBOUR)
    assert lesson["reject_reason"] is None
    assert lesson["text"] == "\n\n".join(shapes_model.SECTIONS.values())
    assert dict(lesson["meta"]) == {
        "num_chunks": "1",
        "judge_faithful": "5",
        "judge_clear": "4",
        "judge_teaches": "2",
        "judge_mark": "0.750",
    }
    assert steps(settings, "web_articles") == {"answer": 1, "judge": 1}


def test_web_articles_that_compare_have_two_parents(settings: Settings) -> None:
    rows = walk(settings, "web_articles", "comparison", HARBOUR, LIGHTHOUSE)
    assert [(row["reject_reason"], row["text"]) for row in rows] == [(None, shapes_model.ESSAY)] * 2
    assert sorted(row["parent_ids"] for row in rows) == [["d0", "d1"], ["d1", "d0"]]
    asked = Lake(settings.lake).read("synthesized/web_articles/requests").to_pylist()
    assert {row["doc_id"]: row["second_ids"] for row in asked} == {"d0": ["d1"], "d1": ["d0"]}


def test_stem_programs_print_the_known_answer(settings: Settings) -> None:
    solved, unknown = walk(settings, "stem_programs", "program", SOLVED, CHAIRS)
    assert solved["reject_reason"] is None and unknown["reject_reason"] == "no_known_answer"
    assert solved["text"] == (f"{CHAIRS}\n\n```python\nchairs = 4\nlegs = 3\nprint(chairs * legs)\n```\n\nOutput:\n12")
    assert dict(solved["meta"])["attempts"] == "2"
    assert steps(settings, "stem_programs") == {"program": 1, "repair": 1, "run": 2}


def test_stem_programs_keep_the_way_of_an_agent(settings: Settings) -> None:
    seeds = (SOLVED, CHAIRS, "The chairs in the hall of the school were made of oak.")
    found, *others = walk(settings, "stem_programs", "trajectory", *seeds)
    assert [row["reject_reason"] for row in others] == ["no_known_answer"] * 2
    assert dict(found["meta"]) == {"num_chunks": "1", "tool_calls": "2", "malformed_calls": "0"}
    assert found["text"].startswith(f"Task:\n{CHAIRS}\n\nThought: I look for chairs.\nTool: search\n")
    assert "made of oak" in found["text"] and "####" not in found["text"], "its own solution is not found"
    assert found["text"].endswith("<observation>\n12\n</observation>\n\nThought: That is all.\nAnswer: 12")
    assert steps(settings, "stem_programs") == {"python": 1, "search": 1, "turn": 3}


def test_stem_dialogues_are_turns_of_two(settings: Settings) -> None:
    (lesson,) = walk(settings, "stem_dialogues", "lesson", ENERGY)
    assert lesson["reject_reason"] is None
    turns = parse_turns(lesson["text"], roles=("Student", "Teacher"))
    assert [turn.text for turn in turns] == shapes_model.LESSON[:4]
    assert dict(lesson["meta"]) == {"num_chunks": "1", "exchanges": "2", "ended_by": "questioner"}
    assert steps(settings, "stem_dialogues") == {"answer": 2, "question": 3}


def test_code_is_traced_by_running_it(settings: Settings) -> None:
    traced, other = walk(settings, "code_rephrased", "traced", DIGITS, f"NUMBERS = [{'1, ' * 60}]", language="Python")
    assert (traced["reject_reason"], other["reject_reason"]) == (None, "no_function")
    assert traced["text"].startswith(DIGITS.rstrip())
    assert "#     digits(255, 16)  -> 2\n#     digits(-1)  raises ValueError: a negative number" in traced["text"]


def test_code_is_explained(settings: Settings) -> None:
    (explained,) = walk(settings, "code_rephrased", "explained", DIGITS, language="Python")
    assert explained["reject_reason"] is None
    assert explained["text"].startswith(f"```python\n{DIGITS}```\n\nThe function `digits`")
    assert (explained["language"], explained["content_type"]) == ("en", "text/markdown")


def test_code_is_translated_and_both_are_run(settings: Settings) -> None:
    try:
        toolchain("javascript")
    except SandboxError as error:
        pytest.skip(str(error))
    silent = f"NUMBERS = [{'1, ' * 60}]"
    translated, other = walk(settings, "code_translated", "javascript", DIGITS, silent, language="Python")
    assert (translated["reject_reason"], other["reject_reason"]) == (None, "original/fails")
    assert translated["text"].startswith("function digits(number, base = 10) {")
    assert (translated["language"], dict(translated["meta"])["lines_compared"]) == ("JavaScript", "2")
    assert steps(settings, "code_translated") == {"driver": 2, "original": 4, "run": 1, "translate": 1}
