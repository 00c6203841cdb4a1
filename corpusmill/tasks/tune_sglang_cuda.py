"""tuning/<model>/sglang_cuda: settings of SGLang's server measured on a GPU (see `corpusmill.tasks.tune`).

It needs an environment with SGLang, and no test of this repository has run it with SGLang itself.
"""

from typing import Any

from corpusmill.lake.tables import Attempt
from corpusmill.tasks import tune
from corpusmill.tasks.task import Job, Outcome

DEVICE = "sglang_cuda"
schema = tune.schema


def table(dataset: str) -> str:
    return tune.table(dataset, DEVICE)


def inputs(job: Job) -> dict[str, Any]:
    return tune.inputs(job, DEVICE)


def run(job: Job, attempt: Attempt) -> Outcome:
    return tune.run(job, attempt, DEVICE)
