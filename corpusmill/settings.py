"""Settings: where the lake lies, where sources come from, which engines run. Read from one TOML file, checked key by key.

Nothing but settings may change between a laptop and several clusters. Policy (rules, prompts, weights) is not here: it
stands with the asset that chose it.
"""

import dataclasses
import difflib
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from corpusmill.engines.tuning import EngineTuning
from corpusmill.lake.store import LakeSettings, Store, StoreSettings
from corpusmill.read import item_options
from corpusmill.read.options import ReadOptions

SETTINGS_VARIABLE = "CORPUSMILL_SETTINGS"
DEFAULT_FILE = "corpusmill.toml"
FORMATS = ("warc", "wet", "arc", "html", "text", "parquet", "jsonl", "package", "checkout")


@dataclass(frozen=True, kw_only=True)
class SourceSettings:
    """Where the snapshots of one dataset lie: each folder below `uri` is a snapshot."""

    uri: str
    format: str
    """One of `FORMATS`."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """What the reader of that format takes, such as `text_column` or `include`."""

    def __post_init__(self) -> None:
        if self.format not in FORMATS:
            raise ValueError(f"a source's format must be one of {', '.join(FORMATS)}, got {self.format!r}")
        if not isinstance(self.options, Mapping):
            raise ValueError(
                f'a source\'s options must be a table such as {{ text_column = "text" }}, got {self.options!r}'
            )
        for name, value in self.options.items():
            _check_plain(name, value)


@dataclass(frozen=True, kw_only=True)
class SparkSettings:
    """The engine of curation: `spark` is a leased Spark Connect server, `plain` runs in this process."""

    engine: str = "spark"
    master: str = "local[*]"
    driver_memory: str = "2g"
    linger_seconds: float = 30.0
    startup_seconds: float = 180.0

    def __post_init__(self) -> None:
        _check_choice("spark.engine", self.engine, ("spark", "plain"))


@dataclass(frozen=True, kw_only=True)
class InferenceSettings:
    """The engine of synthesis: `ray_vllm` is a leased Ray cluster with vLLM in it, `servers` are OpenAI-compatible servers
    that others started, `scripted` is a plain function."""

    engine: str = "ray_vllm"
    model: str = "smollm2"
    """A local model folder, or `smollm2`: the small open model that a package carries. Of servers, the name they serve."""
    model_revision: str = ""
    """For servers: which weights, tokenizer and chat template they serve. No server tells, and it names the answers."""
    servers: tuple[str, ...] = ()
    """Base URLs, such as `http://10.0.0.5:8000`."""
    tokenizer: str = ""
    """For servers: a folder with the tokenizer.json and the chat template of the model that they serve, or `smollm2`. With it
    a prompt that does not fit is a failed row before it is sent. It decides no answer."""
    api_key_variable: str = ""
    """The environment variable that holds the servers' API key; the key itself is nowhere in the settings."""
    request_seconds: float = 600.0
    """The deadline of one request to a server; after it the request is given to another one."""
    max_concurrency: int = 64
    """Requests that one server holds at most."""
    model_license: str = "unknown"
    """SPDX identifier of the licence that a local model folder's outputs carry."""
    script: str = ""
    """For the scripted engine: `module:function`."""
    num_engines: int = 1
    device: Literal["cpu", "cuda"] = "cpu"
    max_model_len: int = 2048
    kv_cache_gib: float = 1.0
    threads_per_engine: int = 2
    chunk_requests: int = 128
    """Requests that are under way together, and that a killed run loses at most; about a minute of work."""
    linger_seconds: float = 30.0
    startup_seconds: float = 600.0
    tuned: bool = True
    """Whether the winner of tuning/<model>/<device> is taken where there is one for this model and device."""
    tuning: Mapping[str, Any] = field(default_factory=dict)
    """Settings of EngineTuning; what stands here is taken whatever a tuning table says."""
    sglang_python: str = ""
    """To tune SGLang: the Python of an environment that it is installed in, such as `/opt/sglang/bin/python`."""

    def __post_init__(self) -> None:
        _check_choice("inference.engine", self.engine, ("ray_vllm", "servers", "scripted"))
        _check_choice("inference.device", self.device, ("cpu", "cuda"))
        if self.engine == "scripted" and not self.script:
            raise ValueError(
                "inference.engine is scripted, so inference.script must name a function as module:function"
            )
        if not isinstance(self.servers, list | tuple):
            raise ValueError(f'inference.servers must be a list such as ["http://10.0.0.5:8000"], got {self.servers!r}')
        object.__setattr__(self, "servers", tuple(self.servers))
        if self.engine == "servers":
            self._check_servers()
        if not isinstance(self.tuning, Mapping):
            raise ValueError(f"[inference.tuning] must be a table of engine settings, got {self.tuning!r}")
        try:
            EngineTuning.from_json(self.tuning)
        except ValueError as error:
            raise ValueError(f"[inference.tuning] {error}") from error

    @property
    def num_devices(self) -> int:
        """What is paid by the hour while a question is open."""
        return len(self.servers) if self.engine == "servers" else self.num_engines

    def _check_servers(self) -> None:
        if not self.servers:
            raise ValueError(
                'inference.engine is servers, so inference.servers must list base URLs such as ["http://10.0.0.5:8000"]'
            )
        for url in self.servers:
            _check_url(url)
        if len(set(self.servers)) < len(self.servers):
            raise ValueError(f"inference.servers names a server twice: {', '.join(self.servers)}")
        if not self.model_revision:
            raise ValueError(
                f"inference.engine is servers, so inference.model_revision must say which {self.model} they serve, such as "
                "its commit on the hub: a server cannot tell, and without it answers of older weights would be taken for "
                "answers of these"
            )
        if self.request_seconds <= 0 or self.max_concurrency < 1:
            raise ValueError(
                "inference.request_seconds must be positive and inference.max_concurrency at least 1, got "
                f"{self.request_seconds} and {self.max_concurrency}"
            )


