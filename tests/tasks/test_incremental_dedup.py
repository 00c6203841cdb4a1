"""A later snapshot changes no decision about an earlier one: what was made of the earlier one stays current."""

from pathlib import Path

from corpusmill.lake.tables import Lake
from corpusmill.settings import settings_from_table
from corpusmill.tasks.task import execute, is_current

WORDS = [
    "the",
    "river",
    "carries",
    "small",
    "boats",
    "under",
    "seven",
    "old",
    "bridges",
    "while",
    "children",
    "on",
    "either",
    "bank",
    "count",
    "them",
    "and",
    "wave",
]


def page(*changed: int) -> str:
    """Return the page with some of its words replaced."""
    return " ".join("other" if number in changed else word for number, word in enumerate(WORDS))


def test_the_earlier_snapshot_stays_current(tmp_path: Path) -> None:
    snapshots = {"2024": [page(), page(1)], "2025": [page(2), page(9)]}
    for name, pages in snapshots.items():
        folder = tmp_path / "stem" / name
        folder.mkdir(parents=True)
        (folder / "a.jsonl").write_text("".join(f'{{"text": "{text}"}}\n' for text in pages), encoding="utf-8")
    settings = settings_from_table(
        {"spark": {"engine": "plain"}, "sources": {"stem": {"uri": "stem", "format": "jsonl"}}}, base=tmp_path
    )
    rules = {"languages": [], "min_formulas": 0, "min_words": 1}
    dedup = {"shingle": "word", "shingle_size": 1, "num_bands": 40, "rows_per_band": 1}

    def arguments(partition: str, **parameters: object) -> dict[str, object]:
        return {"settings": settings.to_json(), "dataset": "stem", "partition": partition, "parameters": parameters}

    duplicates = {name: arguments(name, max_removed_share=1.0) for name in snapshots}
    for name in snapshots:
        for task, given in (
            ("records", arguments(name)),
            ("extract", arguments(name, method="plain")),
            ("judge", arguments(name, judge="stem", rules=rules)),
            ("sign", arguments(name, **dedup)),
            ("resolve", arguments("all", **dedup)),
            ("duplicates", duplicates[name]),
        ):
            execute(task, given, lambda message, numbers: None)
    lake = Lake(settings.lake)
    assert lake.read("curated/stem/resolution")["snapshot"].to_pylist().count("2025") == 2
    assert lake.read("curated/stem/duplicates", partitions=["2024"]).num_rows == 1
    assert is_current("duplicates", duplicates["2024"])
    assert is_current("duplicates", duplicates["2025"])
