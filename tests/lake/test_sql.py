"""SQL and data frames over a lake, without loading a table whole."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from corpusmill.lake.errors import GateFailedError, TableMissingError
from corpusmill.lake.files import ShardWriter
from corpusmill.lake.store import LakeSettings, StoreSettings
from corpusmill.lake.tables import Lake

SCHEMA = pa.schema(
    [pa.field("doc_id", pa.string(), nullable=False), ("words", pa.int64()), ("text", pa.large_string())]
)


@pytest.fixture(params=["local", pytest.param("remote", marks=[pytest.mark.s3, pytest.mark.postgres])])
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Lake]:
    if request.param == "local":
        settings = LakeSettings(store=StoreSettings(root=str(tmp_path / "lake")))
    else:
        root, server = request.getfixturevalue("s3_root"), request.getfixturevalue("s3_server")
        store = StoreSettings(root=root, endpoint=server.endpoint)
        settings = LakeSettings(store=store, catalog=request.getfixturevalue("postgres_url"))
    opened = Lake(settings)
    put(opened, "curated/web/documents", "2024-01", [("a", 1), ("b", 20)])
    put(opened, "curated/web/documents", "es|2024-02", [("c", 300)])
    put(opened, "curated/web/verdicts", "2024-01", [("a", 0)])
    yield opened
    opened.close()


def put(lake: Lake, table: str, partition: str, rows: list[tuple[str, int]], **state: list[str]) -> None:
    attempt = lake.begin(table, partition, SCHEMA)
    with ShardWriter(
        lake.store, directory=attempt.directory, name=attempt.attempt, schema=SCHEMA, partition=partition
    ) as writer:
        columns = {"doc_id": [row[0] for row in rows], "words": [row[1] for row in rows]}
        texts = pa.array([f"text of {row[0]}" for row in rows], pa.large_string())
        writer.write(pa.table({**columns, "text": texts}))
    lake.commit(attempt, writer.files, state)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ('SELECT count(*) AS n FROM "curated/web/documents"', [{"n": 3}]),
        ("SELECT count(*) AS n FROM curated.web.documents WHERE words > 10", [{"n": 2}]),
        ("select doc_id from Curated.Web.Documents where partition_key = 'es|2024-02'", [{"doc_id": "c"}]),
        (
            "SELECT d.doc_id, v.words FROM curated.web.documents d JOIN curated.web.verdicts v USING (doc_id)",
            [{"doc_id": "a", "words": 0}],
        ),
        ("SELECT 1 AS one", [{"one": 1}]),
    ],
)
def test_a_query_answers(lake: Lake, query: str, expected: list[dict[str, object]]) -> None:
    assert lake.sql(query).read_all().to_pylist() == expected


def test_show_tables_lists_the_lake(lake: Lake) -> None:
    for query in ("show tables", " SHOW ALL TABLES ; "):
        assert lake.sql(query).read_all()["table"].to_pylist() == ["curated.web.documents", "curated.web.verdicts"]


def test_the_catalog_of_sql_knows_all_tables_and_their_columns(lake: Lake) -> None:
    query = (
        "SELECT column_name FROM information_schema.columns WHERE table_catalog = 'curated' AND table_name = 'verdicts'"
    )
    found = lake.sql(query).read_all()["column_name"].to_pylist()
    assert found == ["partition_key", "doc_id", "words", "text"]
    assert lake.sql("DESCRIBE curated.web.verdicts").read_all()["column_name"].to_pylist() == found


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("curated.web.documnets", "has no table curated.web.documnets; did you mean curated.web.documents?"),
        ("curatd.web.verdicts", "has no table curatd.web.verdicts; did you mean curated.web.verdicts?"),
        ('"curated/web/verdict"', "has no table curated/web/verdict; did you mean curated.web.verdicts?"),
        ("curated.web.documents CROSS JOIN curated.wbe.verdicts", "did you mean curated.web.verdicts?"),
        ("verdicts", "did you mean curated.web.verdicts?"),
        ("xyz", 'has no table xyz; corpusmill sql "show tables" lists'),
    ],
)
def test_a_mistyped_table_is_met_with_those_like_it(lake: Lake, written: str, told: str) -> None:
    with pytest.raises(ValueError, match=re.escape(told)):
        lake.sql(f"SELECT * FROM {written}")


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("SELEC 1", "syntax error"),
        ("SELECT nothing FROM curated.web.documents", 'column "nothing" not found'),
        ("SELECT 1; SELECT 2", "wanted one query, got 2 statements: SELECT 1; SELECT 2"),
        (" -- nothing\n", "the query is empty"),
    ],
)
def test_what_is_no_query_is_refused(lake: Lake, query: str, told: str) -> None:
    with pytest.raises(ValueError, match=re.escape(told)):
        lake.sql(query)


@pytest.mark.parametrize("statement", ["COPY (SELECT 1) TO '{0}'", "ATTACH '{0}'", "INSTALL httpfs", "SET threads = 1"])
def test_a_statement_that_does_not_read_is_refused(lake: Lake, tmp_path: Path, statement: str) -> None:
    with pytest.raises(ValueError, match="wanted a query that reads"):
        lake.sql(statement.format(tmp_path / "made"))
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    "query",
    [
        "FROM read_csv('{0}')",
        "SELECT content FROM read_text('{0}')",
        "FROM '{0}'",
        "FROM glob('{0}*')",
        "EXPLAIN ANALYZE COPY (SELECT 1) TO '{0}.csv'",
    ],
)
def test_a_query_opens_no_file_beside_the_lake(lake: Lake, tmp_path: Path, query: str) -> None:
    file = tmp_path / "secret.csv"
    file.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="reads the lake's tables and no other files"):
        lake.sql(query.format(file))
    assert sorted(path.name for path in tmp_path.glob("*.csv")) == ["secret.csv"]


def test_reading_makes_no_lake(tmp_path: Path) -> None:
    lake = Lake(LakeSettings(store=StoreSettings(root=str(tmp_path / "none"))))
    assert (lake.tables(), lake.partitions("curated/web/documents")) == ([], {})
    assert lake.sql("SELECT 1 AS one").read_all().to_pylist() == [{"one": 1}]
    assert lake.sql("show tables").read_all().num_rows == 0
    with pytest.raises(ValueError, match=f"the lake {tmp_path / 'none'} has no table a.b.c; it has none yet"):
        lake.sql("FROM a.b.c")
    with pytest.raises(TableMissingError, match=f"there is no lake in {tmp_path / 'none'}"):
        lake.read("curated/web/documents")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_gate_stops_a_query_until_it_is_allowed(lake: Lake) -> None:
    put(lake, "curated/web/documents", "2024-03", [("bad", 1)], gate_failures=["retention"])
    with pytest.raises(
        GateFailedError, match=r"or pass allow_failed_gate \(corpusmill sql --allow-failed-gate\) to look"
    ):
        lake.sql("SELECT 1 FROM curated.web.documents")
    assert lake.sql("SELECT 1 AS x FROM curated.web.verdicts").read_all().num_rows == 1
    assert lake.sql("SELECT 1 AS x FROM curated.web.documents", allow_failed_gate=True).read_all().num_rows == 4


def test_only_needed_files_and_columns_are_read(lake: Lake) -> None:
    """The file of the other partition is gone, so a query that opened it would fail."""
    (other,) = lake.files("curated/web/documents", ["2024-01"])
    lake.store.delete([other.path])
    found = lake.sql("SELECT doc_id FROM curated.web.documents WHERE partition_key = 'es|2024-02'").read_all()
    assert found.to_pylist() == [{"doc_id": "c"}]


def test_polars_and_pandas_open_a_table(lake: Lake) -> None:
    dataset = lake.arrow_dataset("curated/web/documents")
    frame = pl.scan_pyarrow_dataset(dataset).filter(pl.col("words") > 10).select("doc_id").sort("doc_id").collect()
    assert frame["doc_id"].to_list() == ["b", "c"]
    table = dataset.to_table(columns=["doc_id"], filter=pc.field("words") == 1)
    assert table.to_pandas()["doc_id"].tolist() == ["a"]
    assert dataset.count_rows() == 3


COUNT = """
import re, sys
import pyarrow as pa
from corpusmill.lake.store import LakeSettings, StoreSettings
from corpusmill.lake.tables import Lake
lake = Lake(LakeSettings(store=StoreSettings(root=sys.argv[1])))
print(lake.sql(sys.argv[2]).read_all().to_pylist()[0]["n"])
print(pa.default_memory_pool().max_memory() >> 20)
# Not ru_maxrss: a process takes that of the one that started it along.
print(int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]) // 1024)
"""


@pytest.mark.slow
def test_a_query_over_more_text_than_its_memory_answers(tmp_path: Path) -> None:
    """3 GB of text in a file of 48 kB, read by a process that stays below half of it: Arrow holds a few row groups of 64 MB."""
    lake = Lake(LakeSettings(store=StoreSettings(root=str(tmp_path / "lake"))))
    attempt = lake.begin("curated/web/documents", "p", SCHEMA)
    line = "lorem ipsum " * 2_000
    texts = pa.array([line] * 2_000, pa.large_string())
    rows = pa.table({"doc_id": ["x"] * 2_000, "words": [1] * 2_000, "text": texts})
    with ShardWriter(
        lake.store, directory=attempt.directory, name="big", schema=SCHEMA, partition="p", target_bytes=1 << 20
    ) as writer:
        for _ in range(63):
            writer.write(rows)
    lake.commit(attempt, writer.files, {})
    lake.close()
    query = "SELECT sum(length(text)) AS n FROM curated.web.documents"
    done = subprocess.run(
        [sys.executable, "-c", COUNT, str(tmp_path / "lake"), query],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    total, arrow_mb, peak_mb = (int(value) for value in done.stdout.split())
    assert total == 63 * 2_000 * len(line)
    assert total > 3e9
    assert arrow_mb < 320, f"Arrow held {arrow_mb} MB"
    assert peak_mb < 1_500, f"peak memory {peak_mb} MB"
