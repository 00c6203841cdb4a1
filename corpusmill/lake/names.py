"""Names of tables and partitions, and the keys that they become.

A table is stage/dataset/table. A partition's name is free text (`es|2024-01`, `a b`): in a key, every byte outside
A-Z a-z 0-9 . _ - becomes ~XX, so that no name can leave its folder and no URI needs escaping.
"""

import re

_TABLE = re.compile(r"[a-z][a-z0-9_]{0,99}(/[a-z][a-z0-9_]{0,99}){1,3}")
_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")
_MAX_PARTITION_BYTES = 80


def check_table(table: str) -> str:
    """Return the table's name, or raise ValueError when it is not one."""
    if not _TABLE.fullmatch(table):
        raise ValueError(
            f"a table is named stage/dataset/table in lower-case letters, digits and _ (2 to 4 parts), got {table!r}"
        )
    return table


def check_partition(partition: str) -> str:
    """Return the partition's name, or raise ValueError when it is empty, too long or holds control characters."""
    spelled = partition.encode("utf-8", "surrogatepass")
    if not partition or len(spelled) > _MAX_PARTITION_BYTES or not partition.isprintable():
        raise ValueError(
            f"a partition's name has 1 to {_MAX_PARTITION_BYTES} bytes and no control characters, "
            f"got {len(spelled)} bytes: {partition!r:.100}"
        )
    return partition


def partition_segment(partition: str) -> str:
    """Return the partition's name as one path segment; different names never give the same segment."""
    spelled = check_partition(partition).encode("utf-8", "surrogatepass")
    segment = "".join(chr(byte) if byte in _PLAIN else f"~{byte:02X}" for byte in spelled)
    # "." and ".." are folders of their own, and a leading dot hides a file.
    return "~2E" + segment[1:] if segment.startswith(".") else segment


def data_directory(table: str, partition: str) -> str:
    """Return the key prefix of the partition's data files, without a trailing slash."""
    return f"data/{check_table(table)}/{partition_segment(partition)}"


def staging_directory(table: str, partition: str) -> str:
    """Return the key prefix of what unfinished work on the partition leaves, without a trailing slash."""
    return f"staging/{check_table(table)}/{partition_segment(partition)}"


def report_directory(table: str, partition: str) -> str:
    """Return the key prefix of what tasks tell of their commits to the partition, without a trailing slash."""
    return f"reports/{check_table(table)}/{partition_segment(partition)}"


def log_directory(table: str, partition: str) -> str:
    """Return the key prefix of what was decided while the partition was read, for good, without a trailing slash."""
    return f"logs/{check_table(table)}/{partition_segment(partition)}"


def table_identifier(table: str) -> tuple[str, ...]:
    """Return the Iceberg identifier: namespace parts, then the table's own name."""
    return tuple(check_table(table).split("/"))
