"""The object store: a local folder or an S3 prefix behind one small set of operations.

Keys are relative to the root. Absolute URIs (`s3://bucket/key`, `/path`, `file:///path`) are accepted wherever a key is,
so that payloads outside the lake can be read; nothing outside the root is ever written or deleted. A written object
appears whole or not at all.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from types import TracebackType
from typing import Any, Protocol

import pyarrow as pa
from pyarrow import fs

_S3 = "s3://"


@dataclass(frozen=True, kw_only=True)
class StoreSettings:
    """Where objects lie. Credentials are never here: S3 takes them from the standard AWS chain."""

    root: str
    """`s3://bucket/prefix` or a local folder; a relative folder is made absolute."""
    endpoint: str | None = None
    """URL of an S3 service other than AWS, with http:// or https://."""
    region: str | None = None
    connect_timeout_seconds: float = 10.0
    request_timeout_seconds: float = 60.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "root", _normal_root(self.root))

    @property
    def is_s3(self) -> bool:
        return self.root.startswith(_S3)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "StoreSettings":
        return cls(**value)


@dataclass(frozen=True, kw_only=True)
class LakeSettings:
    """A store and the catalog that names its tables' current versions."""

    store: StoreSettings
    catalog: str | None = None
    """None for a SQLite file in a local lake's folder; else a SQLAlchemy URL (`postgresql+psycopg2://...`) or the
    http(s) URL of an Iceberg REST catalog, `?warehouse=NAME` added where it keeps several."""

    def __post_init__(self) -> None:
        if self.catalog is None and self.store.is_s3:
            raise ValueError(
                f"the lake {self.store.root} is on S3 and names no catalog; a SQLite file cannot be shared there: set "
                "catalog to postgresql+psycopg2://user@host/database or to the URL of an Iceberg REST catalog"
            )

    @property
    def is_rest(self) -> bool:
        return self.catalog is not None and self.catalog.startswith(("http://", "https://"))

    def to_json(self) -> dict[str, Any]:
        return {"store": self.store.to_json(), "catalog": self.catalog}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "LakeSettings":
        return cls(store=StoreSettings.from_json(value["store"]), catalog=value.get("catalog"))


@dataclass(frozen=True, kw_only=True)
class StoredObject:
    """One object of a listing."""

    key: str
    uri: str
    """Where it lies, as its storage spells it: a local name that is not UTF-8 has lone surrogates for its bytes."""
    size: int
    modified: datetime
    """When it was last written, with its time zone."""


class PendingObject(Protocol):
    """An object being written: `publish` makes it visible, `discard` forgets it; as a context manager it does either."""

    stream: pa.NativeFile

    def publish(self) -> None: ...

    def discard(self) -> None: ...

    def __enter__(self) -> pa.NativeFile: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None: ...


class Backend(Protocol):
    """What a kind of storage must do. Locations are absolute: a path, or `s3://bucket/key`."""

    @property
    def filesystem(self) -> fs.FileSystem: ...

    def path(self, location: str) -> str: ...
    def read(self, location: str) -> bytes: ...
    def write(self, location: str, data: bytes) -> None: ...
    def create(self, location: str, data: bytes) -> bool: ...
    def size(self, location: str) -> int | None: ...
    def delete(self, locations: Iterable[str]) -> None: ...
    def list(self, prefix: str) -> Iterator[tuple[str, int, datetime]]: ...
    def entries(self, location: str) -> Sequence[tuple[str, bool]]: ...
    def open_output(self, location: str) -> PendingObject: ...
    def check(self, root: str) -> None: ...


