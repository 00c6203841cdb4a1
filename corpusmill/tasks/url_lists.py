"""curated/url_lists/entries: the lists of domains, words and opt-outs that URLs are held against, from [sources.url_lists].

The source is a folder whose files say by the beginning of their name which list they belong to: `blocked_domains`,
`blocked_words` or `opt_outs`. JSONL and Parquet files have the columns of that list (see `corpusmill.curate.urls_lists`);
of `.txt` files each line that is not blank and does not begin with # is a domain, or in blocked_words
a word of the kind `word`, or of the kind in the name: `blocked_words_anywhere.txt`, `blocked_words_soft.txt`. JSONL and
text may be compressed. An entry that cannot be read fails the task: a list with holes would let pages pass.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from corpusmill.counts import Counts
from corpusmill.curate.urls_lists import BLOCKED_DOMAINS, BLOCKED_WORDS, OPT_OUTS, WORD_KINDS, UrlLists, build_url_lists
from corpusmill.lake.store import Store
from corpusmill.lake.tables import Attempt
from corpusmill.read.jsonl import read_lines
from corpusmill.read.source_file import SourceFile, open_source
from corpusmill.tasks.list_files import JSONL, PARQUET, list_files, read_objects
from corpusmill.tasks.task import Job, Outcome, partition_writer, truncate_sample

SOURCE = "url_lists"
LISTS = {"blocked_domains": BLOCKED_DOMAINS, "blocked_words": BLOCKED_WORDS, "opt_outs": OPT_OUTS}
_TEXT = (".txt", ".txt.gz", ".txt.zst", ".txt.lz4")
_ENDINGS = (*JSONL, *_TEXT, PARQUET)
_MAX_LINE_BYTES = 1 << 20

ENTRIES = pa.schema(
    [
        pa.field("list", pa.string(), nullable=False),
        *(
            field.with_nullable(True)
            for field in {item.name: item for schema in LISTS.values() for item in schema}.values()
        ),
    ]
)
"""All lists in one table; columns that a list does not have are null."""


def table(dataset: str) -> str:
    return f"curated/{dataset}/entries"


def schema(parameters: Mapping[str, Any]) -> pa.Schema:
    return ENTRIES


def inputs(job: Job) -> dict[str, Any]:
    return {"files": _files(job)}


def run(job: Job, attempt: Attempt) -> Outcome:
    store = job.settings.source_store(job.dataset)
    entries = pa.concat_tables(_read(store, file["key"]) for file in _files(job))
    lists = entries_to_lists(entries, {})
    with partition_writer(job, attempt, name="entries") as writer:
        writer.write(entries)
    return Outcome(
        files=writer.files,
        counts=Counts(rows_in=len(entries), kept=len(entries)),
        metrics={row["values"]: row["counts"] for row in pc.value_counts(entries["list"]).to_pylist()},
        samples=truncate_sample(entries, columns=ENTRIES.names[:-1]),
        state={"lists": lists.fingerprint},
    )


def entries_to_lists(entries: pa.Table, parameters: Mapping[str, Any]) -> UrlLists:
    """Return ENTRIES as lists made ready; `parameters` may hold agents, as_of and min_soft_words."""
    chosen = {
        name: entries.filter(pc.equal(entries["list"], name)).select(columns.names) for name, columns in LISTS.items()
    }
    return build_url_lists(**chosen, **parameters)


def _files(job: Job) -> list[dict[str, Any]]:
    listed = list_files(job)
    wrong = [file["key"] for file in listed if not _is_list(file["key"])]
    if wrong or not listed:
        raise ValueError(
            f"[sources.{job.dataset}] wanted files whose names begin with {', '.join(LISTS)} and end with "
            f"{', '.join(_ENDINGS)} below {job.settings.source(job.dataset).uri}, got {', '.join(wrong[:3]) or 'none'}"
        )
    return listed


def _is_list(key: str) -> bool:
    return _name(key).startswith(tuple(LISTS)) and key.endswith(_ENDINGS)


def _name(key: str) -> str:
    return key.rpartition("/")[2]


def _read(store: Store, key: str) -> pa.Table:
    """Return the entries of one file; a ValueError names the file and the line that is wrong."""
    name = next(name for name in LISTS if _name(key).startswith(name))
    try:
        with open_source(store, store.uri(key)) as file:
            rows = _rows(file, key, name)
    except (OSError, pa.ArrowInvalid, pa.ArrowTypeError, UnicodeError) as error:
        raise ValueError(f"{key} cannot be read: {error}; write it anew") from error
    unknown = [column for column in rows.column_names if column not in LISTS[name].names]
    if unknown:
        raise ValueError(
            f"{key}: {name} has the columns {', '.join(LISTS[name].names)}, got {', '.join(unknown)} as well"
        )
    columns = [
        rows[field.name].cast(field.type) if field.name in rows.column_names else pa.nulls(len(rows), field.type)
        for field in ENTRIES.remove(0)
    ]
    return pa.table([pa.array([name] * len(rows), pa.string()), *columns], schema=ENTRIES)


def _rows(file: SourceFile, key: str, name: str) -> pa.Table:
    if not file.size():
        raise ValueError(f"{key} is empty: write its entries, or take the file away")
    if key.endswith(PARQUET):
        return pq.read_table(file)
    if key.endswith(JSONL):
        return pa.Table.from_pylist(list(_objects(file, key)), schema=LISTS[name])
    return _words(list(_texts(file, key)), name, _name(key))


def _words(lines: list[str], name: str, file: str) -> pa.Table:
    if name == "blocked_words":
        kind = next((kind for kind in WORD_KINDS if file.startswith(f"{name}_{kind}")), "word")
        return pa.table({"word": lines, "kind": pa.array([kind] * len(lines), pa.string())})
    return pa.table({"domain": pa.array(lines, pa.string())})


def _objects(file: SourceFile, key: str) -> Iterator[dict[str, Any]]:
    for number, value, failure in read_objects(file, max_line_bytes=_MAX_LINE_BYTES):
        if failure:
            raise ValueError(f"{key}: line {number} cannot be read ({failure})")
        yield value


def _texts(file: SourceFile, key: str) -> Iterator[str]:
    for line in read_lines(file, max_bytes=_MAX_LINE_BYTES):
        try:
            text = (line.data or b"").decode().strip()
        except UnicodeDecodeError:
            raise ValueError(f"{key}: line {line.number + 1} is not UTF-8") from None
        if line.failure:
            raise ValueError(f"{key}: line {line.number + 1} cannot be read ({line.failure})")
        if text and not text.startswith("#"):
            yield text
