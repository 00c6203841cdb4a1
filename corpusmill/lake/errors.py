"""What the lake refuses, one class per reason, so that a caller can tell them apart.

What the user has to settle is a ValueError; what the machine did is a RuntimeError.
"""


class UnsuitableStoreError(ValueError):
    """The folder or bucket cannot keep a lake: it is missing, read-only, or lacks an operation that commits need."""


class TableMissingError(ValueError):
    """No such table, or a table that never had a commit."""


class PartitionMissingError(ValueError):
    """A partition that was asked for has never been committed."""


class GateFailedError(ValueError):
    """A partition's gate failed, so nothing downstream may read it."""


class SchemaMismatchError(ValueError):
    """Rows or a new schema do not fit the table."""


class DataFileError(RuntimeError):
    """A data file that a table names is gone, or its bytes are not those that were written."""


class StaleAttemptError(RuntimeError):
    """A newer attempt has begun on the partition; this one may no longer commit."""


class CommitTimeoutError(RuntimeError):
    """The commit could not land within its time because other writers kept landing first."""
