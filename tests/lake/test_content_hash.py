"""The content hash names the rows, and only the rows."""

import random
from typing import Any

import pyarrow as pa
import pytest

from corpusmill.lake.content_hash import combine, from_hex, hash_table, to_hex

SCHEMA = pa.schema(
    [
        ("text", pa.string()),
        ("number", pa.int64()),
        ("score", pa.float64()),
        ("flag", pa.bool_()),
        ("raw", pa.binary()),
        ("tags", pa.list_(pa.string())),
        ("meta", pa.map_(pa.string(), pa.string())),
        ("edit", pa.struct([("start", pa.int64()), ("kind", pa.string())])),
        ("edits", pa.list_(pa.struct([("start", pa.int64()), ("kind", pa.string())]))),
    ]
)
ROWS = [
    {"text": "a", "number": 1, "score": 0.5, "flag": True, "raw": b"\x00", "tags": ["x", None], "meta": [("k", "v")]},
    {"text": "", "number": 0, "score": 0.0, "flag": False, "raw": b"", "tags": [], "meta": []},
    {"text": None, "number": None, "score": None, "flag": None, "raw": None, "tags": None, "meta": None},
    {"text": "y" * 15, "edit": {"start": 1, "kind": None}, "edits": [{"start": 1, "kind": "cut"}, None]},
    {"text": "z" * 16, "edit": {"start": None, "kind": None}, "edits": [None, {"start": 1, "kind": "cut"}]},
    {"text": "ü" * 33, "score": float("nan"), "tags": ["x", "y"], "meta": [("k", "v"), ("l", None)]},
]


def table(rows: list[dict[str, Any]] = ROWS) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def one(value: Any, kind: pa.DataType, name: str = "x") -> int:
    return hash_table(pa.table({name: pa.array([value], kind)}))


def test_the_hash_is_the_same_on_every_machine_and_in_every_version() -> None:
    """A change of this value makes every committed partition look changed."""
    assert to_hex(hash_table(table())) == "5dc123dfb6b34b17807a19ed015a9430"


def test_order_chunks_and_slices_of_rows_do_not_count() -> None:
    expected = hash_table(table())
    shuffled = ROWS.copy()
    random.Random(0).shuffle(shuffled)
    assert hash_table(table(shuffled)) == expected
    assert hash_table(pa.concat_tables([table().slice(2), table().slice(0, 2)])) == expected
    assert combine(hash_table(table().slice(index, 1)) for index in range(len(ROWS))) == expected
    padded = pa.concat_tables([table(ROWS[3:]), table(), table(ROWS[:3])]).combine_chunks()
    assert hash_table(padded.slice(3, 6)) == expected


def test_column_order_and_physical_types_of_the_same_values_do_not_count() -> None:
    assert hash_table(table().select(SCHEMA.names[::-1])) == hash_table(table())
    text = pa.array(["a", "", None, "a"])
    expected = hash_table(pa.table({"x": text}))
    for kind in (pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())):
        assert hash_table(pa.table({"x": text.cast(kind)})) == expected
    numbers = pa.array([1, -2, None])
    for kind in (pa.int8(), pa.int32()):
        assert hash_table(pa.table({"x": numbers.cast(kind)})) == hash_table(pa.table({"x": numbers}))
    pairs = pa.array([[1, 2], None, [3, 4]], pa.list_(pa.int64(), 2))
    lists = pairs.cast(pa.list_(pa.int64()))
    assert hash_table(pa.table({"x": pairs}).slice(1)) == hash_table(pa.table({"x": lists}).slice(1))


def test_a_column_of_nulls_counts_like_an_absent_one() -> None:
    widened = table().append_column("new", pa.nulls(len(ROWS), pa.string()))
    assert hash_table(widened) == hash_table(table())


def test_rows_are_counted_as_often_as_they_occur() -> None:
    assert hash_table(table(ROWS * 2)) != hash_table(table())
    assert hash_table(table(ROWS * 2)) == combine([hash_table(table())] * 2)
    assert hash_table(table([])) == 0


@pytest.mark.parametrize(
    ("left", "right", "kind"),
    [
        (None, "", pa.string()),
        ("", "\x00", pa.string()),
        ("a", "a\x00", pa.string()),
        ("x" * 16, "x" * 17, pa.string()),
        (None, 0, pa.int64()),
        (0.0, None, pa.float64()),
        (float("nan"), None, pa.float64()),
        (False, None, pa.bool_()),
        (None, [], pa.list_(pa.string())),
        ([], [None], pa.list_(pa.string())),
        ([None], [""], pa.list_(pa.string())),
        (["a", "b"], ["b", "a"], pa.list_(pa.string())),
        (["ab"], ["a", "b"], pa.list_(pa.string())),
        ([[1], []], [[], [1]], pa.list_(pa.list_(pa.int64()))),
        (None, {"a": None, "b": None}, pa.struct([("a", pa.int64()), ("b", pa.int64())])),
        ({"a": 1, "b": None}, {"a": None, "b": 1}, pa.struct([("a", pa.int64()), ("b", pa.int64())])),
        ([("a", "b")], [("b", "a")], pa.map_(pa.string(), pa.string())),
        ([("a", None)], [], pa.map_(pa.string(), pa.string())),
    ],
)
def test_different_values_give_different_hashes(left: Any, right: Any, kind: pa.DataType) -> None:
    assert one(left, kind) != one(right, kind)


def test_the_column_of_a_value_counts_and_the_order_of_a_map_does_not() -> None:
    assert one("a", pa.string(), "x") != one("a", pa.string(), "y")
    kind = pa.map_(pa.string(), pa.int64())
    assert one([("a", 1), ("b", 2)], kind) == one([("b", 2), ("a", 1)], kind)


def test_swapped_values_between_rows_are_noticed() -> None:
    straight = pa.table({"x": ["a", "b"], "y": [1, 2]})
    crossed = pa.table({"x": ["a", "b"], "y": [2, 1]})
    assert hash_table(straight) != hash_table(crossed)


def test_hex_and_back() -> None:
    assert from_hex(to_hex(hash_table(table()))) == hash_table(table())
    assert to_hex(0) == "0" * 32
