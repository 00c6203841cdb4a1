"""A classifier as an asset: it depends on every table that it learns from, once."""

import dagster as dg

from assets.curation_models import classifier_asset

PARAMETERS = {
    "examples": [
        {"table": "curated/stem/documents", "partition": "2024", "label": "lesson"},
        {"table": "curated/web/documents", "partition": "2024", "label": "web"},
    ],
    "reference": {"table": "curated/web/documents", "partition": "2025"},
    "training": {"positive": "lesson", "labels_license": "CC-BY-4.0"},
}


def test_a_classifier_depends_on_the_tables_of_its_examples():
    asset = classifier_asset("lesson", parameters=PARAMETERS)
    assert asset.key == dg.AssetKey(["curated", "lesson", "classifier"])
    assert asset.asset_deps[asset.key] == {
        dg.AssetKey(["curated", "stem", "documents"]),
        dg.AssetKey(["curated", "web", "documents"]),
    }
    assert asset.partitions_def is None
