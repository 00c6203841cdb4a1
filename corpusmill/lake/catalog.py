"""Opening the Iceberg catalog that the settings name, and creating tables in it."""

import difflib
import os
from urllib.parse import parse_qsl

import pyarrow as pa
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.exceptions import (
    NamespaceAlreadyExistsError,
    NoSuchTableError,
    RESTError,
    TableAlreadyExistsError,
    ValidationError,
)
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import assign_fresh_schema_ids
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform
from pyiceberg.utils.config import Config

from corpusmill.lake.damage import metadata_damage_named
from corpusmill.lake.errors import SchemaMismatchError, TableMissingError, UnsuitableStoreError
from corpusmill.lake.names import table_identifier
from corpusmill.lake.partitions import ARROW_SCHEMA
from corpusmill.lake.schemas import PARTITION_FIELD_ID, PARTITION_KEY, encode_schema
from corpusmill.lake.store import LakeSettings, StoreSettings

_NAME = "corpusmill"
_SQLITE_FILE = "catalog.db"
_LOCK_TIMEOUT_SECONDS = 60
_MAX_OPEN_ATTEMPTS = 10
_MAX_LOAD_ATTEMPTS = 5


def open_catalog(settings: LakeSettings) -> Catalog:
    """Open the catalog; raises UnsuitableStoreError when a database does not answer."""
    properties = _file_properties(settings.store)
    if settings.is_rest:
        assert settings.catalog is not None
        return _open_rest(settings.catalog, settings.store.root, properties)
    return _open_sql(settings.catalog or _sqlite_url(settings.store.root), settings.store.root, properties)


def catalog_exists(settings: LakeSettings) -> bool:
    """Return whether there is a catalog: a named one is taken to be there, a SQLite file is looked for."""
    return settings.catalog is not None or os.path.exists(os.path.join(settings.store.root, _SQLITE_FILE))


def find_table(catalog: Catalog, table: str) -> Table | None:
    """Load a table at its current version, or return None when there is none of that name."""
    identifier = table_identifier(table)
    for _ in range(_MAX_LOAD_ATTEMPTS):
        try:
            return catalog.load_table(identifier)
        except NoSuchTableError:
            return None
        except (ValidationError, ValueError, TypeError, LookupError):
            with metadata_damage_named(f"the newest metadata of {table}, in {catalog.properties['warehouse']},"):
                raise
        except FileNotFoundError as error:
            # Between the look at the catalog and the read of the metadata, 100 newer versions have landed.
            last = error
    raise TableMissingError(f"the catalog names metadata of {table} that is gone: {last}") from last


def load_table(catalog: Catalog, table: str) -> Table:
    """Load a table at its current version; raises TableMissingError."""
    found = find_table(catalog, table)
    if found is None:
        near = difflib.get_close_matches(table, list_tables(catalog), n=2, cutoff=0.85)
        hint = f"did you mean {' or '.join(near)}? Else " if near else ""
        raise TableMissingError(
            f"no table {table} in {catalog.properties['warehouse']}; {hint}make it first: "
            f"corpusmill materialize --assets {table}"
        )
    return found


def ensure_table(catalog: Catalog, table: str, *, schema: pa.Schema, location: str | None) -> Table:
    """Load a table, or create it empty with this schema (`partition_key` first); None lets the catalog place it."""
    found = find_table(catalog, table)
    if found is None:
        _create(catalog, table_identifier(table), schema=schema, location=location)
    return found or load_table(catalog, table)


def list_tables(catalog: Catalog) -> list[str]:
    """Return the names of all tables, sorted."""
    found: set[str] = set()
    seen: set[tuple[str, ...]] = set()
    waiting = catalog.list_namespaces()
    while waiting:
        namespace = waiting.pop()
        if namespace not in seen:
            # Some catalogs list nested namespaces at the top as well.
            seen.add(namespace)
            found |= {"/".join(identifier) for identifier in catalog.list_tables(namespace)}
            waiting += catalog.list_namespaces(namespace)
    return sorted(found)


