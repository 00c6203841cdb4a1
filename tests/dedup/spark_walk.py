"""A walk through deduplication on Spark, run by test_spark_dedup in a process of its own: `spark_walk.py KIND FOLDER`.

Runs go over Connect, so that walk is the whole one. A classic session differs in how it takes queries, keeps rows and
raises: its walk is the search with most steps, the one without documents, and a refusal.
"""

import random
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from corpusmill.dedup.duplicates import Resolution, find_duplicates
from corpusmill.dedup.parameters import DedupParameters
from corpusmill.dedup.texts import stored_texts
from corpusmill.engines import spark_dedup
from corpusmill.lake.store import Store, StoreSettings
from tests.dedup.planted import Document, edited, words, write_corpus

PARAMETERS = DedupParameters()
RULES: dict[str, dict[str, Any]] = {
    "planted": {},
    "hot": {"max_bucket": 4, "num_representatives": 2, "max_comparisons": 5},
    "short": {},
    "snapshots": {"scope": "snapshot"},
    "sources": {"scope": "source", "rank": "newest"},
    "held": {"rank": "longest", "validation_share": 0.25},
}
CLASSIC = ("hot", "garbled")


def main(kind: str, folder: Path) -> None:
    walked = CLASSIC if kind == "classic" else (*RULES, *BREAKS)
    spark = open_session(kind)
    try:
        compared = [name for name in RULES if name in walked]
        for name in compared:
            documents = few_short() if name == "short" else planted()
            compare(spark, folder / name, documents, DedupParameters(**RULES[name]))
        store = Store(StoreSettings(root=str(folder)))
        nothing = spark_dedup.find_duplicates(spark, [], parameters=PARAMETERS, store=store)
        same(find_duplicates([], parameters=PARAMETERS, read_texts=stored_texts(store)), nothing)
        broken = {name: break_corpus for name, break_corpus in BREAKS.items() if name in walked}
        refused = [name for name, break_corpus in broken.items() if is_refused(spark, folder / name, break_corpus)]
        print(f"equal: {', '.join(compared)}; refused: {', '.join(refused)}")
    finally:
        spark.stop()


def open_session(kind: str) -> SparkSession:
    if kind == "connect":
        return SparkSession.builder.remote("local[2]").getOrCreate()
    builder = SparkSession.builder.config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
    return builder.master("local[2]").getOrCreate()


def planted() -> list[Document]:
    """Return clusters of exact and near copies over three snapshots, one of them large, and documents of their own."""
    texts = [edited(base, 60, replaced) for base in range(8) for replaced in (0, 0, 2, 5, 9)]
    texts += [edited(50, 120, replaced % 12) for replaced in range(40)]
    texts += [words(900_000 + 100 * number, 40) for number in range(20)]
    return [(f"doc-{number:03d}", f"s{number % 3}", text) for number, text in enumerate(texts)]


def few_short() -> list[Document]:
    return [("a", "s1", "too short"), ("b", "s2", "too short"), ("c", "s2", None)]


def compare(spark: SparkSession, folder: Path, documents: list[Document], parameters: DedupParameters) -> None:
    """Fail unless Spark and memory agree, for shuffled documents over three files against sorted ones over one."""
    (folder / "one").mkdir(parents=True)
    (folder / "three").mkdir()
    store = Store(StoreSettings(root=str(folder)))
    (file,) = write_corpus(folder / "one", documents, shards=1, parameters=parameters)
    expected = find_duplicates([pq.read_table(file)], parameters=parameters, read_texts=stored_texts(store))
    shuffled = random.Random(5).sample(documents, len(documents))
    files = write_corpus(folder / "three", shuffled, shards=3, parameters=parameters)
    before = spark.conf.get("spark.sql.shuffle.partitions")
    found = spark_dedup.find_duplicates(spark, files, parameters=parameters, store=store)
    assert spark.conf.get("spark.sql.shuffle.partitions") == before
    assert len(expected.table) > 0
    same(expected, found)


def same(expected: Resolution, found: Resolution) -> None:
    assert found.table.equals(expected.table), (found.table.to_pylist(), expected.table.to_pylist())
    assert found.statistics == expected.statistics, (found.statistics, expected.statistics)


def remove_signatures(folder: Path) -> None:
    (folder / "signatures-0.parquet").unlink()


def replace_texts(folder: Path) -> None:
    file = folder / "texts-0.parquet"
    pq.write_table(pq.read_table(file).slice(3), file)


def garble_texts(folder: Path) -> None:
    file = folder / "texts-0.parquet"
    file.write_bytes(file.read_bytes()[:-200])


BREAKS = {"missing": remove_signatures, "replaced": replace_texts, "garbled": garble_texts}


def is_refused(spark: SparkSession, folder: Path, break_corpus) -> bool:
    """Say whether a broken corpus ends in an error that names the broken file."""
    folder.mkdir()
    files = write_corpus(folder, planted(), shards=1, parameters=PARAMETERS)
    break_corpus(folder)
    try:
        spark_dedup.find_duplicates(spark, files, parameters=PARAMETERS, store=Store(StoreSettings(root=str(folder))))
    except ValueError as error:
        return "-0.parquet" in str(error)
    return False


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
