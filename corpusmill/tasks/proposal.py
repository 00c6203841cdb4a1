"""trained/<proxies>/proposal: weights that the proxies' scores speak for, one row a component.

Parameters:

    weights_file, scores_file    two CSV files below [sources.<proxies>]: weights and scores of each run
    columns                      fields of ProxyColumns: how their columns are named
    wish                         fields of Wish: prior, pull to it, importances, bounds, epoch caps
    tables, budget_tokens        table of sequences by component, and what is to be trained on: with both, no component is
                                 proposed more than its epoch cap allows
    min_spearman                 rank correlation that left-out proxies must be predicted with (0.5), a median over capabilities

One gate asks for proxies enough, another for surrogates that rank proxies which they have not seen.
"""

import io
import statistics
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from pyarrow import csv

from corpusmill.counts import Counts
from corpusmill.lake.tables import Attempt
from corpusmill.mix.optimise import Proposal, Wish, propose
from corpusmill.mix.proxies import Proxies, ProxyColumns, proxies_from_tables
from corpusmill.mix.proxy_design import LEAST_PER_COMPONENT
from corpusmill.stream.inventory import read_inventory
from corpusmill.tasks.list_files import list_files
from corpusmill.tasks.task import Gate, Job, Outcome, partition_writer

PROPOSAL = pa.schema(
    [
        pa.field("component", pa.string(), nullable=False),
        pa.field("prior", pa.float64(), nullable=False),
        pa.field("weight", pa.float64(), nullable=False),
        pa.field("lower", pa.float64(), nullable=False),
        pa.field("upper", pa.float64(), nullable=False),
        pa.field("epochs", pa.float64()),
    ]
)
"""`lower` and `upper` are the bounds that the weight was sought in; `epochs` is null without a budget."""
_FILES = ("weights_file", "scores_file")


def table(dataset: str) -> str:
    return f"trained/{dataset}/proposal"


def schema(parameters: Mapping[str, Any]) -> pa.Schema:
    return PROPOSAL


def inputs(job: Job) -> dict[str, Any]:
    read = [file for file in list_files(job) if file["key"] in [job.parameters[name] for name in _FILES]]
    return {"files": read, "tokens": _tokens(job)}


def run(job: Job, attempt: Attempt) -> Outcome:
    wish = Wish.from_json(job.parameters["wish"])
    proxies = proxies_from_tables(
        *(_read(job, job.parameters[name]) for name in _FILES),
        components=list(wish.prior),
        columns=ProxyColumns(**job.parameters.get("columns", {})),
    )
    tokens = _tokens(job)
    job.report(f"{len(proxies)} proxies of {len(proxies.components)} components", {})
    made = propose(proxies, wish, tokens=tokens, budget_tokens=job.parameters.get("budget_tokens"))
    rows = _rows(made, {} if tokens is None else _epochs(made, tokens, job.parameters["budget_tokens"]))
    with partition_writer(job, attempt, name="proposal") as writer:
        writer.write(pa.Table.from_pylist(rows, schema=PROPOSAL))
    return Outcome(
        files=writer.files,
        counts=Counts(rows_in=len(rows), kept=len(rows)),
        metrics=_metrics(made, len(proxies)),
        tables={
            "proposed": [{**row, "change": row["weight"] - row["prior"]} for row in rows],
            "gains_and_losses": _changes(made),
        },
        listings={"left_out": _left_out(made)},
        gates=_gates(job, proxies, made),
    )


def _read(job: Job, key: str) -> pa.Table:
    """Return a CSV file below the source; ValueError says what is there, or what is wrong with it."""
    keys = [file["key"] for file in list_files(job)]
    if key not in keys:
        raise ValueError(
            f"there is no {key} below {job.settings.source(job.dataset).uri}, got {', '.join(keys[:5]) or 'no file'}"
        )
    try:
        return csv.read_csv(io.BytesIO(job.settings.source_store(job.dataset).read(key)))
    except pa.ArrowInvalid as error:
        raise ValueError(f"{key} is no CSV file: {error}") from error


