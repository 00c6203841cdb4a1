"""The commands that trace: from a position of a mix back to its sources, and what a version, a mix or a run consists of."""

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from corpusmill.lake.tables import Lake


ACTIONS = ("withdraw", "erase")
MOST_DIGITS = 18
"""Of a position: what 64 bits hold."""


def explain_arguments(one: argparse.ArgumentParser) -> None:
    """Say where the tokens at a position of a mix came from: documents, parents, prompts, models, licences, verdicts, and
    the file and place that each source was read from.

    A position is one packed sequence, as a training step reads it. --token keeps to the document that has that token.
    Instead of a position --shard names a file of sequences, by the end of its path, and --offset a row in it.

    corpusmill explain main 12
    corpusmill explain main@0123456789abcdef 12 --token 700 --json
    corpusmill explain main --shard 000000-7f3a-web.parquet --offset 5
    """
    one.add_argument("mix", metavar="MIX", help="a mixture by name, or name@version")
    one.add_argument("position", metavar="POSITION", nargs="?", type=whole_number, help="counted from 0")
    one.add_argument("--shard", metavar="FILE", help="the end of the path of a file of sequences")
    one.add_argument("--offset", metavar="ROW", type=whole_number, help="a row of the shard, counted from 0")
    one.add_argument("--token", metavar="N", type=whole_number, help="only the document of this token of the sequence")
    one.add_argument("--json", action="store_true", help="all that is known, as one JSON object")


def explain(options: argparse.Namespace) -> None:
    from jobs.tracing import print_explanation

    by_row = options.shard is not None and options.offset is not None
    if (options.position is None) != by_row or (options.shard is None) != (options.offset is None):
        raise ValueError("wanted a POSITION, or --shard and --offset together; see corpusmill explain --help")
    print_explanation(
        open_lake(),
        options.mix,
        position=options.position,
        row=(options.shard, options.offset) if by_row else None,
        token=options.token,
        as_json=options.json,
    )


def licences_arguments(one: argparse.ArgumentParser) -> None:
    """Show every source licence and every teacher's licence that flows into a mix, in tokens as often as they are read.

    With --allow or --allow-teachers the exit code is 1 where the mix holds anything else, as the check of its report says.

    corpusmill licences main
    corpusmill licences main --allow MIT,Apache-2.0,CC-BY-4.0 --allow-teachers Apache-2.0
    """
    one.add_argument("mix", metavar="MIX", help="a mixture by name, or name@version")
    one.add_argument("--allow", metavar="SPDX,...", type=names, help="source licences that are allowed")
    one.add_argument("--allow-teachers", metavar="SPDX,...", type=names, help="licences of models that are allowed")
    one.add_argument("--json", action="store_true", help="one JSON object a row")


def licences(options: argparse.Namespace) -> int:
    from jobs.tracing import print_licences

    is_allowed = print_licences(
        open_lake(),
        options.mix,
        allowed=options.allow,
        allowed_teachers=options.allow_teachers,
        as_json=options.json,
    )
    return 0 if is_allowed else 1


def exposure_arguments(one: argparse.ArgumentParser) -> None:
    """Say how often a run meets documents: as they are, as near-duplicates, rephrased and translated, epoch by epoch.

    A run is a mix and the number of positions that it has read; without --positions it reads the mix to its end.

    corpusmill exposure main 3f0c7c1a9b5e4d2f8a6b1c0d9e8f7a6b
    corpusmill exposure main@0123456789abcdef 3f0c7c1a9b5e4d2f8a6b1c0d9e8f7a6b --positions 250000
    """
    one.add_argument("mix", metavar="MIX", help="a mixture by name, or name@version")
    one.add_argument("doc_ids", metavar="DOC_ID", nargs="+", help="documents, 32 hex digits each")
    one.add_argument("--positions", metavar="N", type=whole_number, help="how many positions the run has read")
    one.add_argument("--json", action="store_true", help="one JSON object a row")


def exposure(options: argparse.Namespace) -> None:
    from jobs.tracing import print_exposure

    print_exposure(
        open_lake(), options.mix, doc_ids=options.doc_ids, num_positions=options.positions, as_json=options.json
    )


