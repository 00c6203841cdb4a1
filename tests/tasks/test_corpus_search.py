"""The search of agents as a tool of a job: built from the partition's seed documents, and named by them."""

from pathlib import Path
from typing import Any

import pytest

from corpusmill.document import COMPLETIONS
from corpusmill.lake.tables import Lake
from corpusmill.settings import Settings, settings_from_table
from corpusmill.synthesize.search import SearchLimits
from corpusmill.tasks.corpus_search import CorpusSearch
from corpusmill.tasks.task import Job
from tests.assets.test_synthesized_shapes import put_seeds


def job(settings: Settings, said: list[Any]) -> Job:
    return Job(
        settings=settings,
        lake=Lake(settings.lake),
        dataset="stem_programs",
        partition="trajectory|2024",
        parameters={"seeds": "stem", "variant": "trajectory"},
        schema=COMPLETIONS,
        report=lambda message, numbers: said.append((message, numbers)),
    )


def test_it_finds_the_partitions_documents_and_is_named_by_them(tmp_path: Path) -> None:
    settings = settings_from_table({"spark": {"engine": "plain"}}, base=tmp_path)
    put_seeds(settings, "stem", ("A lamp guides the boats.", "The pier is long."), "en")
    search = CorpusSearch(job(settings, []))
    before = search.version
    assert search({"query": "boats"}) == "[d0]\nA lamp guides the boats."
    put_seeds(settings, "stem", ("A lamp guides the boats.", "The pier is old."), "en")
    assert CorpusSearch(job(settings, [])).version != before
    with pytest.raises(ValueError, match="takes the arguments query and besides, got code"):
        search({"code": "1"})


def test_it_says_when_not_all_documents_can_be_found(tmp_path: Path) -> None:
    settings = settings_from_table({"spark": {"engine": "plain"}}, base=tmp_path)
    put_seeds(settings, "stem", tuple(f"lamp {number}" for number in range(5)), "en")
    said: list[Any] = []
    search = CorpusSearch(job(settings, said), SearchLimits(max_documents=2))
    assert search({"query": "lamp"}).count("lamp") == 2
    assert said == [("search: not all documents fit the index", {"documents": 5, "searched": 2})]
