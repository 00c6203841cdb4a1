"""Arrow schemas of tables: what a lake can hold, and how a table's schema grows.

A table may gain columns, and a column may become nullable. It never loses a column or changes a type: old files stay.
"""

import base64

import pyarrow as pa
import pyarrow.types as pat

from corpusmill.lake.errors import SchemaMismatchError

PARTITION_KEY = "partition_key"
"""The first column of every table: the partition's name."""

PARTITION_FIELD_ID = 1000
"""Field id of the partition value in manifests: the first that the Iceberg specification gives out."""

_KEY_FIELD = pa.field(PARTITION_KEY, pa.string(), nullable=False)


def table_schema(schema: pa.Schema) -> pa.Schema:
    """Return the schema of a table's files: `partition_key`, then the rows' own columns without metadata."""
    if PARTITION_KEY in schema.names:
        raise SchemaMismatchError(f"the lake adds the column {PARTITION_KEY} itself; remove it from the schema")
    if not len(schema) or len(set(schema.names)) != len(schema):
        raise SchemaMismatchError(f"a table needs columns with different names, got {schema.names}")
    if unsigned := [field.name for field in schema if _holds_unsigned(field.type)]:
        raise SchemaMismatchError(f"Iceberg has no unsigned integers; make {', '.join(unsigned)} int64 or binary")
    return pa.schema([_KEY_FIELD, *schema.remove_metadata()])


def row_schema(schema: pa.Schema) -> pa.Schema:
    """Return a table's schema without `partition_key`."""
    return pa.schema([field for field in schema if field.name != PARTITION_KEY])


def merge_schemas(existing: pa.Schema, wanted: pa.Schema) -> pa.Schema:
    """Return the existing schema grown to hold rows of the wanted one.

    New columns are appended and nullable, because old files lack them. Raises SchemaMismatchError when a type differs.
    """
    changed = [
        f"{field.name} is {existing.field(field.name).type}, wanted {field.type}"
        for field in wanted
        if field.name in existing.names and field.type != existing.field(field.name).type
    ]
    if changed:
        raise SchemaMismatchError(
            f"a column's type cannot change: {'; '.join(changed)}; add a column under a new name instead"
        )
    kept = [
        field.with_nullable(field.nullable or field.name not in wanted.names or wanted.field(field.name).nullable)
        for field in existing
    ]
    added = [field.with_nullable(True) for field in wanted if field.name not in existing.names]
    return pa.schema(kept + added)


def encode_schema(schema: pa.Schema) -> str:
    """Spell an Arrow schema as text."""
    return base64.b64encode(schema.serialize().to_pybytes()).decode()


def decode_schema(spelled: str) -> pa.Schema:
    """Return the Arrow schema that `encode_schema` spelled."""
    return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(spelled)))


def _holds_unsigned(kind: pa.DataType) -> bool:
    if pat.is_nested(kind):
        return any(_holds_unsigned(kind.field(index).type) for index in range(kind.num_fields))
    return pat.is_unsigned_integer(kind)
