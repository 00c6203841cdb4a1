"""Forgetting, as a person asks for it: what is held of documents, what keeps them out, and what is to be made again."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from corpusmill.lake.tables import Lake
from corpusmill.tasks.task import UNPARTITIONED
from corpusmill.trace.forget import ASKED, MADE, SAME_TEXT, Asked, Found, find, partitions_to_materialize, withdraw

MOST_NAMED = 5


def forget(lake: Lake, asked: Asked, *, action: str | None, as_json: bool) -> None:
    """Print what is held of what was asked for and, with an action, keep it out."""
    found = find(lake, asked)
    print(json.dumps(told(found), ensure_ascii=False) if as_json else "\n".join(lines(found)))
    if action is None:
        return
    if not len(found.documents) and not asked.urls:
        raise ValueError(f"nothing in the lake is named by {_named(found.not_found)}: there is nothing to {action}")
    datasets = withdraw(lake, found)
    if as_json:
        return
    print(f"Withdrawn: removals of {', '.join(datasets) or 'no dataset'} name them, and every later ingestion obeys.")
    print("\n".join(_to_make_again(partitions_to_materialize(lake, found))))


def read_urls(path: str) -> list[str]:
    """Return the lines of a file that are not empty; raises ValueError where there is none."""
    try:
        found = [line.strip() for line in Path(path).read_text(encoding="utf-8").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"--url-file wants a text file with a URL a line, got {path}: {error}") from error
    if not any(found):
        raise ValueError(f"--url-file wants a URL a line, {path} is empty")
    return [line for line in found if line]


def told(found: Found) -> dict[str, object]:
    """Return what is held, as JSON spells it."""
    return {
        "documents": found.documents.to_pylist(),
        "sequences": found.sequences.to_pylist(),
        "mixes": found.mixes.to_pylist(),
        "near_duplicates": list(found.near_duplicates),
        "not_found": list(found.not_found),
        "unread_mixes": list(found.unread_mixes),
    }


def lines(found: Found) -> Iterator[str]:
    """Yield what to tell a person of what is held."""
    asked, same, made = (len(found.doc_ids(relation)) for relation in (ASKED, SAME_TEXT, MADE))
    yield f"Documents: {asked:,} asked for, {same:,} of the same text, {made:,} made from them"
    yield from _places(found.documents)
    for row in found.sequences.to_pylist():
        yield f"  {_place(row)}: {row['tokens']:,} tokens in {row['sequences']:,} sequences"
    for row in found.mixes.to_pylist():
        yield (
            f"Mix {row['mix']}: {row['tokens']:,} tokens in {row['sequences']:,} sequences, read at {row['positions']:,} "
            f"positions; a run has met them once it is beyond position {row['first_position']:,}"
        )
    for told in found.unread_mixes:
        yield f"Mix that cannot be read any more: {told}"
    if found.near_duplicates:
        yield (
            f"Left: {len(found.near_duplicates):,} near-duplicates, which share most of a text; to forget them, name them by "
            f"--doc: {_named(found.near_duplicates)}"
        )
    if found.not_found:
        yield f"Nothing in the lake is named by {_named(found.not_found)}"


def _places(documents: pa.Table) -> Iterator[str]:
    keys = ["table", "partition", "is_current"]
    counted = documents.group_by(keys, use_threads=False).aggregate([("doc_id", "count")])
    for row in counted.to_pylist():
        yield f"  {_place(row)}: {row['doc_id_count']:,}"


def _place(row: dict[str, object]) -> str:
    return f"{row['table']} {row['partition']}{'' if row['is_current'] else ' (older versions)'}"


def _to_make_again(partitions: Sequence[tuple[str, str]]) -> Iterator[str]:
    if not partitions:
        yield "Nothing is to be made again."
        return
    yield "Make again, in this order:"
    for table, partition in partitions:
        chosen = "" if partition == UNPARTITIONED else f" --partition {json.dumps(partition)}"
        yield f"  corpusmill materialize --assets {table}{chosen}"


def _named(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")
