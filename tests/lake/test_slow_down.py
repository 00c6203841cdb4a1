"""S3 that answers 503 SlowDown again and again: every operation is retried, nothing is lost or written twice."""

from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest

from corpusmill.lake.files import ShardWriter
from corpusmill.lake.store import LakeSettings, Store, StoreSettings
from corpusmill.lake.tables import Lake
from tests.servers.seaweedfs import S3Server
from tests.servers.throttle import throttling_proxy

TABLE = "curated/web/documents"
SCHEMA = pa.schema([("doc_id", pa.string())])


@pytest.mark.slow
@pytest.mark.s3
@pytest.mark.postgres
def test_case_31_slow_down_is_retried(s3_root: str, s3_server: S3Server, postgres_url: str) -> None:
    """CASES 31: with every fourth request refused, a partition lands and reads back."""
    with throttling_proxy(s3_server.endpoint, refuse_of=4) as proxy:
        store = StoreSettings(root=s3_root, endpoint=proxy.endpoint)
        lake = Lake(LakeSettings(store=store, catalog=postgres_url))
        lake.check()
        attempt = lake.begin(TABLE, "p", SCHEMA)
        with ShardWriter(
            lake.store, directory=attempt.directory, name=attempt.attempt, schema=SCHEMA, partition="p"
        ) as writer:
            writer.write(pa.table({"doc_id": ["a", "b"]}))
        lake.commit(attempt, writer.files)
        assert lake.read(TABLE, columns=["doc_id"]).to_pylist() == [{"doc_id": "a"}, {"doc_id": "b"}]
        lake.close()
        assert proxy.num_refused > 5


@pytest.mark.s3
def test_case_31_the_store_lists_pages_and_opens_no_object(s3_root: str, s3_server: S3Server) -> None:
    """CASES 31: 1,200 keys are listed in two requests, none of them for a single object."""
    writer = Store(StoreSettings(root=s3_root, endpoint=s3_server.endpoint))
    with ThreadPoolExecutor(8) as writers:
        list(writers.map(lambda number: writer.write(f"many/{number:04d}", b""), range(1_200)))
    with throttling_proxy(s3_server.endpoint, refuse_of=10**9) as proxy:
        proxy.num_requests = 1
        store = Store(StoreSettings(root=s3_root, endpoint=proxy.endpoint))
        assert sum(1 for _ in store.list("many/")) == 1_200
        assert proxy.num_requests - 1 == 2
        store.delete(f"many/{number:04d}" for number in range(1_200))
        assert proxy.num_requests - 1 == 4
