"""A search, byte by byte, for what a lake should hold no more: in every file below a folder, unpacked and decoded.

The planted words (`w` and a number) are unique, so one of them, or a URL, is enough to tell that something of a text is left,
wherever it was cut. Read are raw bytes, each value of each Parquet file, packed tokens as text, and the bounds in manifests.
"""

import re
from collections.abc import Collection, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from tokenizers import Tokenizer

from corpusmill.lake.catalog import load_table
from corpusmill.lake.tables import Lake

_PLANTED = re.compile(rb"w\d{5,}|https?://[\w.]+/\d*")


def planted(text: str) -> set[bytes]:
    """Return the unique words and URLs of a text."""
    return {*_PLANTED.findall(text.encode())}


def where_left(folder: Path, lake: Lake, *, wanted: Collection[bytes], tokenizer: str) -> dict[str, int]:
    """Return how many of the wanted words and URLs each place below a folder holds; nothing where they are gone."""
    sought = {*wanted}
    found: dict[str, set[bytes]] = {}
    for place, data in _readings(folder, lake, Tokenizer.from_file(tokenizer)):
        if held := sought & {*_PLANTED.findall(data)}:
            found.setdefault(place, set()).update(held)
    return {place: len(held) for place, held in sorted(found.items())}


def _readings(folder: Path, lake: Lake, tokenizer: Tokenizer) -> Iterator[tuple[str, bytes]]:
    for file in sorted(one for one in folder.rglob("*") if one.is_file()):
        place = str(file.relative_to(folder))
        yield place, file.read_bytes()
        if file.suffix == ".parquet":
            yield from ((f"{place} {name}", data) for name, data in _columns(file, tokenizer))
    for table in lake.tables():
        loaded = load_table(lake.catalog, table)
        for snapshot in loaded.snapshots():
            for manifest in snapshot.manifests(loaded.io):
                for entry in manifest.fetch_manifest_entry(loaded.io, discard_deleted=False):
                    bounds = (entry.data_file.lower_bounds or {}, entry.data_file.upper_bounds or {})
                    yield manifest.manifest_path, b" ".join(value for side in bounds for value in side.values())


def _columns(file: Path, tokenizer: Tokenizer) -> Iterator[tuple[str, bytes]]:
    """Yield what each column holds, tokens as text."""
    rows = pq.read_table(file)
    for name in rows.column_names:
        values = rows[name].to_pylist()
        if name == "tokens":
            values = [tokenizer.decode(tokens) for tokens in values]
        elif pa.types.is_binary(rows[name].type) or pa.types.is_large_binary(rows[name].type):
            values = [(value or b"").decode("latin-1") for value in values]
        yield name, repr(values).encode()
