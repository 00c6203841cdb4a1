"""What takes documents away beside their verdict, where their dataset asks for it: the tables `urls` and `contamination`.

The parameter `drops` has an entry for each table that is asked for; that of contamination is its policy. Both what is
deduplicated and what becomes a document leave these out: the kept one of two duplicates must not be one that goes anyway.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.curate.contamination_policy import contamination_decisions
from corpusmill.curate.contamination_rules import ContaminationPolicy
from corpusmill.lake.store import Store
from corpusmill.tasks import contamination, urls
from corpusmill.tasks.partition_rows import partition_rows, rows_about
from corpusmill.tasks.task import Job

_REASONS = pa.schema([pa.field("doc_id", pa.string()), pa.field("drop_reason", pa.string())])
_TASKS: dict[str, ModuleType] = {"urls": urls, "contamination": contamination}


@dataclass(frozen=True, kw_only=True)
class Drops:
    """What was found in the documents of a partition."""

    urls: pa.Table
    contamination: pa.Table
    policy: ContaminationPolicy

    def decide(self, texts: pa.Table) -> tuple[pa.Table, pa.Table]:
        """Return, for `texts` (doc_id and text), tables with doc_id and drop_reason: by URL, and the DECISIONS by content."""
        return self.urls, contamination_decisions(rows_about(self.contamination, texts), texts, self.policy)


def drop_versions(job: Job) -> dict[str, str]:
    """Return the content hash of the partition of each table that is asked for."""
    return {name: job.upstream(task.table(job.dataset)) for name, task in _asked(job).items()}


def drop_files(job: Job) -> dict[str, list[str]]:
    """Return the keys of the partition's files of each table that is asked for: inputs of a shard."""
    return {
        name: [job.lake.store.key(file.path) for file in job.lake.files(task.table(job.dataset), [job.partition])]
        for name, task in _asked(job).items()
    }


def read_drops(inputs: Mapping[str, Any], parameters: Mapping[str, Any], store: Store) -> Drops:
    """Return what the files of `drop_files` hold; nothing where nothing is asked for."""
    return Drops(
        urls=partition_rows(store, inputs.get("urls", []), _REASONS, filled="drop_reason"),
        contamination=partition_rows(store, inputs.get("contamination", []), contamination.CONTAMINATION),
        policy=ContaminationPolicy.from_json(parameters.get("drops", {}).get("contamination", {})),
    )


def first_reasons(texts: pa.Table, tables: Sequence[pa.Table]) -> pa.ChunkedArray:
    """Return the drop reason of each text, in its order: that of the first table which has one, else null."""
    return pa.chunked_array([pc.coalesce(*(_reasons(texts, table) for table in tables))])


def _asked(job: Job) -> dict[str, ModuleType]:
    return {name: task for name, task in _TASKS.items() if name in job.parameters.get("drops", {})}


def _reasons(texts: pa.Table, table: pa.Table) -> pa.Array:
    found = rows_about(table, texts)
    places = pc.index_in(texts["doc_id"], value_set=found["doc_id"].combine_chunks())
    return found["drop_reason"].combine_chunks().take(places.combine_chunks())