def _tokens(job: Job) -> dict[str, int] | None:
    """Return how many tokens each component has, where a budget makes it matter."""
    if job.parameters.get("budget_tokens") is None:
        return None
    tables = job.parameters["tables"]
    inventory = read_inventory(job.lake, tables.values())
    found = {name: sum(pin.num_tokens for pin in inventory.select(held, None)) for name, held in tables.items()}
    if empty := [f"{name} ({tables[name]})" for name, tokens in found.items() if not tokens]:
        raise ValueError(
            f"no weight can be proposed for components without any token: {', '.join(empty)}; leave them out"
        )
    return found


def _weights(made: Proposal) -> dict[str, float]:
    return {name: float(weight) for name, weight in zip(made.components, made.weights_C, strict=True)}


def _epochs(made: Proposal, tokens: Mapping[str, int], budget_tokens: int) -> dict[str, float]:
    return {name: weight * budget_tokens / tokens[name] for name, weight in _weights(made).items()}


def _rows(made: Proposal, epochs: Mapping[str, float]) -> list[dict[str, Any]]:
    columns = (made.prior_C, made.weights_C, made.bounds.lower_C, made.bounds.upper_C)
    return [
        {
            "component": name,
            **dict(zip(("prior", "weight", "lower", "upper"), map(float, numbers), strict=True)),
            "epochs": epochs.get(name),
        }
        for name, *numbers in zip(made.components, *columns, strict=True)
    ]


def _changes(made: Proposal) -> list[dict[str, Any]]:
    """Return a row a capability, the largest loss first."""
    rows = [
        {
            "capability": one.capability,
            "at_prior": one.at_prior,
            "at_proposal": one.at_proposal,
            "gain": one.gain,
            "left_out_error": one.error,
            "verdict": one.verdict,
            "surrogate": one.surrogate,
        }
        for one in made.changes
    ]
    return sorted(rows, key=lambda row: row["gain"])


def _left_out(made: Proposal) -> list[dict[str, Any]]:
    return [
        {
            "capability": one.capability,
            "surrogate": one.surrogate,
            "error": round(one.error, 6),
            "error_share": round(one.error_share, 4),
            "spearman": round(one.spearman, 4),
        }
        for one in made.left_out
    ]


def _metrics(made: Proposal, num_proxies: int) -> dict[str, float | int | str]:
    verdicts = [one.verdict for one in made.changes]
    return {
        "proxies": num_proxies,
        "mean_gain": round(made.mean_gain, 6),
        "divergence": round(made.divergence, 6),
        "gains": verdicts.count("gain"),
        "losses": verdicts.count("loss"),
        "within_error": verdicts.count("within error"),
        **{f"proposed/{name}": round(weight, 6) for name, weight in _weights(made).items()},
    }


def _gates(job: Job, proxies: Proxies, made: Proposal) -> dict[str, Gate]:
    least = LEAST_PER_COMPONENT * len(proxies.components)
    chosen = {(one.capability, one.surrogate) for one in made.changes}
    ranked = [one.spearman for one in made.left_out if (one.capability, one.surrogate) in chosen]
    median, wanted = statistics.median(ranked), float(job.parameters.get("min_spearman", 0.5))
    return {
        "proxies": Gate(
            passed=len(proxies) >= least,
            message=f"{len(proxies)} proxies for {len(proxies.components)} components, at least {least} are wanted",
            numbers={"proxies": len(proxies)},
        ),
        "ranking": Gate(
            passed=median >= wanted,
            message=f"proxies left out are ranked with a Spearman of {median:.3f} (median over capabilities), at least "
            f"{wanted:g} is wanted; train more proxies, or longer ones",
            numbers={"spearman": round(median, 4)},
        ),
    }
