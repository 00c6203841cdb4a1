"""One lake table as a Dagster asset: how a task becomes an asset, and what every asset shows.

Metadata scalars are flat and named alike in every asset, so that they plot over partitions: rows_in, rows_kept,
rows_dropped, rows_failed, drop/<reason>, fail/<reason>, bytes, seconds, and what the task measured.
"""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg

from assets.plots import PLOTS
from assets.tables import bar_table, row_table
from corpusmill.fingerprint import work_version

OWNERS = ["team:data"]
KINDS = {
    "records": {"python", "iceberg"},
    "requests": {"ray", "iceberg"},
    "completions": {"ray", "vllm", "iceberg"},
    "sequences": {"spark", "iceberg"},
    "plan": {"python", "iceberg"},
    "report": {"python", "iceberg"},
    "design": {"python", "iceberg"},
    "proposal": {"python", "iceberg"},
    "classifier": {"python", "iceberg"},
    "items": {"python", "iceberg"},
    "entries": {"python", "iceberg"},
    "urls": {"python", "iceberg"},
    "url_versions": {"python", "iceberg"},
    "span_index": {"python", "iceberg"},
    "cpu": {"vllm", "iceberg"},
    "cuda": {"vllm", "iceberg"},
}
"""By table; every other table is curated by Spark."""
UNPARTITIONED = "all"
AGAIN = "corpusmill/again"
"""A run with this tag makes its partitions anew although nothing changed, for files that are damaged."""


