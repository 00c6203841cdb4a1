"""One rule on plain Python, Spark and Ray gives equal tables."""

from contextlib import contextmanager

import pyarrow as pa
import pytest

from corpusmill.engines.lease import lease
from corpusmill.engines.plain import PlainEngine
from corpusmill.engines.service import EngineSettings
from corpusmill.engines.table_rule import map_table

SCHEMA = pa.schema(
    [
        pa.field("name", pa.large_string(), nullable=False),
        pa.field("small", pa.uint8()),
        pa.field("tags", pa.list_(pa.string())),
        pa.field("meta", pa.map_(pa.string(), pa.string())),
        pa.field("blob", pa.binary()),
        pa.field("seen", pa.timestamp("ns", tz="UTC")),
    ]
)
TABLE = pa.table(
    {
        "name": ["one", "zwei", "três", "четыре", "五", "\x00"],
        "small": [1, 2, None, 4, 100, 0],
        "tags": [["a"], [], None, ["b", None], ["c"], ["d"]],
        "meta": [[("k", "v")], [], None, [("x", None)], [], []],
        "blob": [b"", b"\xff", None, b"\x00", b"raw", b"raw"],
        "seen": [0, 1, None, 3, 4, 5],
    },
    schema=SCHEMA,
)
EXPECTED_NAMES = ["zwei", "четыре", "五"]
EXPECTED_DOUBLED = [4, 8, 200]


@contextmanager
def plain_engine(state):
    yield PlainEngine()


@contextmanager
def spark_engine(state):
    from corpusmill.engines.spark import SparkEngine

    with lease("spark", EngineSettings(service={"driver_memory": "1g"}), state_folder=state) as endpoint:
        engine = SparkEngine(endpoint)
        yield engine
        engine.close()


@contextmanager
def ray_engine(state):
    from corpusmill.engines.ray import RayEngine

    engine = RayEngine(num_cpus=2)
    yield engine
    engine.close()


@pytest.mark.parametrize(
    "opened",
    [
        plain_engine,
        pytest.param(spark_engine, marks=[pytest.mark.spark, pytest.mark.slow]),
        pytest.param(ray_engine, marks=[pytest.mark.ray, pytest.mark.slow]),
    ],
)
def test_same_rule_gives_the_same_table_everywhere(opened, engine_state):
    with opened(engine_state) as engine:
        for slice_rows in (1, 4, 1024):
            result = map_table(
                "toy_rules:stretch", engine=engine, table=TABLE, parameters={"least": 2}, slice_rows=slice_rows
            )
            assert result.schema == SCHEMA.append(pa.field("doubled", pa.uint8()))
            assert result["name"].to_pylist() == EXPECTED_NAMES
            assert result["doubled"].to_pylist() == EXPECTED_DOUBLED
            assert result["meta"].to_pylist() == [[], [("x", None)], []]
        empty = map_table("toy_rules:stretch", engine=engine, table=TABLE.slice(0, 0), parameters={"least": 2})
        assert empty.schema == result.schema
        assert empty.num_rows == 0