@dataclass(frozen=True, kw_only=True)
class PriceSettings:
    """What an hour of work costs, for the cost on each asset; zero shows no cost."""

    cpu_hour: float = 0.0
    device_hour: float = 0.0
    currency: str = "USD"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Everything that differs between a laptop and a cluster."""

    lake: LakeSettings
    state_folder: str
    """Local folder for engines' states, Dagster's home and the downloaded sample."""
    sources: Mapping[str, SourceSettings]
    spark: SparkSettings = field(default_factory=SparkSettings)
    inference: InferenceSettings = field(default_factory=InferenceSettings)
    prices: PriceSettings = field(default_factory=PriceSettings)
    launcher: str = "in_process"
    dagster_profile: str = "dagster.yaml"
    """The Dagster instance file that `corpusmill dev` and `corpusmill demo` use, relative to the project."""

    def __post_init__(self) -> None:
        _check_choice("launcher", self.launcher, ("in_process", "subprocess"))

    def source(self, dataset: str) -> SourceSettings:
        if dataset not in self.sources:
            raise ValueError(
                f"no source is set for dataset {dataset!r}; set [sources.{dataset}] with uri and format in "
                f"{DEFAULT_FILE} (set are: {', '.join(sorted(self.sources)) or 'none'})"
            )
        return self.sources[dataset]

    def source_store(self, dataset: str) -> Store:
        """Return the store over a dataset's source, which may lie on another kind of storage than the lake."""
        uri = self.source(dataset).uri
        if uri.startswith("s3://"):
            return Store(dataclasses.replace(self.lake.store, root=uri))
        return Store(StoreSettings(root=uri))

    @property
    def has_sample_sources(self) -> bool:
        """Whether the sources are those of the sample that the demo downloads."""
        sample = _sample_sources(self.state_folder)
        return {name: source.uri for name, source in self.sources.items()} == {
            name: source["uri"] for name, source in sample.items()
        }

    def to_json(self) -> dict[str, Any]:
        return {
            "lake": self.lake.to_json(),
            "state_folder": self.state_folder,
            "sources": {name: _as_dict(source) for name, source in self.sources.items()},
            "spark": _as_dict(self.spark),
            "inference": _as_dict(self.inference),
            "prices": _as_dict(self.prices),
            "launcher": self.launcher,
            "dagster_profile": self.dagster_profile,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Settings":
        return cls(
            lake=LakeSettings.from_json(value["lake"]),
            state_folder=value["state_folder"],
            sources={name: SourceSettings(**source) for name, source in value["sources"].items()},
            spark=SparkSettings(**value["spark"]),
            inference=InferenceSettings(**value["inference"]),
            prices=PriceSettings(**value["prices"]),
            launcher=value["launcher"],
            dagster_profile=value["dagster_profile"],
        )


def load_settings(path: str | Path | None = None) -> Settings:
    """Return the settings of `path`, else of $CORPUSMILL_SETTINGS, else of ./corpusmill.toml, else the defaults.

    Relative folders are relative to the settings file. Raises ValueError that names the file and the key.
    """
    file = settings_file(path)
    if not file.exists():
        if path or os.environ.get(SETTINGS_VARIABLE):
            raise ValueError(f"the settings file {file} does not exist; make it or unset {SETTINGS_VARIABLE}")
        return settings_from_table({}, base=Path.cwd())
    text = _read_text(file)
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{file} is not valid TOML: {error}") from error
    try:
        return settings_from_table(table, base=file.parent)
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from error


def settings_file(path: str | Path | None = None) -> Path:
    """Return the file that `load_settings` reads, whether it is there or not."""
    return Path(path or os.environ.get(SETTINGS_VARIABLE) or DEFAULT_FILE).absolute()


def settings_from_table(table: Mapping[str, Any], *, base: Path) -> Settings:
    """Return the settings that a parsed TOML table spells, with relative folders below `base`."""
    known = ("lake", "state_folder", "sources", "spark", "inference", "prices", "launcher", "dagster_profile")
    _check_keys(table, known, "the top level")
    state_folder = _absolute(str(table.get("state_folder", ".corpusmill")), base)
    for name in ("state_folder", "launcher", "dagster_profile"):
        _check_type(table.get(name, ""), str, name)
    sources = table.get("sources") or _sample_sources(state_folder)
    if not isinstance(sources, Mapping):
        raise ValueError(f"[sources] must hold one table a dataset, such as [sources.web], got {sources!r}")
    return Settings(
        lake=_lake(table.get("lake", {}), state_folder=state_folder, base=base),
        state_folder=state_folder,
        sources={name: _source(name, value, base) for name, value in sources.items()},
        spark=_section(SparkSettings, table.get("spark", {}), "[spark]"),
        inference=_section(InferenceSettings, table.get("inference", {}), "[inference]"),
        prices=_section(PriceSettings, table.get("prices", {}), "[prices]"),
        launcher=table.get("launcher", "in_process"),
        dagster_profile=table.get("dagster_profile", "dagster.yaml"),
    )


def _read_text(file: Path) -> str:
    """Return a file's text, without the mark that some editors put before it."""
    try:
        data = file.read_bytes()
    except IsADirectoryError as error:
        raise ValueError(f"{file} is a folder; name the settings file in it, such as {file / DEFAULT_FILE}") from error
    except OSError as error:
        raise ValueError(f"the settings file {file} cannot be read: {error.strerror}; make it readable") from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"{file} is not UTF-8: byte {error.start} (line {line}) is 0x{data[error.start]:02x}; save the file as UTF-8"
        ) from error


