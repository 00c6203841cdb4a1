"""curated/<dataset>/validation: the documents of the validation split, made as `documents` are. No mixture reads them."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from corpusmill.lake.tables import Attempt
from corpusmill.tasks import documents
from corpusmill.tasks.task import Job, Outcome


def table(dataset: str) -> str:
    return f"curated/{dataset}/validation"


def schema(parameters: Mapping[str, Any]) -> pa.Schema:
    return documents.schema(parameters)


def inputs(job: Job) -> dict[str, Any]:
    return documents.inputs(job)


def run(job: Job, attempt: Attempt) -> Outcome:
    return documents.make_split(job, attempt, split=documents.VALIDATION)
