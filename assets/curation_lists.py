"""What documents are held against: the items of benchmarks, and lists of domains, words and opt-outs. One table each.

They have no snapshots, as all snapshots of all datasets read them. Who wants them adds a module for each to
`assets/curated/`.
"""

import dagster as dg

from assets.asset import lake_asset
from assets.curation import ITEMS, URL_ENTRIES


def benchmark_assets() -> list[dg.AssetsDefinition]:
    """Return curated/benchmarks/items. Where the files lie and what their columns mean is a setting: [sources.benchmarks]."""
    return [
        lake_asset(
            ITEMS,
            task="benchmark_items",
            description="One row an item of a benchmark that must not be in training data. An item that cannot be read "
            "closes the gate, as it would pass.",
            deps=[],
            partitions_def=None,
            parameters={},
        )
    ]


def url_list_assets() -> list[dg.AssetsDefinition]:
    """Return curated/url_lists/entries. Where the files lie is a setting: [sources.url_lists]."""
    return [
        lake_asset(
            URL_ENTRIES,
            task="url_lists",
            description="One row an entry of the lists that URLs are held against: blocked domains, blocked words, opt-outs.",
            deps=[],
            partitions_def=None,
            parameters={},
        )
    ]
