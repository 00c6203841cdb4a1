"""Repeated spans: planted ones of known places, and every text against a search that compares all windows with all."""

import random

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.dedup.repeated_spans import find_repeated_spans
from corpusmill.dedup.spans import SpanParameters

SMALL = SpanParameters(min_bytes=32)


def prose(num_bytes: int, *, seed: int, alphabet: str = "abcdefghijklmnopqrstuvwxyz     ") -> str:
    """Return random text that repeats nothing."""
    chance = random.Random(seed)
    return "".join(chance.choice(alphabet) for _ in range(num_bytes))


def table(texts: list[str | None], snapshot: str = "2024") -> pa.Table:
    names = [f"{snapshot}-{number:03d}" for number in range(len(texts))]
    return pa.table({"doc_id": names, "snapshot": [snapshot] * len(texts), "text": pa.array(texts, pa.large_string())})


def spans(texts: list[str | None], parameters: SpanParameters | None = None) -> list[tuple[int, int, int, int, int]]:
    """Return (document, start, end, kept document, kept start) of each repeated span."""
    found = find_repeated_spans(table(texts), {}, parameters or SpanParameters())
    assert found.num_skipped == 0
    return [
        (int(row["doc_id"][-3:]), row["start"], row["end"], int(row["kept_doc_id"][-3:]), row["kept_start"])
        for row in found.spans.to_pylist()
    ]


def searched(texts: list[str], min_bytes: int) -> list[tuple[int, int, int, int, int]]:
    """Find the same by comparing all windows."""
    first: dict[bytes, tuple[int, int]] = {}
    found = []
    for number, text in enumerate(texts):
        data = text.encode()
        sources: list[tuple[int, int] | None] = []
        for start in range(len(data) - min_bytes + 1):
            document, place = first.setdefault(data[start : start + min_bytes], (number, start))
            overlaps = document == number and start - place < min_bytes
            sources.append(None if overlaps else (document, place))
        runs: list[list[int]] = []
        for start, source in enumerate(sources):
            if source is None:
                continue
            if not runs or sources[start - 1] is None or start == 0:
                runs.append([start, start])
            runs[-1][1] = start
        merged: list[tuple[int, int, int, int, int]] = []
        for begin, last in runs:
            source = sources[begin]
            assert source
            prefix = data[:begin].decode(errors="ignore")
            start_byte = begin
            while start_byte < len(data) and data[start_byte] & 0xC0 == 0x80:
                start_byte += 1
            start = len(data[:start_byte].decode())
            end = len(data[: last + min_bytes].decode(errors="ignore"))
            assert len(prefix) <= start
            kept = texts[source[0]].encode()
            kept_start = len(kept[: source[1] + start_byte - begin].decode())
            if merged and start <= merged[-1][2]:
                merged[-1] = (*merged[-1][:2], max(end, merged[-1][2]), *merged[-1][3:])
            else:
                merged.append((number, start, end, source[0], kept_start))
        found += merged
    return found


@pytest.mark.parametrize(("length", "is_found"), [(499, False), (500, True), (501, True)])
def test_a_span_counts_from_500_bytes_on(length: int, is_found: bool) -> None:
    planted = prose(length, seed=1)
    texts = [f"{prose(700, seed=2)}#{planted}#{prose(50, seed=3)}", f"<{planted}>{prose(900, seed=4)}"]
    assert spans(texts) == ([(1, 1, 1 + length, 0, 701)] if is_found else [])


def test_spans_that_overlap_are_one() -> None:
    one = prose(1_500, seed=1)
    texts = [one[:800], f"?{one[700:]}", f"#{one}#"]
    assert spans([f"!{text}" for text in texts]) == [(2, 2, 1_502, 0, 1)]


def test_a_text_that_repeats_itself_keeps_the_first_copy() -> None:
    planted = prose(600, seed=1)
    assert spans([f"{planted}1{planted}2{planted}"]) == [(0, 601, 1_201, 0, 0), (0, 1_202, 1_802, 0, 0)]


