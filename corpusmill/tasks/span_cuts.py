"""What documents lose because it is repeated, where their dataset asks for it: the table `repeated_spans`.

The parameter `repeated_spans` is the policy; without it nothing is read and nothing cut.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from corpusmill.curate.span_policy import SpanPolicy, flag_documents, span_decisions
from corpusmill.dedup.spans import REPEATED_SPANS
from corpusmill.lake.store import Store
from corpusmill.tasks import repeated_spans
from corpusmill.tasks.partition_rows import partition_rows, rows_about
from corpusmill.tasks.task import Job


@dataclass(frozen=True, kw_only=True)
class SpanCuts:
    """The repeated spans of a partition."""

    spans: pa.Table
    policy: SpanPolicy

    def decide(self, texts: pa.Table, verdicts: pa.Table) -> pa.Table:
        """Return the DECISIONS about `texts` (doc_id and text), which the edits of `verdicts` cut already."""
        return span_decisions(rows_about(self.spans, texts), texts, self.policy, verdicts=verdicts)

    def flagged(self, documents: pa.Table) -> pa.Table:
        """Return DOCUMENTS, with what they repeat in their `meta` where the policy is to say so."""
        if self.policy.action != "flag":
            return documents
        return flag_documents(documents, rows_about(self.spans, documents))


def span_versions(job: Job) -> dict[str, str]:
    """Return the content hash of the partition's spans, where they are asked for."""
    name = repeated_spans.table(job.dataset)
    return {"repeated_spans": job.upstream(name)} if "repeated_spans" in job.parameters else {}


def span_files(job: Job) -> dict[str, list[str]]:
    """Return the keys of the files of the partition's spans, where they are asked for: inputs of a shard."""
    if "repeated_spans" not in job.parameters:
        return {}
    files = job.lake.files(repeated_spans.table(job.dataset), [job.partition])
    return {"repeated_spans": [job.lake.store.key(file.path) for file in files]}


def read_spans(inputs: Mapping[str, Any], parameters: Mapping[str, Any], store: Store) -> SpanCuts:
    """Return what the files of `span_files` hold; nothing where nothing is asked for."""
    return SpanCuts(
        spans=partition_rows(store, inputs.get("repeated_spans", []), REPEATED_SPANS),
        policy=SpanPolicy.from_json(parameters.get("repeated_spans", {})),
    )
