"""A classifier as an asset: it depends on every table that it learns from, once; verdicts depend on it where named."""

import dagster as dg

from assets.curation import curated_assets
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


def test_verdicts_depend_on_the_classifiers_of_their_judge():
    found = {}
    for names in ([], ["lesson", "news"]):
        judge = {"judge": "web", "classifiers": names}
        assets = curated_assets("forum", extract={"method": "fast"}, judge=judge, dedup={}, max_removed_share=0.9)
        found[len(names)] = {asset.key.path[2]: asset.asset_deps[asset.key] for asset in assets}
    assert found[2].pop("verdicts") - found[0].pop("verdicts") == {
        dg.AssetKey(["curated", name, "classifier"]) for name in ("lesson", "news")
    }
    assert found[0] == found[2]
