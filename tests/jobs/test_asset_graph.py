"""What a backfill selects and in which order it runs."""

import pytest

from jobs.asset_graph import AssetNode, PartitionRange, inputs_of, levels, select_assets, select_partitions

SNAPSHOTS = ("2024-30", "2024-10", "2024-20")
STYLED = tuple(f"{snapshot}|{style}" for snapshot in SNAPSHOTS for style in ("plain", "rhyme"))


def node(key: str, *upstream: str, partition_set: str = "web", partitions: tuple[str, ...] = SNAPSHOTS) -> AssetNode:
    return AssetNode(key=key, upstream=upstream, partition_set=partition_set, partitions=partitions)


GRAPH = {
    one.key: one
    for one in [
        node("sources/web/records"),
        node("curated/web/signatures", "sources/web/records"),
        node("curated/web/resolution", "curated/web/signatures", partition_set="", partitions=("",)),
        node("curated/web/documents", "curated/web/signatures", "curated/web/resolution"),
        node("synthesized/web/requests", "curated/web/documents", partition_set="style x web", partitions=STYLED),
        node("mixed/mixtures/plan", "synthesized/web/requests", partition_set="mixtures", partitions=("m1",)),
        node("sources/code/records", partition_set="code", partitions=("lxml-5",)),
    ]
}


def ranges(*texts: str) -> list[PartitionRange]:
    return [PartitionRange.parse(text) for text in texts]


@pytest.mark.parametrize(
    ("pattern", "chosen"),
    [
        ("curated/web/documents", ["curated/web/documents"]),
        ("curated/web", ["curated/web/signatures", "curated/web/resolution", "curated/web/documents"]),
        ("sources", ["sources/web/records", "sources/code/records"]),
        ("*/web/re*", ["sources/web/records", "curated/web/resolution", "synthesized/web/requests"]),
        ("*", list(GRAPH)),
    ],
)
def test_assets_are_chosen_by_key_folder_or_pattern(pattern, chosen):
    assert select_assets(GRAPH, [pattern]) == chosen


def test_what_stands_beside_the_way_is_made_only_when_it_is_named():
    graph = [*GRAPH, "tuning/smollm2/cpu"]
    assert select_assets(graph, ["*"]) == select_assets(graph, ["*/*/*"]) == list(GRAPH)
    assert select_assets(graph, ["tuning"]) == select_assets(graph, ["tuning/*"]) == ["tuning/smollm2/cpu"]


def test_an_unknown_asset_lists_near_names():
    with pytest.raises(
        ValueError, match=r"no asset or folder is named 'curated/web/document'; did you mean curated/web/documents"
    ):
        select_assets(GRAPH, ["curated/web/document"])


def test_a_range_is_in_the_order_of_names_whatever_the_order_of_the_set():
    work = select_partitions(GRAPH, ["sources/web/records"], ranges("2024-10..2024-20"))
    assert work == {"sources/web/records": ("2024-10", "2024-20")}


def test_a_snapshot_stands_for_all_its_styles_and_a_full_name_for_one():
    key = "synthesized/web/requests"
    assert select_partitions(GRAPH, [key], ranges("2024-10")) == {key: ("2024-10|plain", "2024-10|rhyme")}
    assert select_partitions(GRAPH, [key], ranges("2024-10|rhyme")) == {key: ("2024-10|rhyme",)}
    assert select_partitions(GRAPH, [key], ranges("rhyme")) == {
        key: ("2024-30|rhyme", "2024-10|rhyme", "2024-20|rhyme")
    }


def test_an_asset_without_partitions_always_runs():
    keys = ["curated/web/resolution", "curated/web/documents"]
    work = select_partitions(GRAPH, keys, ranges("2024-10"))
    assert work == {"curated/web/resolution": ("",), "curated/web/documents": ("2024-10",)}


def test_an_unknown_partition_lists_near_names():
    with pytest.raises(
        ValueError, match=r"no partition is named '2024-11' in curated/web/documents; did you mean 2024-10"
    ):
        select_partitions(GRAPH, ["curated/web/documents"], ranges("2024-11"))


def test_an_asset_that_has_none_of_the_partitions_is_said_and_not_left_out_in_silence():
    with pytest.raises(ValueError, match="sources/code/records has none of these partitions; it has lxml-5"):
        select_partitions(GRAPH, ["sources/web/records", "sources/code/records"], ranges("2024-10"))


@pytest.mark.parametrize("text", ["", "..b", "a..", "b..a"])
def test_a_range_that_says_nothing_is_refused(text):
    with pytest.raises(ValueError, match=r"wanted a partition or a range|is empty"):
        PartitionRange.parse(text)


def test_all_leaves_out_what_has_no_partitions_and_what_sees_only_such():
    empty = {
        "sources/code/records": node("sources/code/records", partition_set="code", partitions=()),
        "curated/code/resolution": node(
            "curated/code/resolution", "sources/code/records", partition_set="", partitions=("",)
        ),
    }
    graph = {**GRAPH, **empty}
    keys = ["sources/web/records", *empty]
    assert select_partitions(graph, keys, None) == {"sources/web/records": SNAPSHOTS}
    with pytest.raises(ValueError, match="no partitions yet"):
        select_partitions(graph, list(empty), None)


def test_levels_hold_what_one_run_can_make_and_follow_the_graph():
    assert levels(GRAPH, GRAPH) == [
        [["sources/code/records"], ["sources/web/records", "curated/web/signatures"]],
        [["curated/web/resolution"]],
        [["curated/web/documents"]],
        [["synthesized/web/requests"]],
        [["mixed/mixtures/plan"]],
    ]


def test_levels_keep_the_order_across_assets_that_are_not_chosen():
    assert levels(GRAPH, ["curated/web/documents", "sources/web/records"]) == [
        [["sources/web/records"]],
        [["curated/web/documents"]],
    ]


def test_what_has_no_partitions_runs_alone_so_that_a_failure_is_its_own():
    whole = {"partition_set": "", "partitions": ("",)}
    graph = {
        one.key: one
        for one in [
            node("sources/web/records"),
            node("curated/benchmarks/items", **whole),
            node("curated/url_lists/entries", **whole),
            node("curated/lesson/classifier", "curated/benchmarks/items", **whole),
            node("curated/web/contamination", "sources/web/records", "curated/benchmarks/items"),
        ]
    }
    assert levels(graph, graph) == [
        [["curated/benchmarks/items"], ["curated/url_lists/entries"], ["sources/web/records"]],
        [["curated/lesson/classifier"], ["curated/web/contamination"]],
    ]


@pytest.mark.parametrize(
    ("key", "partition", "upstream", "read"),
    [
        ("curated/web/documents", "2024-10", "curated/web/signatures", ("2024-10",)),
        ("synthesized/web/requests", "2024-10|rhyme", "curated/web/documents", ("2024-10",)),
        ("curated/web/resolution", "", "curated/web/signatures", SNAPSHOTS),
        ("curated/web/documents", "2024-10", "curated/web/resolution", ("",)),
        ("mixed/mixtures/plan", "m1", "synthesized/web/requests", STYLED),
    ],
)
def test_inputs_share_a_name_or_are_all(key, partition, upstream, read):
    assert inputs_of(GRAPH, key, partition, upstream) == read
