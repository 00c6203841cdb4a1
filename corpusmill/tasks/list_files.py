"""Sources that are a folder of lists without snapshots, benchmarks and URL lists: their files, and the rows of a JSONL one."""

from collections.abc import Iterator
from typing import Any

from corpusmill.read.file_names import check_names
from corpusmill.read.jsonl import SUFFIXES, parse_line, read_lines
from corpusmill.read.source_file import InputFile
from corpusmill.tasks.task import Job

JSONL = SUFFIXES
PARQUET = ".parquet"


def list_files(job: Job) -> list[dict[str, Any]]:
    """Return `key`, `size` and `modified` of every file of the dataset's source, sorted by key: what decides a list.

    Raises ValueError for a name that no store can open.
    """
    listed = sorted(job.settings.source_store(job.dataset).list(""), key=lambda item: item.key)
    check_names(item.key for item in listed)
    return [{"key": item.key, "size": item.size, "modified": str(item.modified)} for item in listed]


def read_objects(file: InputFile, *, max_line_bytes: int) -> Iterator[tuple[int, dict[str, Any], str | None]]:
    """Yield line number (from 1), object and no failure of each line of a JSONL file, or {} and why there is no object."""
    for line in read_lines(file, max_bytes=max_line_bytes):
        yield line.number + 1, *parse_line(line)
