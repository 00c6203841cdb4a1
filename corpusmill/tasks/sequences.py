"""tokenized/<dataset>/sequences: documents as packed token sequences, once per (table version, tokenizer, length).

One shard a file of documents. The documents table is named by the parameters, so curated and synthesized ones are alike;
of synthesized ones only the accepted are read, and none that the table `duplicates` names, where there is one.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.document import SEQUENCES
from corpusmill.engines.shard import ShardContext
from corpusmill.lake.reading import read_batches
from corpusmill.lake.tables import Attempt
from corpusmill.mix.pack import ROW_GROUP_BYTES, SHARD_SEQUENCES, PackingCounts, packed_state, tokenize_and_pack
from corpusmill.mix.tokenize import FillInMiddle, Tokenization
from corpusmill.tasks.engine import outcome_of, run_on_shards
from corpusmill.tasks.partition_rows import partition_rows, rows_about
from corpusmill.tasks.task import Job, Outcome
from corpusmill.tasks.tokenizer import tokenizer_file

_IDS = pa.schema([pa.field("doc_id", pa.string())])


def table(dataset: str) -> str:
    return f"tokenized/{dataset}/sequences"


def schema(parameters: Mapping[str, Any]) -> pa.Schema:
    return SEQUENCES


def inputs(job: Job) -> dict[str, Any]:
    duplicates = {"duplicates": job.upstream(job.parameters["duplicates"])} if "duplicates" in job.parameters else {}
    return {
        "documents": job.upstream(job.parameters["documents"]),
        "tokenizer": _tokenization(job).version(),
        **duplicates,
    }


def run(job: Job, attempt: Attempt) -> Outcome:
    tokenization = _tokenization(job)
    files = job.lake.files(job.parameters["documents"], [job.partition])
    shards = run_on_shards(
        "corpusmill.tasks.sequences:pack_shard",
        job=job,
        attempt=attempt,
        inputs=[
            {
                "documents_file": job.lake.store.key(file.path),
                "first_sequence": number * SHARD_SEQUENCES,
                **_duplicates(job),
            }
            for number, file in enumerate(files)
        ],
        parameters={"tokenization": tokenization.to_json(), "tokenizer": tokenization.version()},
        row_group_bytes=ROW_GROUP_BYTES,
    )
    counts = _counts(tokenization, outcome_of(shards).metrics)
    room = sum(one.num_sequences * one.sequence_length for one in counts)
    tokens = sum(one.num_tokens for one in counts)
    fills = {f"fill/{one.sequence_length}": round(one.fill, 6) for one in counts if len(counts) > 1}
    return outcome_of(
        shards,
        metrics={"tokens": tokens, "fill": round(tokens / room, 6) if room else 0.0, **fills},
        state=packed_state(tokenization, counts),
    )


def pack_shard(inputs: Mapping[str, Any], parameters: Mapping[str, Any], context: ShardContext) -> Iterator[pa.Table]:
    """Yield the SEQUENCES of one file of documents."""

    tokenization = Tokenization.from_json(parameters["tokenization"])

    def count(packed: PackingCounts) -> None:
        context.add_counts(packed.to_counts())
        for name, value in packed.to_notes().items():
            context.note(name, value)
            if tokenization.longer_lengths:
                context.note(f"{name}/{packed.sequence_length}", value)

    for sequences in tokenize_and_pack(
        _accepted(
            read_batches(context.store, inputs["documents_file"]),
            partition_rows(context.store, inputs.get("duplicates", []), _IDS),
        ),
        tokenization=tokenization,
        first_sequence=inputs["first_sequence"],
        on_counts=count,
    ):
        # A row group has one length: sequences are found by the numbers of the first and the last.
        context.begin_row_group()
        yield sequences


def _counts(tokenization: Tokenization, metrics: Mapping[str, Any]) -> list[PackingCounts]:
    """Return what was packed to each length, from the notes of all shards."""
    return [
        PackingCounts(
            sequence_length=length,
            num_tokens=int(metrics.get(f"num_tokens{suffix}", 0)),
            num_sequences=int(metrics.get(f"num_sequences{suffix}", 0)),
        )
        for length in tokenization.lengths
        for suffix in [f"/{length}" if tokenization.longer_lengths else ""]
    ]


def _duplicates(job: Job) -> dict[str, list[str]]:
    if "duplicates" not in job.parameters:
        return {}
    files = job.lake.files(job.parameters["duplicates"], [job.partition])
    return {"duplicates": [job.lake.store.key(file.path) for file in files]}


def _accepted(batches: Iterator[pa.Table], duplicates: pa.Table) -> Iterator[pa.Table]:
    for batch in batches:
        accepted = batch.filter(pc.is_null(batch["reject_reason"])) if "reject_reason" in batch.schema.names else batch
        ours = rows_about(duplicates, accepted)["doc_id"].combine_chunks()
        yield accepted.filter(pc.invert(pc.is_in(accepted["doc_id"], value_set=ours)))


def _tokenization(job: Job) -> Tokenization:
    middle = job.parameters.get("fill_in_middle")
    return Tokenization(
        tokenizer_file=tokenizer_file(job.parameters["tokenizer"], job.settings.state_folder),
        sequence_length=int(job.parameters["sequence_length"]),
        longer_lengths=tuple(map(int, job.parameters.get("longer_lengths", ()))),
        seed=int(job.parameters["seed"]),
        eos_token=job.parameters.get("eos_token"),
        fill_in_middle=FillInMiddle.from_json(middle) if middle else None,
    )