def diff_arguments(one: argparse.ArgumentParser) -> None:
    """Show what two versions of a table differ in: rows added, removed and changed, why, and samples.

    A version is a tag, an id, or how many versions back: -1 is the one before the current. V2 is by default the current one.

    corpusmill diff curated/web/documents@-1
    corpusmill diff curated/web/documents@7325880416553113600 4125996213440712704
    """
    one.add_argument("table", metavar="TABLE@V1", help="a table and the older version")
    one.add_argument("after", metavar="V2", nargs="?", help="the newer version (default: the current one)")
    one.add_argument("--json", action="store_true", help="one JSON object")


def diff(options: argparse.Namespace) -> None:
    from jobs.tracing import print_difference

    table, _, before = options.table.partition("@")
    if not before:
        raise ValueError(f"wanted TABLE@V1, got {options.table!r}: {table}@-1 is the version before the current one")
    print_difference(open_lake(), table.strip("/"), before=before, after=options.after, as_json=options.json)


def forget_arguments(one: argparse.ArgumentParser) -> None:
    """Find what the lake holds of documents and of all that was made from them, keep it out of what is made from now on, and
    erase it.

    Without an action, and with --dry-run, it is only shown. `withdraw` writes removals that every later ingestion obeys and
    names the partitions to make again; older versions stay, and mixes that pin them replay. `erase`, once they are made again,
    takes the bytes out of all versions, of kept answers, samples and Dagster's event log; it cannot be undone, and mixes that
    read them refuse.

    corpusmill forget --url https://example.org/page
    corpusmill forget --url-file complaints.txt withdraw
    corpusmill forget --url-file complaints.txt erase --dry-run
    corpusmill forget --url-file complaints.txt erase --yes
    corpusmill forget --doc 3f0c7c1a9b5e4d2f8a6b1c0d9e8f7a6b --licence GPL-3.0-only withdraw
    """
    one.add_argument("action", metavar="ACTION", nargs="?", choices=ACTIONS, help=" or ".join(ACTIONS))
    one.add_argument("--url", metavar="URL", action="append", default=[], help="a page, in any spelling of its address")
    one.add_argument("--url-file", metavar="FILE", help="a file with a URL a line")
    one.add_argument("--doc", metavar="DOC_ID", action="append", default=[], help="a document, 32 hex digits")
    one.add_argument("--source", metavar="NAME", action="append", default=[], help="all documents of a source")
    one.add_argument("--licence", metavar="SPDX", action="append", default=[], help="all documents of a licence")
    one.add_argument("--dry-run", action="store_true", help="only show what is held, and what erasing takes away")
    one.add_argument("--yes", action="store_true", help="erase for good")
    one.add_argument("--json", action="store_true", help="what is held, as one JSON object")


def forget(options: argparse.Namespace) -> None:
    from corpusmill.settings import load_settings
    from corpusmill.trace.forget import Asked
    from jobs.forgetting import forget, read_urls

    urls = [*options.url, *(read_urls(options.url_file) if options.url_file else [])]
    forget(
        load_settings(),
        Asked(urls=urls, doc_ids=options.doc, sources=options.source, licences=options.licence),
        action=options.action,
        is_dry=options.dry_run,
        is_confirmed=options.yes,
        as_json=options.json,
    )


def open_lake() -> "Lake":
    """Return the lake of the settings; raises ValueError where there is none."""
    from corpusmill.lake.tables import Lake
    from corpusmill.settings import load_settings

    lake = Lake(load_settings().lake)
    lake.require()
    return lake


def whole_number(text: str) -> int:
    if not text.isdecimal() or len(text) > MOST_DIGITS:
        raise argparse.ArgumentTypeError(
            f"wanted a whole number of 0 or more, with {MOST_DIGITS} digits at most, got {text!r}"
        )
    return int(text)


def names(text: str) -> list[str]:
    found = [name.strip() for name in text.split(",") if name.strip()]
    if not found:
        raise argparse.ArgumentTypeError("names nothing")
    return found
