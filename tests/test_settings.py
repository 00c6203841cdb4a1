"""Settings: defaults, one file, and a clear word for every mistake in it."""

import json
from pathlib import Path

import pytest

from corpusmill.settings import Settings, load_settings

SERVERS = "[inference]\nengine = 'servers'\nmodel = 'm'\nmodel_revision = '1'\n"


def load(folder: Path, text: str) -> Settings:
    file = folder / "corpusmill.toml"
    file.write_text(text, encoding="utf-8")
    return load_settings(file)


def test_without_a_file_the_sample_and_a_local_lake_are_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CORPUSMILL_SETTINGS", raising=False)
    settings = load_settings()
    assert settings.lake.store.root == str(tmp_path / ".corpusmill/lake")
    assert sorted(settings.sources) == ["code", "stem", "web"]
    assert settings.has_sample_sources


def test_folders_are_relative_to_the_file(tmp_path: Path) -> None:
    settings = load(tmp_path, '[sources.books]\nuri = "books"\nformat = "jsonl"\n')
    assert settings.source("books").uri == str(tmp_path / "books")
    assert not settings.has_sample_sources


def test_settings_travel_as_json(tmp_path: Path) -> None:
    settings = load(
        tmp_path, '[lake]\nroot = "s3://bucket/lake"\ncatalog = "sqlite:////x.db"\n[prices]\ncpu_hour = 1\n'
    )
    assert Settings.from_json(settings.to_json()) == settings
    servers = load(tmp_path, f"{SERVERS}servers = ['http://a:1', 'https://b']\n")
    assert Settings.from_json(json.loads(json.dumps(servers.to_json()))) == servers
    assert servers.inference.servers == ("http://a:1", "https://b")
    assert (servers.inference.num_devices, settings.inference.num_devices) == (2, 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[lake]\nrot = 'x'\n", r"corpusmill.toml: unknown setting 'rot' in \[lake\]; did you mean 'root'\?"),
        ("spork = 1\n", "unknown setting 'spork' in the top level; did you mean 'spark'"),
        ("[sources.web]\nuri = 'x'\n", r"\[sources.web\] needs format"),
        (
            "[sources.web]\nuri = 'x'\nformat = 'wark'\n",
            "must be one of warc, wet, arc, html, text, parquet, jsonl, package, checkout, got 'wark'",
        ),
        (
            "[sources.web]\nuri = 'x'\nformat = 'jsonl'\noptions = { text_colum = 'body' }\n",
            r"\[sources.web\] options: unknown read option text_colum; .*; did you mean 'text_column'",
        ),
        (
            "[sources.code]\nuri = 'x'\nformat = 'package'\noptions = { include = '*.py' }\n",
            r"\[sources.code\] options: the option include takes a list of strings, got '\*.py'",
        ),
        ("[inference]\nnum_engines = 'two'\n", r"\[inference\] num_engines must be a int, got 'two'"),
        ("[inference]\ntuned = 1\n", r"\[inference\] tuned must be a bool, got 1"),
        ("[inference]\ntuning = 1\n", r"\[inference.tuning\] must be a table of engine settings, got 1"),
        (
            "[inference.tuning]\nmax_num_seq = 1\n",
            r"\[inference.tuning\] unknown engine setting 'max_num_seq'; did you",
        ),
        ("[inference]\nengine = 'scripted'\n", "inference.script must name a function"),
        ("[inference]\nengine = 'servers'\n", "so inference.servers must list base URLs such as"),
        (
            "[inference]\nengine = 'servers'\nmodel = 'm'\nservers = ['http://a:1']\n",
            "inference.model_revision must say which m they serve",
        ),
        ("[inference]\nservers = 'http://a:1'\n", "inference.servers must be a list such as .*, got 'http://a:1'"),
        (f"{SERVERS}servers = ['a:8000']\n", "must hold URLs such as http://10.0.0.5:8000, got 'a:8000'"),
        (f"{SERVERS}servers = [8000]\n", "must hold URLs such as http://10.0.0.5:8000, got 8000"),
        (f"{SERVERS}servers = ['http://me:secret@a:1']\n", "put the key of a into an environment variable"),
        (f"{SERVERS}servers = ['http://a:1', 'http://a:1']\n", "names a server twice: http://a:1, http://a:1"),
        (f"{SERVERS}servers = ['http://a:1']\nrequest_seconds = 0\n", "request_seconds must be positive"),
        ("[spark]\nengine = 'flink'\n", "spark.engine must be one of spark, plain, got 'flink'"),
        ("launcher = 'moon'\n", "launcher must be one of in_process, subprocess, got 'moon'"),
        ("[lake\n", "is not valid TOML"),
        ("lake = 1\n", r"\[lake\] must be a table of settings, got 1"),
        ("sources = 1\n", r"\[sources\] must hold one table a dataset"),
        ("[sources]\nweb = 1\n", r"\[sources.web\] must be a table of settings, got 1"),
        ("[lake]\nroot = 's3://bucket/lake'\n", "catalog"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load(tmp_path, text)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="does not exist"):
        load_settings(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            b"launcher = 'in_process'\n# caf\xe9\n",
            r"corpusmill.toml is not UTF-8: byte 29 \(line 2\) is 0xe9; save .* as UTF-8",
        ),
        ("launcher = 'in_process'\n".encode("utf-16"), r"is not UTF-8: byte 0 \(line 1\) is 0xff"),
        (b"launcher = 'in\x00process'\n", "corpusmill.toml is not valid TOML: Found invalid character"),
    ],
)
def test_bytes_that_are_no_text_are_named(tmp_path: Path, data: bytes, message: str) -> None:
    (tmp_path / "corpusmill.toml").write_bytes(data)
    with pytest.raises(ValueError, match=message):
        load_settings(tmp_path / "corpusmill.toml")


def test_a_byte_order_mark_is_no_mistake(tmp_path: Path) -> None:
    (tmp_path / "corpusmill.toml").write_bytes(b"\xef\xbb\xbfstate_folder = 'x'\r\n")
    assert load_settings(tmp_path / "corpusmill.toml").state_folder == str(tmp_path / "x")


def test_what_is_no_readable_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"is a folder; name the settings file in it, such as .*/corpusmill\.toml"):
        load_settings(tmp_path)
    with pytest.raises(ValueError, match=r"the settings file /proc/self/mem cannot be read: Input/output error"):
        load_settings("/proc/self/mem")


def test_a_source_that_is_not_set_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"set \[sources.books\] with uri and format"):
        load(tmp_path, "").source("books")
