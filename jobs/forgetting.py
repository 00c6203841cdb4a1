"""Forgetting, as a person asks for it: what is held of documents, what keeps them out, and what is to be made again."""

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa

from corpusmill.lake.tables import Lake
from corpusmill.settings import Settings
from corpusmill.tasks.task import UNPARTITIONED
from corpusmill.trace.erase import Survey, erase, survey
from corpusmill.trace.forget import ASKED, MADE, SAME_TEXT, Asked, Found, find, partitions_to_materialize, withdraw

MOST_NAMED = 5


def forget(
    settings: Settings,
    asked: Asked,
    *,
    action: str | None,
    is_dry: bool = False,
    is_confirmed: bool = False,
    as_json: bool = False,
) -> None:
    """Print what is held of what was asked for and, with an action, keep it out or erase it."""
    lake = Lake(settings.lake)
    lake.require()
    found = find(lake, asked)
    print(json.dumps(told(found), ensure_ascii=False) if as_json else "\n".join(lines(found)))
    if action == "erase":
        _erase(
            settings,
            lake,
            found,
            is_dry=is_dry,
            is_confirmed=is_confirmed,
            say=(lambda line: None) if as_json else print,
        )
    if action != "withdraw" or is_dry:
        return
    if not len(found.documents) and not asked.urls:
        raise ValueError(f"nothing in the lake is named by {_named(found.not_found)}: there is nothing to {action}")
    datasets = withdraw(lake, found)
    if as_json:
        return
    print(f"Withdrawn: removals of {', '.join(datasets) or 'no dataset'} name them, and every later ingestion obeys.")
    print("\n".join(_to_make_again(partitions_to_materialize(lake, found))))


def _erase(
    settings: Settings, lake: Lake, found: Found, *, is_dry: bool, is_confirmed: bool, say: Callable[[str], None]
) -> None:
    """Say what erasing takes away and, where that is confirmed, do it: the event log first, records last."""
    from jobs.event_log import erase_quotes  # Dagster takes a second to load

    going = survey(lake, found, now=datetime.now(UTC))
    quotes = erase_quotes(settings, going.places, is_dry=True)
    say("\n".join(_going(going, found, quotes)))
    if is_dry:
        return
    going.check()
    if not is_confirmed:
        raise ValueError("nothing was erased: it cannot be undone; the same command with --yes erases")
    withdraw(lake, found)
    erase_quotes(settings, going.places)
    numbers = erase(lake, found, now=datetime.now(UTC))
    say(
        f"Erased: {numbers['rows']:,} rows in {numbers['files']:,} files, {numbers['answers']:,} kept answers, samples of "
        f"{numbers['samples']:,} partitions, {numbers['files_deleted']:,} files left behind, quotes in {quotes:,} events."
    )


def _going(going: Survey, found: Found, quotes: int) -> Iterator[str]:
    for row in going.rows.to_pylist():
        yield f"To erase in {row['table']}: {row['rows']:,} rows; {row['files']:,} files are written anew, {row['bytes']:,} bytes"
    left = going.left_behind
    yield (
        f"To erase beside the tables: {going.answers:,} kept answers, samples of {going.samples:,} partitions, "
        f"{left.get('files_deleted', 0):,} files that nothing needs, quotes in {quotes:,} events of Dagster's log"
    )
    if left.get("attempts_ended"):
        yield f"Runs at work on these partitions, or killed ones: {left['attempts_ended']:,}; they cannot commit any more"
    for row in found.mixes.to_pylist():
        yield f"Mix {row['mix']} cannot be replayed any more at {row['positions']:,} positions"
    if going.still_held:
        yield f"Make again first: {', '.join(' '.join(place) for place in going.still_held)}"


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
