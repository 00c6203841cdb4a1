"""The same store on a local folder and on a real S3 server."""

import os
import pickle
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from corpusmill.lake.errors import UnsuitableStoreError
from corpusmill.lake.store import Store, StoreSettings
from tests.servers.seaweedfs import S3Server


@pytest.fixture(params=["local", pytest.param("s3", marks=pytest.mark.s3)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    if request.param == "local":
        yield Store(StoreSettings(root=str(tmp_path / "lake")))
    else:
        root = request.getfixturevalue("s3_root")
        yield Store(StoreSettings(root=root, endpoint=request.getfixturevalue("s3_server").endpoint))


def test_what_was_written_is_read(store: Store) -> None:
    store.check()
    store.write("a/b c|d.json", b"one")
    store.write("a/b c|d.json", b"second")
    assert store.read("a/b c|d.json") == b"second"
    assert store.read(store.uri("a/b c|d.json")) == b"second"
    assert store.size("a/b c|d.json") == 6
    assert store.map("a/b c|d.json").to_pybytes() == b"second"
    assert store.key(store.uri("a/b c|d.json")) == "a/b c|d.json"


def test_an_absent_object_is_said_to_be_absent(store: Store) -> None:
    assert not store.exists("nothing")
    with pytest.raises(FileNotFoundError):
        store.read("nothing")
    with pytest.raises(FileNotFoundError):
        store.size("nothing")
    with pytest.raises(FileNotFoundError):
        store.open_input("nothing")
    with pytest.raises(FileNotFoundError):
        store.map("nothing")
    store.delete(["nothing"])


def test_a_listing_is_sorted_by_key_and_bounded_by_its_prefix(store: Store) -> None:
    keys = ["x/a-b", "x/a/b", "x/a.b", "x/a/a/z", "xa", "y/q", "x/ü", "x/B"]
    for key in keys:
        store.write(key, key.encode())
    assert [item.key for item in store.list("x/")] == sorted(key for key in keys if key.startswith("x/"))
    assert [item.key for item in store.list("x")] == sorted(key for key in keys if key.startswith("x"))
    assert [item.key for item in store.list("x/a/")] == ["x/a/a/z", "x/a/b"]
    assert [item.size for item in store.list("x/a/")] == [7, 5]
    assert [item.key for item in store.list()] == sorted(keys)
    assert list(store.list("z")) == []


def test_a_listing_goes_on_past_its_first_page(store: Store) -> None:
    """CASES 31: one listing, 1,000 keys a page."""
    with ThreadPoolExecutor(8) as writers:
        list(writers.map(lambda number: store.write(f"many/{number:05d}", b""), range(1_050)))
    listed = list(store.list("many/"))
    assert [item.key for item in listed] == [f"many/{number:05d}" for number in range(1_050)]
    store.delete(item.key for item in listed)
    assert list(store.list("many/")) == []


def test_of_racing_creators_one_wins(store: Store) -> None:
    with ThreadPoolExecutor(4) as racers:
        won = list(racers.map(lambda number: store.create("claim", str(number).encode()), range(8)))
    assert won.count(True) == 1
    assert store.read("claim") == str(won.index(True)).encode()


def test_an_output_is_invisible_until_it_is_published(store: Store) -> None:
    pending = store.open_output("out/file")
    pending.stream.write(b"half")
    assert not store.exists("out/file")
    assert list(store.list("out/")) == []
    pending.stream.write(b" whole")
    pending.publish()
    with store.open_input("out/file") as source:
        assert source.read() == b"half whole"


def test_an_output_that_fails_leaves_nothing(store: Store) -> None:
    with pytest.raises(RuntimeError), store.open_output("out/file") as stream:
        stream.write(b"half")
        raise RuntimeError
    assert not store.exists("out/file")
    assert list(store.list()) == []


@pytest.mark.parametrize("key", ["../x", "a/../../x", "a/./b", "a//b", "a\x00b"])
def test_a_key_cannot_leave_the_root(store: Store, key: str) -> None:
    with pytest.raises(ValueError, match="a key is a relative path"):
        store.write(key, b"")


def test_nothing_outside_the_root_is_written_or_deleted(store: Store, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"theirs")
    assert store.read(str(outside)) == b"theirs"
    assert store.read(f"file://{outside}") == b"theirs"
    with pytest.raises(ValueError, match="may be written or deleted"):
        store.write(str(outside), b"ours")
    with pytest.raises(ValueError, match="may be written or deleted"):
        store.delete([str(outside)])


def test_a_store_travels_as_its_settings(store: Store) -> None:
    store.write("a", b"1")
    assert pickle.loads(pickle.dumps(store)).read("a") == b"1"
    assert StoreSettings.from_json(store.settings.to_json()) == store.settings


def test_a_relative_root_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert StoreSettings(root="lake").root == str(tmp_path / "lake")


@pytest.mark.parametrize("root", ["", "gs://bucket/x", "s3://", "s3://b/x?y"])
def test_an_unusable_root_is_refused(root: str) -> None:
    with pytest.raises(ValueError, match="root"):
        StoreSettings(root=root)


def test_case_33_a_root_that_cannot_keep_a_lake_is_refused_at_start(tmp_path: Path) -> None:
    """CASES 33: an unsuitable filesystem is refused with a reason, and does not hang."""
    (tmp_path / "file").write_bytes(b"")
    for root in (tmp_path / "file" / "lake", Path("/proc/lake"), Path("/sys/lake")):
        with pytest.raises(UnsuitableStoreError, match=f"the folder {root} cannot keep a lake"):
            Store(StoreSettings(root=str(root))).check()


def test_case_33_a_filesystem_that_does_not_answer_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder whose probe file is a FIFO without a reader blocks on open, as a dead network mount does."""
    from corpusmill.lake import local_backend

    monkeypatch.setattr(local_backend, "_CHECK_TIMEOUT_SECONDS", 0.2)
    monkeypatch.setattr(local_backend.uuid, "uuid4", lambda: local_backend.uuid.UUID(int=1))
    fifo = tmp_path / ".tmp" / f"probe-{1:032x}"
    fifo.parent.mkdir()
    os.mkfifo(fifo)
    with pytest.raises(UnsuitableStoreError, match="did not answer within"):
        Store(StoreSettings(root=str(tmp_path))).check()
    os.close(os.open(fifo, os.O_RDONLY | os.O_NONBLOCK))


def test_case_33_an_s3_service_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "tests")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "tests")
    with socket.socket() as nobody_listens:
        nobody_listens.bind(("127.0.0.1", 0))
        endpoint = f"http://127.0.0.1:{nobody_listens.getsockname()[1]}"
        with pytest.raises(UnsuitableStoreError, match=f"s3://bucket/lake at {endpoint} cannot keep a lake"):
            Store(StoreSettings(root="s3://bucket/lake", endpoint=endpoint, connect_timeout_seconds=1)).check()


@pytest.mark.s3
def test_case_33_a_bucket_that_is_missing_or_forbidden_is_refused(
    s3_root: str, s3_server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UnsuitableStoreError, match=r"s3://absent/lake at .* cannot keep a lake"):
        Store(StoreSettings(root="s3://absent/lake", endpoint=s3_server.endpoint)).check()
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    with pytest.raises(UnsuitableStoreError, match="credentials"):
        Store(StoreSettings(root=s3_root, endpoint=s3_server.endpoint)).check()