def _sample_sources(state_folder: str) -> dict[str, dict[str, Any]]:
    """Return the sources of the sample that the demo downloads."""
    sample = f"{state_folder}/sample"
    return {
        "web": {"uri": f"{sample}/web", "format": "warc"},
        "code": {"uri": f"{sample}/code", "format": "package", "options": {"include": ["*.py"]}},
        "stem": {"uri": f"{sample}/stem", "format": "package", "options": {"include": ["*.rst"]}},
    }


def _lake(table: Mapping[str, Any], *, state_folder: str, base: Path) -> LakeSettings:
    _check_keys(table, ("root", "catalog", "endpoint", "region"), "[lake]")
    for name, value in table.items():
        _check_type(value, str, f"[lake] {name}")
    root = _absolute(str(table.get("root", f"{state_folder}/lake")), base)
    store = StoreSettings(root=root, endpoint=table.get("endpoint"), region=table.get("region"))
    return LakeSettings(store=store, catalog=table.get("catalog"))


def _source(name: str, value: Mapping[str, Any], base: Path) -> SourceSettings:
    source = _section(SourceSettings, value, f"[sources.{name}]")
    try:
        (item_options.ItemOptions if name == item_options.SOURCE else ReadOptions).from_mapping(source.options)
    except ValueError as error:
        raise ValueError(f"[sources.{name}] options: {error}") from error
    return dataclasses.replace(source, uri=_absolute(source.uri, base))


def _section(kind: type, value: Mapping[str, Any], where: str) -> Any:
    fields = {item.name: item for item in dataclasses.fields(kind)}
    _check_keys(value, tuple(fields), where)
    missing = [
        name
        for name, item in fields.items()
        if name not in value and item.default is dataclasses.MISSING and item.default_factory is dataclasses.MISSING
    ]
    if missing:
        raise ValueError(f"{where} needs {', '.join(missing)}")
    for name, item in value.items():
        _check_type(item, fields[name].type, f"{where} {name}")
    return kind(**value)


def _check_type(value: Any, kind: Any, where: str) -> None:
    kinds: dict[Any, tuple[type, ...]] = {str: (str,), int: (int,), float: (int, float), bool: (bool,)}
    wanted = kinds.get(kind)
    if wanted and (not isinstance(value, wanted) or (isinstance(value, bool) and kind is not bool)):
        raise ValueError(f"{where} must be a {kind.__name__}, got {value!r}")


def _check_plain(name: str, value: Any) -> None:
    """Raise ValueError for a date and the like: options travel as JSON."""
    if not isinstance(value, (str, int, float, bool, list)):
        raise ValueError(f"a source's option {name} must be text, a number, true, false or a list, got {value!r}")
    for item in value if isinstance(value, list) else ():
        _check_plain(name, item)


def _check_keys(table: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    if not isinstance(table, Mapping):
        raise ValueError(f"{where} must be a table of settings, got {table!r}")
    for key in table:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"unknown setting {key!r} in {where}{hint} (known: {', '.join(known)})")


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, got {value!r}")


def _check_url(url: Any) -> None:
    parts = urlsplit(url) if isinstance(url, str) else None
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"inference.servers must hold URLs such as http://10.0.0.5:8000, got {url!r}")
    if parts.username or parts.password or parts.query:
        raise ValueError(
            f"inference.servers must hold no credentials, as settings are shown: put the key of {parts.hostname} into an "
            "environment variable and name it in inference.api_key_variable"
        )


def _absolute(uri: str, base: Path) -> str:
    return uri if "://" in uri else str((base / uri).absolute())


def _as_dict(value: Any) -> dict[str, Any]:
    """Return the fields of a section, as JSON has them."""
    items = {item.name: getattr(value, item.name) for item in dataclasses.fields(value)}
    return {name: list(item) if isinstance(item, tuple) else item for name, item in items.items()}
