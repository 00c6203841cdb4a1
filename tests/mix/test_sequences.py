"""Packing as a task: shards without documents, and a tokenizer that changes under a table."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from corpusmill.document import DOCUMENTS
from corpusmill.lake.files import ShardWriter
from corpusmill.lake.tables import Lake
from corpusmill.mix.mixture import Component, Mixture
from corpusmill.mix.solve import plan
from corpusmill.settings import Settings, settings_from_table
from corpusmill.stream.inventory import read_inventory
from corpusmill.tasks.task import execute

TABLE = "tokenized/pages/sequences"
SNAPSHOTS = ("s1", "s2")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A lake with two snapshots of documents, each of three files: the middle one has no row."""
    made = settings_from_table(
        {"spark": {"engine": "plain"}, "sources": {"pages": {"uri": "p", "format": "text"}}}, base=tmp_path
    )
    lake = Lake(made.lake)
    for snapshot in SNAPSHOTS:
        attempt = lake.begin("curated/pages/documents", snapshot, DOCUMENTS)
        files = [
            file
            for part, texts in enumerate((["ab", "cde"], [], ["f" * 30]))
            for file in written(lake, attempt, part, texts)
        ]
        lake.commit(attempt, files)
    return made


def written(lake: Lake, attempt: Any, part: int, texts: list[str]) -> list[Any]:
    rows = [
        {
            "doc_id": f"{attempt.partition}-{part}-{n}",
            "source": "pages",
            "snapshot": attempt.partition,
            "text": text,
            "text_hash": "",
        }
        for n, text in enumerate(texts)
    ]
    with ShardWriter(
        lake.store,
        directory=attempt.directory,
        name=f"{attempt.attempt}-{part}",
        schema=DOCUMENTS,
        partition=attempt.partition,
    ) as writer:
        writer.write(pa.Table.from_pylist(rows, schema=DOCUMENTS))
    return list(writer.files)


def pack(settings: Settings, snapshot: str, tokenizer: Path) -> dict[str, Any]:
    parameters = {"documents": "curated/pages/documents", "tokenizer": str(tokenizer), "sequence_length": 8, "seed": 0}
    given = {"settings": settings.to_json(), "dataset": "pages", "partition": snapshot, "parameters": parameters}
    return execute("sequences", given, lambda message, numbers: None)


def test_a_shard_without_documents_adds_nothing_and_documents_longer_than_a_sequence_lose_nothing(
    settings: Settings, tokenizer_file: str
) -> None:
    result = pack(settings, "s1", Path(tokenizer_file))
    rows = Lake(settings.lake).read(TABLE, partitions=["s1"]).to_pylist()
    assert (result["counts"]["rows_in"], result["counts"]["kept"]) == (3, 3)
    assert sum(len(row["tokens"]) for row in rows) == 2 + 3 + 30
    long = sorted(
        (start, length)
        for row in rows
        for doc_id, start, length in zip(row["doc_ids"], row["starts"], row["lengths"], strict=True)
        if doc_id == "s1-2-0"
    )
    assert long == [(0, 8), (8, 8), (16, 8), (24, 6)]


def test_a_tokenizer_that_changes_under_a_table_is_refused_until_all_of_it_is_packed_anew(
    settings: Settings, tokenizer_file: str, tmp_path: Path
) -> None:
    """The file keeps its path; its content is what counts."""
    file = tmp_path / "tokenizer.json"
    content = json.loads(Path(tokenizer_file).read_text(encoding="utf-8"))
    file.write_text(json.dumps(content), encoding="utf-8")
    for snapshot in SNAPSHOTS:
        pack(settings, snapshot, file)
    assert pack(settings, "s1", file)["reused"] is True
    mixture = Mixture(name="m", components=(Component(name="pages", table=TABLE, weight=1),), sequence_length=8)
    lake = Lake(settings.lake)
    plan(mixture, read_inventory(lake, [TABLE]))

    vocabulary = content["model"]["vocab"]
    vocabulary["a"], vocabulary["b"] = vocabulary["b"], vocabulary["a"]
    file.write_text(json.dumps(content), encoding="utf-8")
    assert pack(settings, "s1", file)["reused"] is False
    with pytest.raises(ValueError, match=r"(?=.*pages \(s1\))(?=.*pages \(s2\)).*needs one tokenizer, got 2"):
        plan(mixture, read_inventory(Lake(settings.lake), [TABLE]))
    pack(settings, "s2", file)
    assert plan(mixture, read_inventory(Lake(settings.lake), [TABLE])).num_positions > 0
