"""curated/<dataset>/verdicts: one row per extracted document, with every measured statistic and the first drop reason.

One shard a text file; a verdict names the text file that it judged. Where only thresholds changed since the last commit,
the stored verdicts are decided again and no text is read.

Parameters name the judge, and may change its `rules`; a web judge may name `classifiers`, tables of train_classifier,
whose scores and tiers become statistics.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.counts import Counts, count_reasons
from corpusmill.curate.quality import TIER, add_statistics
from corpusmill.curate.quality_rules import classifier_names
from corpusmill.curate.redecide import JUDGES, judge_of
from corpusmill.engines.shard import ShardContext
from corpusmill.engines.shards import total
from corpusmill.lake.reading import read_batches
from corpusmill.lake.tables import Attempt
from corpusmill.tasks import extract, train_classifier
from corpusmill.tasks.drop_examples import example_places
from corpusmill.tasks.engine import outcome_of, run_on_shards
from corpusmill.tasks.redecided import decidable_files, measured_version
from corpusmill.tasks.stored_classifiers import stored_classifiers
from corpusmill.tasks.task import UNPARTITIONED, Job, Outcome
from corpusmill.tasks.verdict_statistics import language_table, spread_table, tier_table

EXCERPT_CHARACTERS = 160


def table(dataset: str) -> str:
    return f"curated/{dataset}/verdicts"


def schema(parameters: Mapping[str, Any]) -> pa.Schema:
    judge = judge_of(parameters)
    names = classifier_names(parameters)
    if names and parameters["judge"] != "web":
        raise ValueError(
            f"classifiers are for the judge 'web', not for {parameters['judge']!r}: take away {', '.join(names)}"
        )
    judge.rules(parameters)  # before anything is read: a mistake in them is told at once
    return add_statistics(judge.verdict_schema(), names)


def inputs(job: Job) -> dict[str, Any]:
    tables = [train_classifier.table(name) for name in classifier_names(job.parameters)]
    extracted = job.upstream(extract.table(job.dataset))
    return {"extracted": extracted} | {table: job.upstream(table, UNPARTITIONED) for table in tables}


def run(job: Job, attempt: Attempt) -> Outcome:
    measured = measured_version(job, inputs(job))
    stored = decidable_files(job, table(job.dataset), measured)
    if stored is None:
        files = job.lake.files(extract.table(job.dataset), [job.partition])
        models = _classifier_files(job)
        function = "corpusmill.tasks.judge:judge_shard"
        shard_inputs = [{"text_file": job.lake.store.key(file.path), **models} for file in files]
    else:
        job.report("only thresholds changed: deciding again from the stored verdicts", {"files": len(stored)})
        function = "corpusmill.tasks.redecided:redecide_shard"
        shard_inputs = [{"verdict_file": key} for key in stored]
    shards = run_on_shards(function, job=job, attempt=attempt, inputs=shard_inputs, parameters=job.parameters)
    sums = total(shards)
    return outcome_of(
        shards,
        tables={
            "drop_reasons": [
                {"reason": reason, "documents": number} for reason, number in _by_size(sums.counts.dropped)
            ],
            "languages": language_table(job.lake.store, sums.files),
            "quality_tiers": tier_table(job.lake.store, sums.files) if TIER in job.schema.names else [],
        },
        state={"measured": measured, "parameters": dict(job.parameters)},
        listings={
            "statistics": spread_table(job.lake.store, sums.files, job.schema),
            "dropped": [
                {name: value for name, value in row.items() if name != "example_order"}
                for rows in sums.examples.values()
                for row in rows
            ],
        },
    )


def judge_shard(inputs: Mapping[str, Any], parameters: Mapping[str, Any], context: ShardContext) -> Iterator[pa.Table]:
    """Yield the verdicts of one text file."""
    models = stored_classifiers(context.store, inputs["classifiers"]) if "classifiers" in inputs else []
    given = {"classifiers": models} if models else {}
    for batch in read_batches(context.store, inputs["text_file"]):
        texts = batch.filter(pc.is_null(batch["failure"]))
        verdicts = JUDGES[parameters["judge"]].judge(texts, dict(parameters), **given)
        files = pa.array([inputs["text_file"]] * len(verdicts), pa.string())
        named = verdicts.add_column(1, pa.field("text_file", pa.string(), nullable=False), files)
        context.add_counts(_counts(named))
        for row in _drops(texts, named):
            context.sample(row)
            context.example(row["drop_reason"], row["doc_id"], row)
        yield named


def _classifier_files(job: Job) -> dict[str, dict[str, str]]:
    """Return `classifiers`, the key of each one's file by name; nothing where the parameters name none."""
    names = classifier_names(job.parameters)
    files = {name: job.lake.files(train_classifier.table(name), [UNPARTITIONED])[0] for name in names}
    return {"classifiers": {name: job.lake.store.key(file.path) for name, file in files.items()}} if files else {}


def _counts(verdicts: pa.Table) -> Counts:
    dropped = count_reasons(verdicts["drop_reason"])
    return Counts(rows_in=len(verdicts), kept=len(verdicts) - sum(dropped.values()), dropped=dropped)


def _by_size(reasons: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(reasons.items(), key=lambda item: (-item[1], item[0]))


def _drops(texts: pa.Table, verdicts: pa.Table) -> Iterator[dict[str, Any]]:
    """Yield, for each reason, the dropped documents of a batch with the smallest ids, with the start of their text."""
    for row in example_places(verdicts):
        yield {
            "drop_reason": verdicts["drop_reason"][row].as_py(),
            "doc_id": verdicts["doc_id"][row].as_py(),
            "locator": texts["locator"][row].as_py()[-120:],
            "language": verdicts["language"][row].as_py(),
            "text": (texts["text"][row].as_py() or "")[:EXCERPT_CHARACTERS],
        }
