"""Small documents, recipes and answers, written out, for the tests of synthesis."""

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from corpusmill.document import COMPLETIONS, DOCUMENTS, text_hash
from corpusmill.synthesize.generators.prompt import PromptGenerator
from corpusmill.synthesize.recipe import Recipe, SeedRule
from corpusmill.synthesize.requests import build_requests, render
from corpusmill.synthesize.sampling import Sampling

SEEDS = DOCUMENTS.append(pa.field("text_file", pa.string()))


@dataclass(frozen=True, kw_only=True)
class Model:
    """Who answers in these tests."""

    model: str = "small"
    revision: str = "r1"
    license: str = "Apache-2.0"


MODEL = Model()


def documents(*texts: str, **columns: Any) -> pa.Table:
    """Documents d0, d1 and so on with these texts; `columns` are the same for all."""
    rows = [
        {
            "doc_id": f"d{number}",
            "source": "web",
            "snapshot": "s1",
            "language": "en",
            "license": "MIT",
            "text": text,
            "text_hash": text_hash(text),
            "text_file": "file.parquet",
            **columns,
        }
        for number, text in enumerate(texts)
    ]
    return pa.Table.from_pylist(rows, schema=SEEDS)


def recipe(**changes: Any) -> Recipe:
    """The plainest recipe: the whole document, no verifier."""
    plain: dict[str, Any] = {
        "name": "web_rephrased/plain",
        "seeds": SeedRule(max_characters=10_000),
        "generator": generator(),
        "verifiers": (),
    }
    return Recipe(**{**plain, **changes})


def generator(**changes: Any) -> PromptGenerator:
    plain: dict[str, Any] = {"system": "Rewrite.", "user": "$document", "sampling": Sampling(max_tokens=64)}
    return PromptGenerator(**{**plain, **changes})


def requests(seeds: pa.Table, asked: Recipe | None = None, **changes: Any) -> pa.Table:
    return build_requests(seeds, recipe=asked or recipe(), identity=Model(**changes))


def completion(request_id: str, answer: str | None, failure: str | None = None, finish: str = "stop") -> dict[str, Any]:
    return {
        "request_id": request_id,
        "answer": answer,
        "finish_reason": None if answer is None else finish,
        "failure": failure,
        "engine": "scripted",
    }


def completions(*rows: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=COMPLETIONS)


def answers(asked: pa.Table, *texts: str | None) -> pa.Table:
    """One answer a request, in order; None is a request that failed."""
    pairs = zip(asked["request_id"].to_pylist(), texts, strict=True)
    return completions(*(completion(name, text, None if text is not None else "engine_error") for name, text in pairs))


def prompt_texts(seeds: pa.Table, asked: Recipe) -> list[str]:
    """The last message of every prompt."""
    rendered = render(requests(seeds, asked), seeds, asked)
    return [item["messages"][-1]["content"] for item in rendered]
