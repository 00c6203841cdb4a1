"""What came of it: the summary of a lake for people, from the results that its commits kept."""

from collections.abc import Mapping
from typing import Any

from corpusmill.lake.tables import Lake
from corpusmill.settings import Settings
from jobs.run_step import Say

STAGES = ("sources", "curated", "synthesized", "tokenized", "mixed", "trained", "tuning")
Results = dict[str, dict[str, dict[str, Any]]]
"""Table -> partition -> kept result."""


def print_summary(settings: Settings, *, say: Say) -> None:
    """Print documents and tokens per stage, losses by reason, duplicates, acceptance, proportions and a first sequence."""
    lake = Lake(settings.lake)
    results = kept_results(lake)
    _print_stages(results, say)
    _print_losses(results, say)
    _print_acceptance(results, say)
    _print_shares(results, say)
    _print_first_sequence(settings, results, say)


def kept_results(lake: Lake) -> Results:
    """Return the kept result of every committed partition."""
    from corpusmill.tasks.task import kept_result

    tables = sorted(lake.tables(), key=lambda name: (STAGES.index(name.split("/")[0]), name))
    return {
        table: {name: kept_result(lake, table, name) for name in sorted(lake.partitions(table))} for table in tables
    }


def totals(partitions: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the counts of all partitions of a table, added up, with losses by reason."""
    losses: dict[str, int] = {}
    for result in partitions.values():
        for kind in ("dropped", "failed"):
            for reason, number in result["counts"][kind].items():
                losses[reason] = losses.get(reason, 0) + number
    return {
        "rows_in": sum(result["counts"]["rows_in"] for result in partitions.values()),
        "kept": sum(result["counts"]["kept"] for result in partitions.values()),
        "dropped": sum(sum(result["counts"]["dropped"].values()) for result in partitions.values()),
        "failed": sum(sum(result["counts"]["failed"].values()) for result in partitions.values()),
        "tokens": sum(result["metrics"].get("tokens", 0) for result in partitions.values()),
        "bytes": sum(result["num_bytes"] for result in partitions.values()),
        "seconds": sum(result["seconds"] for result in partitions.values()),
        "losses": losses,
    }


def _print_stages(results: Results, say: Say) -> None:
    say("")
    say(
        f"{'table':42} {'partitions':>10} {'in':>8} {'kept':>8} {'dropped':>8} {'failed':>7} {'tokens':>10} {'MB':>8} {'s':>7}"
    )
    for table, partitions in results.items():
        sums = totals(partitions)
        tokens = f"{sums['tokens']:,}" if sums["tokens"] else ""
        say(
            f"{table:42} {len(partitions):10d} {sums['rows_in']:8,} {sums['kept']:8,} {sums['dropped']:8,} "
            f"{sums['failed']:7,} {tokens:>10} {sums['bytes'] / 1e6:8.1f} {sums['seconds']:7.1f}"
        )


def _print_losses(results: Results, say: Say) -> None:
    for table, partitions in results.items():
        losses = totals(partitions)["losses"]
        if table.endswith("/documents") and losses:
            reasons = ", ".join(
                f"{reason} {number:,}" for reason, number in sorted(losses.items(), key=lambda it: -it[1])
            )
            say(f"\nNot in {table}: {reasons}")


def _print_acceptance(results: Results, say: Say) -> None:
    for table, partitions in results.items():
        if table.startswith("synthesized/") and table.endswith("/documents"):
            sums = totals(partitions)
            rate = sums["kept"] / sums["rows_in"] if sums["rows_in"] else 0.0
            say(f"Accepted in {table}: {sums['kept']} of {sums['rows_in']} ({rate:.0%})")


def _print_shares(results: Results, say: Say) -> None:
    for mix, result in results.get("mixed/mixtures/report", {}).items():
        say(f"\nMixture {mix}, shares of {result['metrics']['tokens']:,} tokens:")
        for row in result["tables"]["shares"]:
            say(
                f"  {row['component']:18} planned {row['planned_share']:7.2%}  realised {row['realised_share']:7.2%}  "
                f"epochs {row['epochs']:.2f}"
            )


def _print_first_sequence(settings: Settings, results: Results, say: Say) -> None:
    from assets.tokenization import TOKENIZER
    from corpusmill.mix.tokenize import decode_pieces
    from corpusmill.stream.loader import MixtureStream
    from corpusmill.tasks.tokenizer import tokenizer_file

    for mix in results.get("mixed/mixtures/plan", {}):
        stream = MixtureStream(settings.lake, mix)
        sample = next(iter(stream))
        texts = decode_pieces(
            sample.tokens,
            lengths=sample.lengths.tolist(),
            tokenizer_file=tokenizer_file(TOKENIZER, settings.state_folder),
        )
        say(f"\nThe stream of {mix} at position 0 ({len(texts)} documents, {len(sample.tokens)} tokens):")
        for piece, text in zip(stream.provenance(0).pieces, texts, strict=True):
            say(f"  {piece.doc_id}: {text[:160]!r}")
