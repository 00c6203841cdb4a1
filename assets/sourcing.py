"""The sources stage of one dataset: a partition a snapshot, one asset that says what lies where."""

import dagster as dg

from assets.asset import lake_asset
from assets.partitions import snapshots


def source_assets(dataset: str, *, description: str, may_fail_whole: bool = False) -> list[dg.AssetsDefinition]:
    """Return sources/<dataset>/records. Where the files lie is a setting: [sources.<dataset>].

    A snapshot of which all records fail does not pass its gate, unless it `may_fail_whole`.
    """
    return [
        lake_asset(
            ("sources", dataset, "records"),
            task="records",
            description=f"{description}\n\nOne row a record: file, offset, length, URL, declared language and licence. "
            "A record that cannot be read stays as a row with its failure.",
            deps=[],
            partitions_def=snapshots(dataset),
            parameters={"may_fail_whole": True} if may_fail_whole else {},
        )
    ]