def lake_asset(
    key: Sequence[str],
    *,
    task: str,
    description: str,
    deps: Sequence[Sequence[str] | dg.AssetDep],
    partitions_def: dg.PartitionsDefinition | None,
    parameters: Mapping[str, Any] | Mapping[str, Mapping[str, Any]],
) -> dg.AssetsDefinition:
    """Return the asset of one table: `key` is (stage, dataset, table) and `task` the module of corpusmill.tasks.

    `parameters` decide the bytes. Where partitions have a variant (style or language) they hold one entry a variant
    under `variants`; a task gets its variant's entry only.
    """
    stage, dataset, table = key

    @dg.asset(
        key=list(key),
        group_name=stage,
        deps=[dep if isinstance(dep, dg.AssetDep) else dg.AssetKey(list(dep)) for dep in deps],
        partitions_def=partitions_def,
        description=description,
        kinds=KINDS.get(table, {"spark", "iceberg"}),
        owners=OWNERS,
        code_version=code_version(task, parameters),
        check_specs=check_specs(key, partitions_def),
        metadata={
            "dagster/table_name": "/".join(key),
            "task": task,
            "parameters": dg.MetadataValue.json(dict(parameters)),
        },
        required_resource_keys={"mill", "launcher"},
    )
    def materialize(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
        partition = UNPARTITIONED if partitions_def is None else context.partition_key
        try:
            own = partition_parameters(parameters, partition)
        except ValueError as error:
            raise dg.Failure(str(error), allow_retries=False) from None
        arguments = context.resources.mill.arguments(
            dataset=dataset, partition=str(partition), parameters=own, again=AGAIN in context.run.tags
        )
        result = context.resources.launcher.launch(context, task, arguments)
        return materialize_result(result)

    return materialize


CHECKS = {
    "rows_accounted_for": "rows in = kept + dropped(reason) + failed(reason)",
    "gates": "every gate of the partition held before its commit; readers refuse it otherwise",
}


def check_specs(key: Sequence[str], partitions_def: dg.PartitionsDefinition | None) -> list[dg.AssetCheckSpec]:
    """Return CHECKS as checks of an asset, with a result for each partition."""
    with warnings.catch_warnings():
        # Dagster 1.13 calls the partitions of checks a preview.
        warnings.simplefilter("ignore", dg.PreviewWarning)
        return [
            dg.AssetCheckSpec(name, asset=list(key), description=about, blocking=True, partitions_def=partitions_def)
            for name, about in CHECKS.items()
        ]


def code_version(task: str, parameters: Mapping[str, Any]) -> str:
    """Return what names an asset's code: the task's own sources and its parameters."""
    return work_version(f"corpusmill.tasks.{task}", parameters)


def partition_parameters(parameters: Mapping[str, Any], partition: str) -> dict[str, Any]:
    """Return the parameters of one partition: those of its variant where partitions have one.

    A partition with a variant is named by both dimensions, joined by `|`; only one of the two is a variant.
    """
    if "variants" not in parameters:
        return dict(parameters)
    found = [name for name in str(partition).split("|") if name in parameters["variants"]]
    if not found:
        raise ValueError(
            f"partition {partition!r} names none of {', '.join(sorted(parameters['variants']))}; "
            "add what it should be to the asset's module, or remove the partition"
        )
    variant = found[0]
    shared = {name: value for name, value in parameters.items() if name != "variants"}
    return {**shared, **parameters["variants"][variant], "variant": variant}


def materialize_result(result: Mapping[str, Any]) -> dg.MaterializeResult:
    """Return a task's result as Dagster sees it: metadata, checks and the partition's content hash as data version."""
    return dg.MaterializeResult(
        metadata={**scalars(result), **shown(result)},
        data_version=dg.DataVersion(result["content_hash"]),
        check_results=checks(result),
    )


def scalars(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the flat numbers of a result."""
    counts = result["counts"]
    rows = {
        "rows_in": counts["rows_in"],
        "rows_kept": counts["kept"],
        "rows_dropped": sum(counts["dropped"].values()),
        "rows_failed": sum(counts["failed"].values()),
        "bytes": result["num_bytes"],
        "seconds": result["seconds"],
        **({"cost": result["cost"]} if "cost" in result else {}),
    }
    drops = {f"drop/{reason}": number for reason, number in counts["dropped"].items()}
    failures = {f"fail/{reason}": number for reason, number in counts["failed"].items()}
    gates = {
        f"gate/{name}/{label}": number
        for name, gate in result["gates"].items()
        for label, number in gate["numbers"].items()
    }
    return {
        "dagster/row_count": result["num_rows"],
        "dagster/partition_row_count": result["num_rows"],
        **rows,
        **drops,
        **failures,
        **gates,
        **result["metrics"],
    }


def shown(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return what people look at: schema, a sample, small tables and a bar for each way that rows went."""
    columns = [dg.TableColumn(name=name, type=kind) for name, kind in result["columns"]]
    view: dict[str, Any] = {
        "dagster/column_schema": dg.TableSchema(columns=columns),
        "dagster/table_name": result["table"],
        "reused": result["reused"],
        "work": result["work"],
    }
    if result["samples"]:
        view["sample"] = dg.MetadataValue.md(row_table(result["samples"]))
    for title, rows in result["tables"].items():
        if rows:
            view[title] = dg.MetadataValue.md(PLOTS.get(title, row_table)(rows))
    for title, rows in result["listings"].items():
        if rows:
            view[title] = dg.MetadataValue.table([dg.TableRecord(dict(row)) for row in rows])
    losses = {**result["counts"]["dropped"], **result["counts"]["failed"]}
    if losses:
        view["funnel"] = dg.MetadataValue.md(bar_table({"kept": result["counts"]["kept"], **losses}))
    return view


def checks(result: Mapping[str, Any]) -> list[dg.AssetCheckResult]:
    """Return the results of CHECKS."""
    counts = result["counts"]
    lost = counts["rows_in"] - counts["kept"] - sum(counts["dropped"].values()) - sum(counts["failed"].values())
    broken = {name: gate["message"] for name, gate in result["gates"].items() if not gate["passed"]}
    return [
        dg.AssetCheckResult(
            check_name="rows_accounted_for",
            passed=lost == 0,
            metadata={"rows_in": counts["rows_in"], "rows_kept": counts["kept"], "rows_unaccounted": lost},
        ),
        dg.AssetCheckResult(
            check_name="gates",
            passed=not broken,
            metadata={name: gate["message"] for name, gate in result["gates"].items()},
            description="; ".join(f"{name}: {message}" for name, message in broken.items()) or None,
        ),
    ]
