"""What other thresholds would do to a judged partition, before anything is written. Reads only the columns that decide."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from corpusmill.counts import count_reasons
from corpusmill.curate.redecide import changes, decisive_columns, needs_text, redecide
from corpusmill.lake.reading import read_rows
from corpusmill.lake.tables import Lake
from corpusmill.tasks import judge


@dataclass(frozen=True, kw_only=True)
class Preview:
    """A partition's verdicts under old and new rules."""

    documents: int
    kept_before: int
    kept_after: int
    dropped_after: Mapping[str, int]
    changes: pa.Table
    """`before`, `after` (drop reasons, null is kept), `documents`; the most frequent first."""


def preview(
    lake: Lake, dataset: str, partition: str, *, judged_with: Mapping[str, Any], parameters: Mapping[str, Any]
) -> Preview:
    """Return what the judge's `parameters` would decide about a partition that was judged with others.

    Raises ValueError when a rule that differs needs the texts, and when the stored verdicts are not those of `judged_with`.
    """
    if names := needs_text(judged_with, parameters):
        raise ValueError(
            f"{', '.join(names)} cannot be decided from verdicts that were made with another: materialize "
            f"{judge.table(dataset)} instead"
        )
    files = lake.files(judge.table(dataset), [partition])
    columns = ("drop_reason", *decisive_columns(parameters))
    verdicts = pa.concat_tables([read_rows(lake.store, lake.store.key(file.path), columns=columns) for file in files])
    before = verdicts["drop_reason"].combine_chunks()
    if not redecide(verdicts, judged_with).equals(before):
        raise ValueError(
            f"the verdicts of {judge.table(dataset)}, {partition!r}, were decided with other rules than those given as "
            "`judged_with`: materialize them, or give the rules that they were decided with"
        )
    after = redecide(verdicts, parameters)
    return Preview(
        documents=len(verdicts),
        kept_before=before.null_count,
        kept_after=after.null_count,
        dropped_after=count_reasons(pa.chunked_array([after])),
        changes=changes(before, after),
    )
