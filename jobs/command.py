"""The command line. What a command does stands elsewhere and is imported when it runs, so that --help is quick.

A user's mistake is a ValueError: its message, no stack trace, exit code 2. Work that failed exits with 1.
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from corpusmill.full_disk import told_full_disk
from jobs import export_command, trace_commands

if TYPE_CHECKING:
    from corpusmill.settings import Settings

ABOUT = """\
Corpusmill turns raw web, code and STEM text into pre-training mixtures and streams them into training.

Everything is a table in a lake, named stage/dataset/table, and an asset in Dagster's UI:

  sources/web/records ► curated/web/documents ► synthesized/web_rephrased/documents ► tokenized ► mixed/mixtures/plan
"""
FIRST_STEPS = """\
a first hour:
  corpusmill demo                                          the whole way on a sample, about ten minutes
  corpusmill dev                                           the UI, to look at what the demo made
  corpusmill status                                        every table with its partitions and rows
  corpusmill sql "select count(*) from curated.web.documents"
  corpusmill backfill --assets 'curated/*' --all --dry-run   what a larger run would take

Settings are read from ./corpusmill.toml, or the file that --settings or $CORPUSMILL_SETTINGS names.
"corpusmill COMMAND --help" explains a command.
"""
INTERRUPTED = 130
ENDING = "Ending: canceling the runs in flight, then ending the servers and the engines ..."


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code."""
    options = parser().parse_args(arguments)
    if options.settings:
        os.environ["CORPUSMILL_SETTINGS"] = str(Path(options.settings).absolute())
    sys.path.insert(0, os.getcwd())  # a definitions module of one's own
    run: Callable[[argparse.Namespace], int | None] = options.run
    try:
        return run(options) or 0
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output had enough, such as `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        told = _told(error)
        if told is None:
            raise
        print(f"corpusmill {options.command}: {told[0]}", file=sys.stderr)
        return told[1]


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    form = argparse.RawDescriptionHelpFormatter
    top = argparse.ArgumentParser(prog="corpusmill", description=ABOUT, epilog=FIRST_STEPS, formatter_class=form)
    top.add_argument(
        "--settings", metavar="FILE", help="a TOML file of settings (default: ./corpusmill.toml, if there)"
    )
    commands = top.add_subparsers(title="commands", dest="command", required=True, metavar="COMMAND")
    for name, (short, add_arguments, run) in COMMANDS.items():
        description = (add_arguments.__doc__ or "").replace("\n    ", "\n").strip()
        one = commands.add_parser(name, help=short, description=description, formatter_class=form)
        add_arguments(one)
        one.set_defaults(run=run)
    return top


def _demo_arguments(one: argparse.ArgumentParser) -> None:
    """Download the sample, run the whole way on it, and say what came of it.

    What is current is not run again: a second demo starts nothing. Interrupted or failed, the next one goes on.

    corpusmill demo
    corpusmill demo --small
    """
    one.add_argument("--small", action="store_true", help="a smaller sample, for slow machines and tests")


def _demo(options: argparse.Namespace) -> None:
    from jobs.demo import run
    from jobs.interruption import ends_on_interrupt

    settings = _settings_for_sources()
    with ends_on_interrupt(Path(settings.state_folder), then="the next `corpusmill demo` goes on from here."):
        run(settings, small=options.small, say=lambda line: print(line, flush=True))


def _dev_arguments(one: argparse.ArgumentParser) -> None:
    """Start Dagster's UI, its daemon (schedules, sensors, queue, backfills) and the code server, until Ctrl-C.

    Ctrl-C cancels the runs in flight and ends everything, the engines too unless others hold them. Logs and history are
    in the state folder.

    corpusmill dev
    corpusmill dev --port 3001
    """
    one.add_argument("--port", type=_port, default=3000, help="port of the UI (default 3000; 0 takes a free one)")
    one.add_argument("--host", default="127.0.0.1", help="address to listen on (default 127.0.0.1, this machine only)")
    _add_definitions(one)


def _dev(options: argparse.Namespace) -> None:
    from jobs.development import development
    from jobs.interruption import interrupted_by_signals

    settings = _settings_for_sources()
    print("Starting the code server, the UI and the daemon ...", flush=True)
    with (
        interrupted_by_signals(told=ENDING),
        development(settings, host=options.host, port=options.port, definitions=options.definitions) as running,
    ):
        print(f"The UI is at {running.url} (Ctrl-C ends it). Logs are in {running.home / 'output'}", flush=True)
        with suppress(KeyboardInterrupt):
            running.wait()


def _serve_arguments(one: argparse.ArgumentParser) -> None:
    """Serve the sequences of a mix by Arrow Flight, to training ranks that cannot read the lake, until Ctrl-C.

    Ranks open it with corpusmill.stream.flight_client.open_remote and give the token of $CORPUSMILL_STREAM_TOKEN, which an
    address that other machines reach requires. It keeps no state: killed and started again, ranks go on.

    corpusmill serve main
    corpusmill serve main@0123456789abcdef --host 0.0.0.0 --port 8815
    """
    one.add_argument("mix", help="name of the mix for its current version, or name@version")
    one.add_argument("--port", type=_port, default=8815, help="port (default 8815; 0 takes a free one)")
    one.add_argument("--host", default="127.0.0.1", help="address to listen on (default 127.0.0.1, this machine only)")


def _serve(options: argparse.Namespace) -> None:
    from corpusmill.stream.flight_server import serve

    serve(
        _settings().lake,
        options.mix,
        host=options.host,
        port=options.port,
        token=os.environ.get("CORPUSMILL_STREAM_TOKEN") or None,
        say=lambda line: print(line, flush=True),
    )


def _sql_arguments(one: argparse.ArgumentParser) -> None:
    """Run one DuckDB query over the lake's tables, which are read as the query needs them, never loaded whole.

    A query reads the lake and nothing else; rows leave it on standard output.

    corpusmill sql "show tables"
    corpusmill sql "describe curated.web.verdicts"
    corpusmill sql "select drop_reason, count(*) from curated.web.verdicts group by 1 order by 2 desc"
    corpusmill sql --format csv "select doc_id, url from curated.web.documents" > urls.csv
    """
    one.add_argument("query", help='the query; tables are named stage.dataset.table or "stage/dataset/table"')
    one.add_argument("--format", choices=("table", "csv", "json"), default="table", help="json is one object a line")
    one.add_argument("--limit", type=_positive, default=50, metavar="N", help="rows that a table shows (default 50)")
    one.add_argument(
        "--allow-failed-gate", action="store_true", help="read partitions whose gate failed too, to see what is in them"
    )


def _sql(options: argparse.Namespace) -> None:
    from jobs.inspection import print_query

    print_query(
        _settings(),
        query=options.query,
        form=options.format,
        most_rows=options.limit,
        allow_failed_gate=options.allow_failed_gate,
    )


def _materialize_arguments(one: argparse.ArgumentParser) -> None:
    """Make assets for one partition in this process and wait for it. Needs no daemon; the UI shows the run.

    Only the assets that are named are made. A new snapshot's folder, or a mixture, becomes a partition by being named.
    Ctrl-C ends the run and the engines that nobody else holds.

    corpusmill materialize --assets curated/web --partition 2024-10
    corpusmill materialize --assets sources/web/records,curated/web/extracted,curated/web/verdicts --partition 2024-10
    """
    one.add_argument(
        "--assets", required=True, type=_names, metavar="KEY,...", help="keys or folders of assets of one partition set"
    )
    one.add_argument("--partition", metavar="K", help="the partition to make; none for an asset without partitions")
    one.add_argument(
        "--again",
        action="store_true",
        help="also what is current, where files are damaged; name what is made from them too",
    )
    _add_definitions(one)


def _materialize(options: argparse.Namespace) -> None:
    from jobs.interruption import ends_on_interrupt
    from jobs.materialize import materialize

    settings = _settings_for_sources()
    with ends_on_interrupt(Path(settings.state_folder), then="the same command goes on from here."):
        materialize(
            settings,
            assets=options.assets,
            partition=options.partition,
            again=options.again,
            definitions=options.definitions,
            say=lambda line: print(line, flush=True),
        )


def _redecide_arguments(one: argparse.ArgumentParser) -> None:
    """Show what other thresholds would drop and keep, from the stored verdicts: no text is read, nothing is written.

    corpusmill redecide curated/web/verdicts --rules '{"min_words": 100}'

    Without --rules it compares with the rules that stand in the asset's module now. To have them, materialize the
    verdicts: where only thresholds changed, that reads no text either.
    """
    one.add_argument("table", metavar="TABLE", help="a table of verdicts, such as curated/web/verdicts")
    one.add_argument("--partition", metavar="K", help="one partition (default: all that are made)")
    one.add_argument("--rules", default="{}", metavar="JSON", help="thresholds by name, on top of the asset's own")
    _add_definitions(one)


def _redecide(options: argparse.Namespace) -> None:
    from jobs.redecide import print_preview, rules_from_json

    print_preview(
        _settings(),
        table=options.table,
        partition=options.partition,
        rules=rules_from_json(options.rules),
        definitions=options.definitions,
    )


def _explain_duplicate_arguments(one: argparse.ArgumentParser) -> None:
    """Say why a document was removed as a duplicate: the kept one, their exact Jaccard, the edges, and what they share.

    Of a document that stays it says which others were removed in its favour.

    corpusmill explain-duplicate 3f0c7c1a9b5e4d2f8a6b1c0d9e8f7a6b
    """
    one.add_argument("doc_id", metavar="DOC_ID", help="the document's id, 32 hex digits")
    one.add_argument("--dataset", metavar="D", help="its dataset, such as web (default: look in all)")


def _explain_duplicate(options: argparse.Namespace) -> None:
    from jobs.explain_duplicate import print_explanation

    print_explanation(_settings(), doc_id=options.doc_id, dataset=options.dataset)


def _status_arguments(one: argparse.ArgumentParser) -> None:
    """Show every table of the lake with its partitions, rows and gates, the engines with their leases, and the UI.

    `rows` are those that a partition holds; `in`, `kept`, `dropped` and `failed` what became of those it was made from.

    corpusmill status
    corpusmill --settings other.toml status
    """


def _status(options: argparse.Namespace) -> None:
    from jobs.inspection import print_status

    print_status(_settings())


def _recipes_arguments(one: argparse.ArgumentParser) -> None:
    """Rank the recipes of synthesis by what they accept for a device hour, over all snapshots.

    Accepted tokens are those of the answers behind accepted documents; the device time is that of all answers.

    corpusmill recipes
    """


def _recipes(options: argparse.Namespace) -> None:
    from jobs.recipes import print_recipes

    print_recipes(_settings())


def _backfill_arguments(one: argparse.ArgumentParser) -> None:
    """Run many partitions of many assets through the running instance, and follow them to the end.

    Assets run level by level: what others read comes first. A partition that fails holds back only what is made
    from it; the exit code is then 1, and the same command with --failed runs what failed or was canceled, and what is made
    from it.

    corpusmill backfill --assets curated/web --all
    corpusmill backfill --assets 'sources/*,curated/*' --partitions 2024-10..2024-30,2024-42 --dry-run
    corpusmill backfill --assets '*' --failed
    """
    one.add_argument(
        "--assets",
        required=True,
        type=_names,
        metavar="KEY,...",
        help="keys, folders (curated/web) or patterns ('curated/*/documents', '*')",
    )
    which = one.add_mutually_exclusive_group(required=True)
    which.add_argument(
        "--partitions",
        metavar="A..B,C",
        help="names, and ranges in the order of names; a snapshot's name stands for all its styles and languages",
    )
    which.add_argument("--all", action="store_true", help="every partition")
    which.add_argument("--failed", action="store_true", help="what failed or was canceled, and what is made from it")
    one.add_argument(
        "--dry-run", action="store_true", help="only say what would run, what is current, and what it would take"
    )
    one.add_argument("--url", help="the webserver (default: the one that `corpusmill dev` runs, else port 3000)")


def _backfill(options: argparse.Namespace) -> int:
    from jobs.backfill_command import backfill

    is_complete = backfill(
        _settings(),
        assets=options.assets,
        partitions=options.partitions,
        failed=options.failed,
        dry_run=options.dry_run,
        url=options.url,
    )
    return 0 if is_complete else 1


def _remove_arguments(one: argparse.ArgumentParser) -> None:
    """Remove a partition whose snapshot is gone, or that nobody wants, from all tables of its dataset.

    Says what goes and what stays; only --yes removes it. Versions that a mixture pins stay, and payloads of the source.

    corpusmill remove web 2024-10
    corpusmill remove web 2024-10 --yes
    """
    one.add_argument("dataset", metavar="DATASET", help="the dataset whose snapshot it is, such as web; or mixtures")
    one.add_argument("partition", metavar="K", help="the snapshot; all its styles and languages go with it")
    one.add_argument("--yes", action="store_true", help="do it")
    _add_definitions(one)


def _remove(options: argparse.Namespace) -> None:
    from jobs.removal import remove

    remove(
        _settings(),
        dataset=options.dataset,
        partition=options.partition,
        is_confirmed=options.yes,
        definitions=options.definitions,
        say=lambda line: print(line, flush=True),
    )


def _maintain_arguments(one: argparse.ArgumentParser) -> None:
    """Expire table versions that no mixture pins, and delete files that nothing refers to any more.

    corpusmill maintain
    corpusmill maintain --keep-snapshots-days 7
    """
    one.add_argument("--keep-snapshots-days", type=float, default=30.0, metavar="DAYS", help="default 30")
    one.add_argument(
        "--orphan-age-days", type=float, default=3.0, metavar="DAYS", help="default 3; more than the longest run"
    )


def _maintain(options: argparse.Namespace) -> None:
    from jobs.inspection import print_maintenance

    print_maintenance(
        _settings(),
        keep_snapshots_days=options.keep_snapshots_days,
        orphan_age_days=options.orphan_age_days,
    )


def _add_definitions(one: argparse.ArgumentParser) -> None:
    one.add_argument(
        "--definitions", default="definitions", metavar="MODULE", help="what to load (default: definitions)"
    )


def _settings() -> "Settings":
    from corpusmill.settings import load_settings

    return load_settings()


def _settings_for_sources() -> "Settings":
    """Return the settings, and say so when their sources stand in place of the sample's."""
    from jobs.sources import told_sources

    settings = _settings()
    if line := told_sources(settings):
        print(line, flush=True)
    return settings


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"wanted a whole number of 1 or more, got {text!r}")
    return int(text)


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65_535:
        raise argparse.ArgumentTypeError(f"wanted a port from 0 to 65535, got {text!r}")
    return int(text)


def _names(text: str) -> list[str]:
    names = [name.strip().strip("/") for name in text.split(",") if name.strip()]
    if not names:
        raise argparse.ArgumentTypeError("names no asset")
    return names


def _told(error: Exception) -> tuple[str, int] | None:
    """Return the line for an error and the exit code; None for a defect, which needs its stack trace."""
    if full := told_full_disk(error):
        return full, 1
    if isinstance(error, ValueError | OSError):
        return str(error), 2
    return (str(error), 1) if isinstance(error, RuntimeError) and _is_told(error) else None


def _is_told(error: RuntimeError) -> bool:
    """Whether a RuntimeError is one of ours, made for people to read, and not a defect."""
    return type(error).__module__.partition(".")[0] in ("corpusmill", "jobs")


Command = tuple[str, Callable[[argparse.ArgumentParser], None], Callable[[argparse.Namespace], int | None]]
COMMANDS: dict[str, Command] = {
    "demo": ("the whole way on a sample: pages to a streamed mixture", _demo_arguments, _demo),
    "dev": ("the Dagster UI and its daemon on this machine", _dev_arguments, _dev),
    "status": ("tables, partitions, rows; engines and who holds them", _status_arguments, _status),
    "sql": ("query any table", _sql_arguments, _sql),
    "explain-duplicate": (
        "why a document was removed as a duplicate",
        _explain_duplicate_arguments,
        _explain_duplicate,
    ),
    "explain": (
        "where the tokens at a position of a mix came from",
        trace_commands.explain_arguments,
        trace_commands.explain,
    ),
    "licences": (
        "licences of sources and teachers in a mix, by tokens",
        trace_commands.licences_arguments,
        trace_commands.licences,
    ),
    "exposure": (
        "how often a run meets documents and what was made from them",
        trace_commands.exposure_arguments,
        trace_commands.exposure,
    ),
    "diff": ("what two versions of a table differ in", trace_commands.diff_arguments, trace_commands.diff),
    "serve": ("a mix's sequences for ranks that cannot read the lake", _serve_arguments, _serve),
    "export": (
        "a stretch of a mix as files for Megatron or mosaicml",
        export_command.export_arguments,
        export_command.export,
    ),
    "forget": (
        "find documents and what was made from them, and keep them out",
        trace_commands.forget_arguments,
        trace_commands.forget,
    ),
    "recipes": ("recipes by accepted tokens a device hour", _recipes_arguments, _recipes),
    "redecide": ("what other thresholds would drop and keep", _redecide_arguments, _redecide),
    "materialize": ("make assets for one partition, here and now", _materialize_arguments, _materialize),
    "backfill": ("make many partitions through the running instance", _backfill_arguments, _backfill),
    "remove": ("take a snapshot out of all its tables", _remove_arguments, _remove),
    "maintain": ("expire old versions, delete files nothing needs", _maintain_arguments, _maintain),
}

if __name__ == "__main__":
    sys.exit(main())
