"""Recipes ranked by what they accept for a device hour."""

from typing import Any

from corpusmill.settings import PriceSettings
from jobs.recipes import recipe_rows


def result(recipe: str, *, rows_in: int, kept: int, tokens: int, written: int, hours: float) -> dict[str, Any]:
    return {
        "counts": {"rows_in": rows_in, "kept": kept},
        "metrics": {"recipe": recipe, "accepted_tokens": tokens, "completion_tokens": written, "device_hours": hours},
    }


def test_the_recipe_that_gives_most_for_an_hour_comes_first() -> None:
    results = {
        "synthesized/web/documents": {
            "1|dear": result("web/dear", rows_in=10, kept=9, tokens=900, written=1000, hours=1.0),
            "1|cheap": result("web/cheap", rows_in=10, kept=2, tokens=200, written=2000, hours=0.1),
            "2|cheap": result("web/cheap", rows_in=10, kept=3, tokens=400, written=2000, hours=0.1),
        },
        "synthesized/stem/documents": {"1|es": result("stem/es", rows_in=4, kept=0, tokens=0, written=0, hours=0)},
        "synthesized/web/completions": {},
        "curated/web/documents": {"1": {"counts": {}, "metrics": {}}},
    }
    rows = recipe_rows(results, PriceSettings(device_hour=3.0))
    assert [(row["recipe"], row["accepted tokens/device hour"]) for row in rows] == [
        ("web/cheap", 3000),
        ("web/dear", 900),
        ("stem/es", 0),
    ]
    first = rows[0]
    assert (first["partitions"], first["seeds"], first["accepted"], first["accept rate"]) == (2, 20, 5, "25.0%")
    assert (first["of tokens written"], first["USD/million accepted"]) == ("15.0%", 1000.0)
    assert "USD/million accepted" not in rows[2]
