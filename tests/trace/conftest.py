"""A small real lake with what tracing reads, its rows written out by the tests."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from benchmarks.mixing_lake import make_lake
from corpusmill.document import DOCUMENTS, DUPLICATES, SEQUENCES, SYNTHESIZED
from corpusmill.lake.files import ShardWriter
from corpusmill.lake.store import LakeSettings, StoreSettings
from corpusmill.lake.tables import Lake
from corpusmill.mix.mixture import Component, Mixture


class WrittenLake:
    """A lake that tests fill row by row."""

    def __init__(self, folder) -> None:
        self.lake = Lake(LakeSettings(store=StoreSettings(root=str(folder))))

    def put(self, table: str, partition: str, rows: Sequence[dict], schema: pa.Schema, **state: Any) -> int:
        """Commit rows as a partition's new version, one file a row, and return the version."""
        attempt = self.lake.begin(table, partition, schema)
        files = []
        for number, row in enumerate(rows):
            name = f"{attempt.attempt}-{number}"
            with ShardWriter(
                self.lake.store, directory=attempt.directory, name=name, schema=schema, partition=partition
            ) as writer:
                writer.write(pa.Table.from_pylist([row], schema=schema))
            files += writer.files
        return self.lake.commit(attempt, files, state).snapshot_id

    def put_documents(self, dataset: str, snapshot: str, doc_ids: Sequence[str]) -> int:
        rows = [{**self._document(dataset, snapshot, doc_id), "url": f"https://{doc_id}.test/"} for doc_id in doc_ids]
        return self.put(f"curated/{dataset}/documents", snapshot, rows, DOCUMENTS)

    def put_made(
        self, dataset: str, partition: str, parents: dict[str, list[str]], *, rejected: Sequence[str] = ()
    ) -> int:
        """Commit synthesized documents, each with its parents."""
        rows = [
            {
                **self._document(dataset, partition.rpartition("|")[2], doc_id),
                "parent_ids": parent_ids,
                "recipe": f"{dataset}/plain",
                "generator": "model@1",
                "generator_license": "apache-2.0",
                "reject_reason": "too_short" if doc_id in rejected else None,
            }
            for doc_id, parent_ids in parents.items()
        ]
        return self.put(f"synthesized/{dataset}/documents", partition, rows, SYNTHESIZED)

    def put_duplicates(self, table: str, partition: str, kept: dict[str, str]) -> int:
        """Commit removals: removed document -> kept one."""
        rows = [
            {
                "doc_id": doc_id,
                "snapshot": partition,
                "duplicate_of": better,
                "duplicate_of_snapshot": partition,
                "kind": "near",
                "jaccard": 0.9,
            }
            for doc_id, better in kept.items()
        ]
        return self.put(table, partition, rows, DUPLICATES)

    def put_sequences(self, dataset: str, partition: str, doc_ids: Sequence[str]) -> int:
        """Commit a sequence of four tokens for each document."""
        rows = [
            {"sequence": number, "tokens": [number] * 4, "doc_ids": [doc_id], "lengths": [4], "starts": [0]}
            for number, doc_id in enumerate(doc_ids)
        ]
        state = {"num_tokens": 4 * len(rows), "tokenizer": "t1", "sequence_length": 4}
        return self.put(f"tokenized/{dataset}/sequences", partition, rows, SEQUENCES, **state)

    def mixture(self, *datasets: str) -> Mixture:
        """Return a mixture of equal parts."""
        components = tuple(Component(name=name, table=f"tokenized/{name}/sequences", weight=1) for name in datasets)
        return Mixture(name="demo", components=components, sequence_length=4)

    def _document(self, dataset: str, snapshot: str, doc_id: str) -> dict[str, Any]:
        return {"doc_id": doc_id, "source": dataset, "snapshot": snapshot, "text": doc_id, "text_hash": f"h-{doc_id}"}


@pytest.fixture
def written(tmp_path):
    held = WrittenLake(tmp_path / "lake")
    yield held
    held.lake.close()


@pytest.fixture(scope="session")
def staged(tmp_path_factory):
    """A lake in which every stage has run, and a mix of what they made; tests only read it."""
    return make_lake(tmp_path_factory.mktemp("staged"), num_documents=12, num_words=60)