def _create(catalog: Catalog, identifier: tuple[str, ...], *, schema: pa.Schema, location: str | None) -> None:
    from sqlalchemy.exc import IntegrityError

    for depth in range(1, len(identifier)):
        try:
            catalog.create_namespace(identifier[:depth])
        except (NamespaceAlreadyExistsError, IntegrityError):
            continue
    properties = {
        ARROW_SCHEMA: encode_schema(schema),
        "write.parquet.compression-codec": "zstd",
        # Our own loop retries, because every retry must check the fence again.
        "commit.retry.num-retries": "0",
        "write.metadata.previous-versions-max": "100",
    }
    try:
        # The only way from an Arrow schema to one with ids before the table exists is private in PyIceberg 0.12.
        converted = assign_fresh_schema_ids(Catalog._convert_schema_if_needed(schema))
    except (TypeError, ValueError) as error:
        raise SchemaMismatchError(f"Iceberg cannot hold the schema of {'/'.join(identifier)}: {error}") from error
    # Files carry no field ids; other Iceberg readers find columns by this mapping.
    properties["schema.name-mapping.default"] = converted.name_mapping.model_dump_json()
    key = PartitionField(
        source_id=converted.find_field(PARTITION_KEY).field_id,
        field_id=PARTITION_FIELD_ID,
        transform=IdentityTransform(),
        name=PARTITION_KEY,
    )
    try:
        catalog.create_table(
            identifier, converted, location=location, partition_spec=PartitionSpec(key), properties=properties
        )
    except TableAlreadyExistsError:
        return


def _open_rest(url: str, root: str, properties: dict[str, str]) -> Catalog:
    """Open a REST catalog; `?warehouse=NAME` in the URL names its warehouse, PyIceberg's own settings its credentials."""
    uri, _, query = url.partition("?")
    warehouse = dict(parse_qsl(query)).get("warehouse", root)
    # Read now: load_catalog itself knows only the environment at its import.
    configured = Config().get_catalog_config(_NAME) or {}
    chosen = {**configured, **properties, "type": "rest", "uri": uri, "warehouse": warehouse}
    try:
        return load_catalog(_NAME, **chosen)
    except (RESTError, OSError) as error:
        raise UnsuitableStoreError(
            f"the catalog {uri} does not answer: {error}; check its URL, and the credentials in "
            "PYICEBERG_CATALOG__CORPUSMILL__CREDENTIAL or PYICEBERG_CATALOG__CORPUSMILL__TOKEN"
        ) from error


def _open_sql(url: str, root: str, properties: dict[str, str]) -> Catalog:
    from pyiceberg.catalog.sql import SqlCatalog
    from sqlalchemy.exc import DBAPIError, SQLAlchemyError

    for attempt in range(_MAX_OPEN_ATTEMPTS):
        try:
            return SqlCatalog(_NAME, uri=url, warehouse=root, pool_pre_ping="true", **properties)
        except DBAPIError as error:
            # Of several processes that create the catalog's tables at once, all but one fail, and find them next time.
            if attempt + 1 < _MAX_OPEN_ATTEMPTS and "exist" in str(error):
                continue
            raise UnsuitableStoreError(f"the catalog {_shown(url)} does not answer: {error.orig}") from error
        except (SQLAlchemyError, ImportError) as error:
            raise UnsuitableStoreError(f"the catalog {_shown(url)} cannot be opened: {error}") from error
    raise AssertionError("unreachable")


def _sqlite_url(root: str) -> str:
    from sqlalchemy.engine import URL

    try:
        os.makedirs(root, exist_ok=True)
    except OSError as error:
        raise UnsuitableStoreError(
            f"the folder {root} cannot keep a lake: {error}; choose a writable folder"
        ) from error
    database = os.path.join(root, _SQLITE_FILE)
    url = URL.create("sqlite", database=database, query={"timeout": str(_LOCK_TIMEOUT_SECONDS)})
    return url.render_as_string(hide_password=False)


def _shown(url: str) -> str:
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        return make_url(url).render_as_string(hide_password=True)
    except ArgumentError:
        return "(not a SQLAlchemy URL)"


def _file_properties(settings: StoreSettings) -> dict[str, str]:
    if not settings.is_s3:
        return {}
    properties = {
        "s3.endpoint": settings.endpoint,
        # Without a region PyIceberg asks AWS for the bucket's.
        "s3.region": settings.region or "us-east-1",
        "s3.connect-timeout": str(settings.connect_timeout_seconds),
        "s3.request-timeout": str(settings.request_timeout_seconds),
        "s3.retry-strategy-impl": "corpusmill.lake.s3_backend.SlowDownRetry",
    }
    return {name: value for name, value in properties.items() if value is not None}
