"""What tracing found, printed for people or as JSON."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import pyarrow as pa

from corpusmill.lake.tables import Lake
from corpusmill.stream.inventory import read_plan
from corpusmill.stream.live import standing
from corpusmill.trace.difference import Difference, difference, find_version
from corpusmill.trace.document import Document
from corpusmill.trace.explain import MixTracer, TracedSequence
from corpusmill.trace.exposure import exposure
from corpusmill.trace.licences import forbidden, mix_licences
from jobs.inspection import print_rows

MOST_DUPLICATES = 5


def print_explanation(
    lake: Lake, mix: str, *, position: int | None, row: tuple[str, int] | None, token: int | None, as_json: bool
) -> None:
    """Print where the tokens at a position, or in a row of a shard, came from."""
    tracer = MixTracer(lake, mix)
    found = tracer.explain_row(*row) if position is None and row else tracer.explain(position or 0)
    found = found if token is None else found.at_token(token)
    print(json.dumps(asdict(found), default=str, ensure_ascii=False) if as_json else "\n".join(sequence_lines(found)))


def print_licences(
    lake: Lake,
    mix: str,
    *,
    allowed: Sequence[str] | None,
    allowed_teachers: Sequence[str] | None,
    as_json: bool,
) -> bool:
    """Print the licences of a mix and return whether they are allowed."""
    flow = mix_licences(lake, standing(lake, read_plan(lake, mix)))
    _print_table(
        flow if as_json else flow.drop_columns("table"), as_json=as_json, nothing=f"Mix {mix} reads no tokens."
    )
    against = forbidden(flow, allowed=allowed, allowed_teachers=allowed_teachers)
    if len(against) and not as_json:
        print(f"Not allowed: {sum(against['tokens'].to_pylist()):,} tokens")
        for one in against.to_pylist():
            print(f"  {one['component']}: {one['why']}, {one['tokens']:,} tokens")
    return len(against) == 0


def print_exposure(lake: Lake, mix: str, *, doc_ids: Sequence[str], num_positions: int | None, as_json: bool) -> None:
    """Print how often a run meets documents."""
    found = exposure(lake, standing(lake, read_plan(lake, mix)), doc_ids, num_positions=num_positions)
    _print_table(found, as_json=as_json, nothing="The run meets none of them, and nothing that was made from them.")
    for doc_id in [] if as_json else doc_ids:
        ours = [row for row in found.to_pylist() if row["asked_id"] == doc_id]
        tokens, times = sum(row["tokens"] for row in ours), sum(row["times"] for row in ours)
        print(f"{doc_id}: met {times:,.4g} times in {tokens:,} tokens")


def print_difference(lake: Lake, table: str, *, before: str, after: str | None, as_json: bool) -> None:
    """Print what two versions of a table differ in."""
    found = difference(lake, table, find_version(lake, table, before), find_version(lake, table, after))
    print(json.dumps(asdict(found), default=str, ensure_ascii=False) if as_json else "\n".join(difference_lines(found)))


def sequence_lines(found: TracedSequence) -> Iterator[str]:
    """Yield what to tell a person of a traced sequence."""
    where = f"position {found.position:,}" if found.position is not None else "a row of a shard"
    epoch = "" if found.epoch is None else f", epoch {found.epoch}"
    yield f"{found.mix}, {where}: component {found.component}{epoch}"
    yield f"  {found.table}, partition {found.partition}, sequence {found.index:,} of the component"
    for piece in found.pieces:
        last = piece.first_token + piece.length
        yield f"tokens {piece.first_token:,} to {last:,}: {piece.document.doc_id}, from its token {piece.start:,}"
        yield from _indented(document_lines(piece.document), "  ")


def document_lines(document: Document) -> Iterator[str]:
    """Yield what to tell a person of a document: how it was made, its licences, its duplicates, its source."""
    row = document.row
    if document.table is None:
        yield "no version of the tables that is left has this document"
    else:
        since = "" if document.is_current else ", an older version: the current one does not have it"
        yield f"{document.table}, partition {document.partition}{since}"
    told = {name: row[name] for name in ("url", "title", "language", "license", "content_type") if row.get(name)}
    if told:
        yield ", ".join(f"{name} {value}" for name, value in told.items())
    if row.get("recipe"):
        teacher = f"generator {row['generator']}, its licence {_or_none(row, 'generator_license')}"
        yield f"made by {row['recipe']} ({row['recipe_version']}), {teacher}"
        yield from map(_request_line, document.requests)
    if document.verdict:
        edits = document.verdict.get("edits") or ()
        yield f"verdict: {document.verdict['drop_reason'] or 'kept'}, {len(edits)} edits"
    yield from _duplicate_lines(document)
    if document.record:
        record = document.record
        place = "" if record["offset"] is None else f", {record['length']:,} bytes from byte {record['offset']:,}"
        yield f"source: {record['source']}, snapshot {record['snapshot']}, {record['file']}{place}"
        yield f"  locator {record['locator']}, declared licence {_or_none(record, 'declared_license')}"
    for parent in document.parents:
        yield f"from {parent.doc_id}"
        yield from _indented(document_lines(parent), "  ")


def difference_lines(found: Difference) -> Iterator[str]:
    """Yield what to tell a person of a difference."""
    yield f"{found.table}: version {found.before} to {found.after}"
    yield f"{found.added:,} rows added, {found.removed:,} removed, {found.changed:,} changed"
    if found.removed_reasons:
        yield f"Why they went, of {found.looked_at['removed']:,}:"
        yield from (f"  {reason}: {number:,}" for reason, number in found.removed_reasons.most_common())
    if found.changed_columns:
        yield f"Columns that changed, of {found.looked_at['changed']:,}:"
        yield from (f"  {name}: {number:,}" for name, number in found.changed_columns.most_common())
    for kind, rows in found.samples.items():
        yield from ([f"{kind.capitalize()}, for example:"] if rows else [])
        for row in rows:
            yield "  " + ", ".join(f"{name} {value!r}" for name, value in row.items())


def _request_line(request: Mapping[str, Any]) -> str:
    answer = request["answer"]
    answered = f"answered by {answer['engine']} ({answer['finish_reason']})" if answer else "its answer is not there"
    return (
        f"asked about characters {request['start']:,} to {request['end']:,} of {request['doc_id']}, prompt "
        f"{request['prompt_hash']}, request {request['request_id']}: {answered}"
    )


def _duplicate_lines(document: Document) -> Iterator[str]:
    if document.removed_as:
        yield f"removed since, {document.removed_as['kind']} duplicate of {document.removed_as['duplicate_of']}"
    if document.stands_for:
        names = ", ".join(f"{one['doc_id']} ({one['kind']})" for one in document.stands_for[:MOST_DUPLICATES])
        more = len(document.stands_for) - MOST_DUPLICATES
        cluster = f", cluster {document.cluster}" if document.cluster else ""
        yield f"stands for {names}{f' and {more:,} more' if more > 0 else ''}{cluster}"


def _print_table(rows: pa.Table, *, as_json: bool, nothing: str) -> None:
    if as_json:
        for row in rows.to_pylist():
            print(json.dumps(row, ensure_ascii=False))
    else:
        print_rows(rows.to_pylist(), nothing=nothing)


def _or_none(row: Mapping[str, Any], name: str) -> str:
    return str(row[name]) if row[name] else "none"


def _indented(lines: Iterator[str], by: str) -> Iterator[str]:
    return (f"{by}{line}" for line in lines)
