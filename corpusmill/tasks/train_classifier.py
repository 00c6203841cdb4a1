"""curated/<classifier>/classifier: one trained quality classifier, judged on texts that it has not seen.

Parameters:

    examples    what to learn from: [{"table": "curated/stem/documents", "partition": "2024", "label": "good"}, ...]
    reference   where the tiers are cut: {"table": ..., "partition": ...}, texts as they will be scored
    training    fields of QualityParameters; `positive` and `labels_license` are needed
    max_texts   at most so many texts of each table (20,000): those with the lowest document ids, an even sample
    min_auc     readers refuse a classifier below it (0.5)

A tenth of the examples, by document id, is held out of the training; with the duplicates of a text on both sides the
evaluation flatters, so train on documents that are deduplicated.
"""

import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.counts import Counts
from corpusmill.curate.quality import CLASSIFIER
from corpusmill.curate.quality_model import QualityParameters, evaluate, load, score, train, with_evaluation
from corpusmill.curate.quality_tiers import fit_edges
from corpusmill.lake.tables import Attempt
from corpusmill.tasks.task import Gate, Job, Outcome, partition_writer

MAX_TEXTS = 20_000
HELD_OUT = 10
"""One example in so many."""


def table(dataset: str) -> str:
    return f"curated/{dataset}/classifier"


def schema(parameters: Mapping[str, Any]) -> pa.Schema:
    return CLASSIFIER


def inputs(job: Job) -> dict[str, Any]:
    sources = [*job.parameters["examples"], job.parameters["reference"]]
    return {f"{it['table']}/{it['partition']}": job.upstream(it["table"], it["partition"]) for it in sources}


def run(job: Job, attempt: Attempt) -> Outcome:
    examples = pa.concat_tables([_labelled(job, source) for source in job.parameters["examples"]])
    held_out = _is_held_out(examples["doc_id"])
    learned, unseen = examples.filter(pc.invert(held_out)), examples.filter(held_out)
    trained = train(learned, QualityParameters(**job.parameters["training"]))
    evaluation = evaluate(load(trained), unseen)
    model = load(trained)
    edges = fit_edges(score(_sample(job, job.parameters["reference"])["text"], model))
    finished = with_evaluation(trained, evaluation)
    card = json.dumps(load(finished).card, sort_keys=True)
    row = {"version": model.version, "card": card, "edges": edges.tolist(), "model": finished}
    with partition_writer(job, attempt, name="classifier") as writer:
        writer.write(pa.Table.from_pylist([row], schema=CLASSIFIER))
    return Outcome(
        files=writer.files,
        counts=Counts(rows_in=len(examples), kept=len(learned), dropped={"held_out": len(unseen)}),
        metrics={"accuracy": evaluation["accuracy"], "auc": evaluation["auc"] or 0.0, "version": model.version},
        tables={"calibration": evaluation["calibration"], "labels": _label_rows(model.card["labels"])},
        gates={"auc": _auc_gate(evaluation["auc"], float(job.parameters.get("min_auc", 0.5)))},
    )


def _labelled(job: Job, source: Mapping[str, Any]) -> pa.Table:
    texts = _sample(job, source)
    return texts.append_column("label", pa.array([source["label"]] * len(texts), pa.string()))


def _sample(job: Job, source: Mapping[str, Any]) -> pa.Table:
    """Return the texts of a partition with the lowest document ids: the same ones whatever its files."""
    most = int(job.parameters.get("max_texts", MAX_TEXTS))
    kept = pa.table({"doc_id": pa.array([], pa.string()), "text": pa.array([], pa.large_string())})
    for batch in job.lake.scan(source["table"], partitions=[source["partition"]], columns=["doc_id", "text"]):
        texts = pa.Table.from_batches([batch]).filter(pc.is_valid(batch["text"]))
        kept = pa.concat_tables([kept, texts.cast(kept.schema)])
        if len(kept) > 2 * most:
            kept = kept.sort_by("doc_id").slice(0, most)
    return kept.sort_by("doc_id").slice(0, most).combine_chunks()


def _is_held_out(doc_ids: pa.ChunkedArray) -> pa.Array:
    """Return which rows are not for training, by the last digits of their ids: the first decided the sample."""
    return pa.array([int(doc_id[-8:], 16) % HELD_OUT == 0 for doc_id in doc_ids.to_pylist()], pa.bool_())


def _label_rows(labels: Mapping[str, int]) -> list[dict[str, Any]]:
    return [{"label": label, "texts": number} for label, number in labels.items()]


def _auc_gate(auc: float | None, least: float) -> Gate:
    if auc is None:
        return Gate(passed=False, message="the held-out texts have one label only: give more examples of each kind")
    return Gate(
        passed=auc >= least,
        message=f"area under the curve {auc:.3f}, at least {least:g} is wanted",
        numbers={"auc": auc},
    )
