"""Reading the seeds that requests name: each file once, and held no longer than its requests are."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpusmill.lake.store import Store, StoreSettings
from corpusmill.tasks.seeds import SeedReader


def test_a_file_is_read_once_and_held_until_all_its_requests_had_their_seeds(tmp_path: Path) -> None:
    for file in "ab":
        rows = pa.table({"doc_id": [f"{file}{number}" for number in range(4)], "text": list("wxyz")})
        pq.write_table(rows, tmp_path / f"{file}.parquet", write_page_checksum=True)
    asked = ["a0", "b1", "a0", "b3", "a2"]
    requests = pa.table({"doc_id": asked, "seed_file": [f"{doc_id[0]}.parquet" for doc_id in asked]})
    reader = SeedReader(Store(StoreSettings(root=str(tmp_path))), requests)
    assert reader.seeds(requests.slice(0, 3))["doc_id"].to_pylist() == ["a0", "b1"]
    for file in "ab":
        (tmp_path / f"{file}.parquet").unlink()
    assert sorted(reader.seeds(requests.slice(3))["text"].to_pylist()) == ["y", "z"]
    with pytest.raises(FileNotFoundError):
        reader.seeds(requests.slice(0, 1))
