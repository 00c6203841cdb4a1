"""Runs datatrove's four filters; started with the python of datatrove's own environment, so nothing of ours is imported.

    python datatrove_filters.py texts.parquet answers.json

`texts.parquet` has columns `language` (ISO 639-3), `stop_words`, `is_timed` and `text`. The answer holds, for each text,
what each filter says to it (null keeps it), and the CPU seconds that the four took in a row on the texts that are timed,
stopping at the first that drops. FineWeb's filter sees the lines that C4's leaves, as in FineWeb's own order.
"""

import json
import sys
import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import pyarrow.parquet as pq
from datatrove.data import Document
from datatrove.pipeline.filters import (
    C4QualityFilter,
    FineWebQualityFilter,
    GopherQualityFilter,
    GopherRepetitionFilter,
)

NAMES = ("gopher_quality", "gopher_repetition", "c4", "fineweb")


@lru_cache
def filters(language: str, stop_words: tuple[str, ...]) -> dict[str, Callable[[Document], Any]]:
    """Return the filters, with the settings of FineWeb's published run; for Gopher's word rules, English's thresholds."""
    made = (
        GopherQualityFilter(language=language, stop_words=list(stop_words)),
        GopherRepetitionFilter(language=language),
        C4QualityFilter(language=language, filter_no_terminal_punct=False),
        FineWebQualityFilter(language=language, char_duplicates_ratio=0.1),  # as in the paper; the code has 0.01
    )
    cutter = C4QualityFilter(
        language=language,
        filter_no_terminal_punct=False,
        filter_lorem_ipsum=False,
        filter_curly_bracket=False,
        min_num_sentences=-1,
    )
    return {name: one.filter for name, one in zip(NAMES, made, strict=True)} | {"cutter": cutter.filter}


def answer(one: dict[str, Callable[[Document], Any]], text: str) -> list[str | None]:
    """Return what each filter says to a text."""
    said = [reason(one[name](Document(text=text, id=""))) for name in NAMES[:3]]
    left = Document(text=text, id="")
    one["cutter"](left)
    return [*said, reason(one["fineweb"](left)) if left.text else "empty"]


def reason(result: Any) -> str | None:
    """Return why a filter drops, or None."""
    if isinstance(result, tuple):
        return None if result[0] else str(result[1])
    return None if result else "dropped"


def seconds_in_a_row(rows: list[dict[str, Any]]) -> float:
    """Time the four filters as a pipeline runs them: a dropped text goes no further."""
    started = time.process_time()
    for row in rows:
        one = filters(row["language"], tuple(row["stop_words"]))
        document = Document(text=row["text"], id="")
        all(reason(one[name](document)) is None for name in NAMES)
    return time.process_time() - started


def main() -> None:
    rows = pq.read_table(sys.argv[1]).to_pylist()
    for row in {row["language"]: row for row in rows}.values():
        answer(filters(row["language"], tuple(row["stop_words"])), row["text"])
    seconds = seconds_in_a_row([row for row in rows if row["is_timed"]])
    answers = [answer(filters(row["language"], tuple(row["stop_words"])), row["text"]) for row in rows]
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        json.dump({"seconds": seconds, "answers": answers}, file)


if __name__ == "__main__":
    main()