class Store:
    """An object store. Pickles as its settings; connections open on first use."""

    def __init__(self, settings: StoreSettings) -> None:
        self.settings = settings
        self.root = settings.root
        self._backends: dict[str, Backend] = {}

    def __getstate__(self) -> StoreSettings:
        return self.settings

    def __setstate__(self, settings: StoreSettings) -> None:
        self.__init__(settings)  # type: ignore[misc]

    def uri(self, key: str) -> str:
        """Return the absolute URI of a key; an absolute URI is returned in its normal spelling."""
        if key.startswith(_S3):
            return key
        if key.startswith("file://"):
            return os.path.abspath(key.removeprefix("file://"))
        if key.startswith("/"):
            return os.path.abspath(key)
        _check_key(key)
        return f"{self.root}/{key}"

    def key(self, uri: str) -> str:
        """Return the key of a URI inside the root; a URI elsewhere is its own key."""
        location = self.uri(uri)
        return location.removeprefix(f"{self.root}/")

    def read(self, key: str) -> bytes:
        """Return the object's bytes; raises FileNotFoundError."""
        location = self.uri(key)
        return self._backend(location).read(location)

    def write(self, key: str, data: bytes) -> None:
        """Write or replace an object; a reader sees the old bytes or the new ones."""
        location = self._own(key)
        self._backend(location).write(location, data)

    def create(self, key: str, data: bytes) -> bool:
        """Write an object that must not exist yet; of many racing writers exactly one gets True."""
        location = self._own(key)
        return self._backend(location).create(location, data)

    def exists(self, key: str) -> bool:
        location = self.uri(key)
        return self._backend(location).size(location) is not None

    def size(self, key: str) -> int:
        """Return the object's size in bytes; raises FileNotFoundError."""
        location = self.uri(key)
        size = self._backend(location).size(location)
        if size is None:
            raise FileNotFoundError(f"no object at {location}")
        return size

    def delete(self, keys: Iterable[str]) -> None:
        """Delete objects; one that is not there is no error."""
        locations = [self._own(key) for key in keys]
        if locations:
            self._backend(locations[0]).delete(locations)

    def list(self, prefix: str = "") -> Iterator[StoredObject]:
        """Yield the objects whose key starts with `prefix`, sorted by key, a page of 1,000 keys at a time."""
        location = self.uri(prefix) if prefix.strip("/") else f"{self.root}/"
        if prefix.endswith("/") and not location.endswith("/"):
            location += "/"
        for found, size, modified in self._backend(location).list(location):
            yield StoredObject(key=self.key(found), uri=found, size=size, modified=modified)

    def entries(self, key: str) -> Sequence[tuple[str, bool]]:
        """Return (name, whether it is a folder) of what lies right in a folder, sorted; FileNotFoundError if it is not there."""
        location = self.uri(key)
        return sorted(self._backend(location).entries(location))

    def open_input(self, key: str) -> pa.NativeFile:
        """Open an object for random access; raises FileNotFoundError, and IsADirectoryError where a folder lies."""
        filesystem, path = self.filesystem(key)
        try:
            return filesystem.open_input_file(path)
        except NotADirectoryError as error:
            raise FileNotFoundError(f"no object at {self.uri(key)}: a part of its path is a file") from error
        except OSError as error:
            # Arrow says of a folder what it says of a storage that does not answer.
            if filesystem.get_file_info(path).type == fs.FileType.Directory:
                raise IsADirectoryError(f"a folder lies at {self.uri(key)}, wanted a file") from error
            raise

    def map(self, key: str) -> pa.Buffer:
        """Return an object's bytes; of a local file without reading them, shared by all processes that map it.

        Raises FileNotFoundError.
        """
        location = self.uri(key)
        if location.startswith(_S3):
            return pa.py_buffer(self.read(key))
        with pa.memory_map(location) as file:
            return file.read_buffer()

    def open_output(self, key: str) -> PendingObject:
        """Start writing an object that becomes visible when it is published."""
        location = self._own(key)
        return self._backend(location).open_output(location)

    def filesystem(self, key: str) -> tuple[fs.FileSystem, str]:
        """Return the Arrow filesystem that holds a key, and the key's path in it."""
        location = self.uri(key)
        backend = self._backend(location)
        return backend.filesystem, backend.path(location)

    def check(self) -> None:
        """Raise UnsuitableStoreError when the root cannot keep a lake (tried by writing a probe)."""
        self._backend(self.root).check(self.root)

    def _own(self, key: str) -> str:
        location = self.uri(key)
        if not location.startswith(f"{self.root}/"):
            raise ValueError(f"only objects under {self.root} may be written or deleted, got {location}")
        _check_key(location.removeprefix(f"{self.root}/"))
        return location

    def _backend(self, location: str) -> Backend:
        kind = "s3" if location.startswith(_S3) else "local"
        if kind not in self._backends:
            self._backends[kind] = self._open_s3() if kind == "s3" else self._open_local()
        return self._backends[kind]

    def _open_s3(self) -> Backend:
        from corpusmill.lake.s3_backend import S3Backend

        return S3Backend(self.settings)

    def _open_local(self) -> Backend:
        from corpusmill.lake.local_backend import LocalBackend

        return LocalBackend(self.root)


def _check_key(key: str) -> None:
    if any(part in ("..", ".") for part in key.split("/")) or "\x00" in key or "//" in key:
        raise ValueError(f"a key is a relative path without '.', '..' or empty parts, got {key!r}")


def _normal_root(root: str) -> str:
    if not root:
        raise ValueError("the store's root is empty: give a folder or s3://bucket/prefix")
    if "://" not in root or root.startswith("file://"):
        return os.path.abspath(os.path.expanduser(root.removeprefix("file://")))
    if not root.startswith(_S3):
        raise ValueError(f"the store's root is a local folder or s3://bucket/prefix, got {root}")
    bucket_and_prefix = root.removeprefix(_S3).rstrip("/")
    if not bucket_and_prefix or any(character in bucket_and_prefix for character in "?#%~ "):
        raise ValueError(f"an S3 root is s3://bucket or s3://bucket/prefix without ? # % ~ or blanks, got {root}")
    return _S3 + bucket_and_prefix
