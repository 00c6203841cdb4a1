"""Real source files to judge: those with known licences where the data folder is, else installed Python packages."""

import gzip
import json
import site
from pathlib import Path

import pyarrow as pa

from benchmarks.texts import DATA
from corpusmill.document import EXTRACTED, text_hash

_MAX_FILES = 1000


def code_table() -> pa.Table:
    """Return EXTRACTED rows of source files."""
    file = DATA / "code_src_licensed" / "source_files.jsonl.gz"
    if file.exists():
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines]
        return _table([(row["content"], row["language"], row["license"]) for row in rows])
    files = sorted(path for folder in site.getsitepackages() for path in Path(folder).glob("*/*.py"))[:_MAX_FILES]
    return _table([(path.read_text(encoding="utf-8", errors="replace"), "Python", "MIT") for path in files])


def _table(files: list[tuple[str, str, str]]) -> pa.Table:
    rows = [
        {
            "doc_id": f"{number:08d}",
            "source": "code",
            "snapshot": "1",
            "locator": str(number),
            "text": text,
            "text_hash": text_hash(text),
            "license": license,
            "meta": [("language", language)],
        }
        for number, (text, language, license) in enumerate(files)
    ]
    return pa.Table.from_pylist(rows, schema=EXTRACTED)
