"""What a person sees: headless Chromium opens the asset graph and an asset's page, and the text and the picture show the numbers.

Pictures are kept beside the test's temporary folder, for a person to look at.
"""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.jobs.live_instance import LiveInstance, wait_for
from tests.live.chromium import Page, chromium, chromium_binary
from tests.live.questions import metadata

pytestmark = [pytest.mark.browser, pytest.mark.dagster, pytest.mark.slow]


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    binary = chromium_binary()
    if binary is None:
        pytest.skip("no browser: install the Debian package chromium")
    with chromium(binary) as opened:
        yield opened


def is_drawn(picture: Path, box: dict[str, float]) -> bool:
    """Return whether the part of a box that a picture shows is not of one colour."""
    with Image.open(picture) as image:
        left, top, right, bottom = (round(box[side]) for side in ("left", "top", "right", "bottom"))
        shown = (max(left, 0), max(top, 0), min(right, image.width), min(bottom, image.height))
        assert shown[0] < shown[2] and shown[1] < shown[3], f"{box} is outside the picture"
        return len(np.unique(np.asarray(image.convert("L").crop(shown)))) > 1


def test_the_asset_graph_reads_as_the_way_of_the_data(live: LiveInstance, page: Page, tmp_path: Path) -> None:
    page.open(f"{live.instance.url}/asset-groups")
    stages = ("sources", "curated", "synthesized", "tokenized", "mixed")
    page.text_with("Global asset lineage", *stages)
    boxes = page.evaluate(BOXES_OF_GROUPS)
    assert sorted(stages, key=lambda stage: boxes[stage]["left"]) == list(stages), "from left to right"
    page.save_picture(tmp_path / "asset-graph.png")
    assert all(is_drawn(tmp_path / "asset-graph.png", boxes[stage]) for stage in stages)


BOXES_OF_GROUPS = """
Object.fromEntries([...document.querySelectorAll('foreignObject')].map(
    box => [box.textContent.trim(), box.getBoundingClientRect().toJSON()]))
"""


def test_the_page_of_an_asset_shows_what_it_is_and_its_numbers(
    live: LiveInstance, backfilled: subprocess.CompletedProcess[str], page: Page, tmp_path: Path
) -> None:
    page.open(f"{live.instance.url}/assets/curated/web/documents", height=2600)
    text = page.text_with("rows_in", "rows_kept", "rows_dropped", "sample", "funnel")
    assert "the dataset that everything later reads" in text
    for shown in ("Owners", "data", "Kinds", "Spark", "Iceberg", "text_hash", "curated_web"):
        assert shown in text, shown
    page.save_picture(tmp_path / "asset.png")
    assert is_drawn(tmp_path / "asset.png", page.evaluate(ROWS_OF_METADATA)["rows_kept"]["box"])
    page.evaluate("[...document.querySelectorAll('button')].find(one => one.innerText.trim() == 'Plots').click()")
    wait_for(lambda: page.evaluate("document.querySelectorAll('canvas').length") >= 5)
    assert "rows_kept" in page.text_with("Partition"), "a plot of each number over the partitions"


def test_the_page_of_a_partition_shows_numbers_sample_and_bars_at_once(
    live: LiveInstance, backfilled: subprocess.CompletedProcess[str], page: Page, tmp_path: Path
) -> None:
    page.open(f"{live.instance.url}/assets/curated/web/documents?view=partitions&partition=2024-10", height=1800)
    text = page.text_with("Materialized", "rows_in", "sample", "funnel", "█")
    numbers = metadata(live.instance, "curated/web/documents", "2024-10")
    rows = page.evaluate(ROWS_OF_METADATA)
    for name in ("rows_in", "rows_kept", "rows_dropped", "tokens_estimated"):
        assert rows[name]["text"] == str(numbers[name]), name
    assert "doc_id" in rows["sample"]["text"] and " ⏎ " in rows["sample"]["text"]
    kept, share = f"{numbers['rows_kept']:,}", f"{numbers['rows_kept'] / numbers['rows_in']:.0%}"
    assert rows["funnel"]["text"].split()[:4] == ["kept", kept, share, "████████████"]
    assert "[Show Markdown]" not in text
    page.save_picture(tmp_path / "partition.png")
    for name in ("rows_in", "rows_kept", "sample", "funnel"):
        assert is_drawn(tmp_path / "partition.png", rows[name]["box"]), name


ROWS_OF_METADATA = """
Object.fromEntries([...document.querySelectorAll('tr')].filter(row => row.cells.length > 1).map(row => {
    const value = row.cells[row.cells.length - 1].innerText.trim() ? row.cells[row.cells.length - 1] : row.cells[1]
    return [row.cells[0].innerText.trim(), {text: value.innerText.trim(), box: value.getBoundingClientRect().toJSON()}]
}))
"""