def test_periodic_text_keeps_what_no_copy_overlaps() -> None:
    assert spans(["ab" * 1_000]) == [(0, 500, 2_000, 0, 0)]
    assert spans(["abc" * 1_000]) == [(0, 501, 3_000, 0, 0)]


def test_spans_hold_whole_characters_only() -> None:
    planted = prose(300, seed=1, alphabet="山川海空木花鳥風月雪")
    texts = [f"{planted}山", f"é{planted}川"]  # the last characters share their first byte
    assert texts[0].encode()[-3] == texts[1].encode()[-3]
    assert spans(texts) == [(1, 1, 301, 0, 0)]


def test_nothing_repeats_in_empty_short_and_missing_texts() -> None:
    assert spans([None, "", "a", None, "", "a", prose(499, seed=1), prose(499, seed=1)]) == []


def test_the_first_copy_is_that_of_the_oldest_snapshot() -> None:
    planted = prose(1_000, seed=1)
    own = table([f"a{planted}", f"b{planted}"], "2025")
    older = {name: table([f"{name}{planted}"], name) for name in ("2023", "2024")}
    found = find_repeated_spans(own, older, SpanParameters())
    assert [(row["doc_id"], row["kept_snapshot"], row["kept_start"]) for row in found.spans.to_pylist()] == [
        ("2025-000", "2023", 4),
        ("2025-001", "2023", 4),
    ]
    assert find_repeated_spans(older["2023"], {}, SpanParameters()).spans.num_rows == 0


def test_the_order_of_rows_changes_nothing() -> None:
    planted = [prose(700, seed=seed) for seed in range(4)]
    texts = table([f"{number}{planted[number % 4]}{planted[number % 3]}" for number in range(12)])
    shuffled = texts.take(random.Random(0).sample(range(12), 12))
    found = [find_repeated_spans(rows, {}, SpanParameters()).spans for rows in (texts, shuffled)]
    assert found[0].num_rows > 8
    assert found[0].equals(found[1])


def test_boilerplate_in_everything_is_found_and_what_its_edges_may_miss_is_counted() -> None:
    footer = prose(1_500, seed=0)
    marks = [chr(0x4E00 + number) for number in range(30)]
    texts = [f"{prose(600, seed=ord(mark))}{mark}{footer}{mark}{prose(600, seed=2 * ord(mark))}" for mark in marks]
    few = find_repeated_spans(table(texts), {}, SpanParameters(max_contexts=2))
    assert few.num_skipped > 0
    found = {row["doc_id"]: (row["start"], row["end"]) for row in few.spans.to_pylist()}
    assert list(found.values()) == [(601, 2_101)] * 29
    assert find_repeated_spans(table(texts), {}, SpanParameters()).num_skipped == 0


def test_one_document_of_20_mb() -> None:
    chance = random.Random(0)
    planted = prose(5_000, seed=1)
    half = "".join(chance.choices("abcdefghijklmnop ", k=10_000_000))
    assert spans([f"{half}1{planted}", f"2{planted}3{half}"]) == [
        (1, 1, 5_001, 0, 10_000_001),
        (1, 5_002, 10_005_002, 0, 0),
    ]


def test_a_character_two_million_times() -> None:
    assert spans(["a" * 2_000_000]) == [(0, 500, 2_000_000, 0, 0)]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"min_bytes": 31}, "at least 32 bytes, got min_bytes 31"),
        ({"max_contexts": 0}, "max_contexts must be at least 1, got 0"),
        ({"bytes": 500}, "unknown parameter of repeated spans: bytes; known are"),
    ],
)
def test_parameters_that_cannot_be_are_refused(wrong: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SpanParameters.from_json(wrong)


PIECES = st.lists(st.integers(0, 5), max_size=12).map(lambda numbers: "".join(PLANTED[number] for number in numbers))
PLANTED = [prose(20, seed=1), prose(45, seed=2), prose(70, seed=3), "ab", "海" * 9, "é風"]


@settings(max_examples=300)
@given(st.lists(PIECES, max_size=5))
def test_no_repeated_window_is_missed_and_none_is_made_up(texts: list[str]) -> None:
    assert spans(texts, SMALL) == searched(texts, SMALL.min_bytes)
