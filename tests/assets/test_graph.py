"""The asset graph is a golden file: a change of keys, edges, partitions or kinds shows in the diff of graph.json.

After a wanted change write it anew: python tests/assets/test_graph.py
"""

import json
import sys
from pathlib import Path
from typing import Any

import dagster as dg

GOLDEN = Path(__file__).with_name("graph.json")


def graph() -> dict[str, Any]:
    from definitions import all_assets

    return {asset.key.to_user_string(): describe(asset) for asset in all_assets()}


def describe(asset: dg.AssetsDefinition) -> dict[str, Any]:
    spec = next(iter(asset.specs))
    return {
        "group": spec.group_name,
        "inputs": sorted(dep.asset_key.to_user_string() for dep in spec.deps),
        "partitions": partitions(asset.partitions_def),
        "kinds": sorted(spec.kinds),
        "checks": sorted(check.name for check in asset.check_specs),
    }


def partitions(definition: dg.PartitionsDefinition | None) -> Any:
    if definition is None:
        return None
    if isinstance(definition, dg.MultiPartitionsDefinition):
        return {item.name: partitions(item.partitions_def) for item in definition.partitions_defs}
    if isinstance(definition, dg.DynamicPartitionsDefinition):
        return definition.name
    return list(definition.get_partition_keys())


def test_the_graph_is_the_golden_one() -> None:
    assert graph() == json.loads(GOLDEN.read_text(encoding="utf-8"))


def test_every_asset_says_what_it_is() -> None:
    from definitions import all_assets

    for asset in all_assets():
        spec = next(iter(asset.specs))
        stage, dataset, table = spec.key.path
        assert spec.description and len(spec.description) > 40, spec.key
        assert spec.owners and spec.code_version, spec.key
        assert spec.group_name == stage, spec.key
        assert spec.metadata["dagster/table_name"] == f"{stage}/{dataset}/{table}"
        assert (Path("assets") / stage / f"{dataset}.py").exists(), f"{spec.key} stands in a module of another name"


def test_nothing_reads_the_validation_split() -> None:
    assert "curated/web/validation" in graph()
    assert not [name for name, asset in graph().items() if any(key.endswith("/validation") for key in asset["inputs"])]


def test_the_definitions_load() -> None:
    from corpusmill.settings import load_settings
    from definitions import build
    from jobs.asset_graph import BESIDE_THE_WAY

    definitions = build(load_settings())
    dg.Definitions.validate_loadable(definitions)
    names = {schedule.name for schedule in definitions.schedules or ()}
    jobs = {job.name for job in definitions.jobs or () if job.name.split("_")[0] not in BESIDE_THE_WAY}
    assert {f"{name}_nightly" for name in jobs} == names, "every job of the way has a schedule"


if __name__ == "__main__":
    sys.path.insert(0, ".")
    GOLDEN.write_text(json.dumps(graph(), indent=1, sort_keys=True) + "\n", encoding="utf-8")
