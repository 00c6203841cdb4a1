"""A dataset that asks for repeated spans has their tables in front of its documents."""

import dagster as dg
import pytest

from assets.curation import curated_assets

GIVEN = {"extract": {}, "judge": {"judge": "stem"}, "dedup": {}, "max_removed_share": 0.5}


def specs(**asked: object) -> dict[str, dg.AssetSpec]:
    assets = curated_assets("books", **GIVEN, **asked)  # type: ignore[arg-type]
    return {asset.key.path[-1]: next(iter(asset.specs)) for asset in assets}


def inputs(spec: dg.AssetSpec) -> set[str]:
    return {dep.asset_key.path[-1] for dep in spec.deps}


def test_nothing_more_where_nothing_is_asked() -> None:
    found = specs()
    assert "repeated_spans" not in found
    assert found["documents"].metadata["parameters"].value == {}


def test_the_index_stands_between_anchors_and_spans() -> None:
    found = specs(drops={"repeated_spans": {"min_bytes": 400, "action": "flag"}})
    assert found["span_index"].partitions_def is None
    assert inputs(found["span_index"]) == {"span_anchors"}
    assert inputs(found["repeated_spans"]) == {"extracted", "span_anchors", "span_index"}
    assert "repeated_spans" in inputs(found["documents"])
    assert found["span_anchors"].metadata["parameters"].value == {"min_bytes": 400}
    assert found["repeated_spans"].metadata["parameters"].value == {"min_bytes": 400, "max_contexts": 64}
    policy = {"repeated_spans": {"action": "flag", "min_kept_characters": 200}}
    assert found["documents"].metadata["parameters"].value == policy


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"action": "drop"}, "repeated spans are to cut or flag, got 'drop'"),
        ({"min_kept_characters": -1}, "min_kept_characters must be at least 0, got -1"),
        ({"minimum": 500}, "unknown policy of repeated spans: minimum"),
    ],
)
def test_what_cannot_be_asked_is_refused(asked: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        specs(drops={"repeated_spans": asked})
