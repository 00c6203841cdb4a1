"""One rule, a function from Arrow table to Arrow table, over one table on any engine.

The rule must judge each row by itself: the table is cut into slices, and slices meet the rule on different workers.
Slices travel as Arrow IPC, so that no engine's own type system stands between the rule and its columns.
"""

import base64
import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from corpusmill.engines.engine import Engine
from corpusmill.named import named_function

DEFAULT_SLICE_ROWS = 1024


def map_table(
    rule: str, *, engine: Engine, table: pa.Table, parameters: Mapping[str, Any], slice_rows: int = DEFAULT_SLICE_ROWS
) -> pa.Table:
    """Return the rule's rows in the order of `table`; `rule` is named `module:function`, called as rule(table, parameters)."""
    starts = range(0, max(table.num_rows, 1), slice_rows)
    rows = [
        json.dumps(
            {
                "index": index,
                "rule": rule,
                "parameters": dict(parameters),
                "table": _spell(table.slice(start, slice_rows)),
            }
        ).encode()
        for index, start in enumerate(starts)
    ]
    results = [json.loads(row) for row in engine.map_rows("corpusmill.engines.table_rule:apply_rule", rows)]
    return pa.concat_tables([_read(result["table"]) for result in sorted(results, key=lambda it: it["index"])])


def apply_rule(row: bytes) -> bytes:
    """Apply the rule of one encoded slice; what an engine's workers call."""
    call = json.loads(row)
    result = named_function(call["rule"])(_read(call["table"]), call["parameters"])
    return json.dumps({"index": call["index"], "table": _spell(result)}).encode()


def _spell(table: pa.Table) -> str:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return base64.b64encode(sink.getvalue()).decode()


def _read(spelled: str) -> pa.Table:
    with pa.ipc.open_stream(base64.b64decode(spelled)) as reader:
        return reader.read_all()
