"""Texts packed as a test wants them."""

from typing import Any

import pyarrow as pa

from corpusmill.document import DOCUMENTS, SEQUENCES
from corpusmill.mix.pack import PackingCounts, tokenize_and_pack
from corpusmill.mix.tokenize import Tokenization


def documents(*texts: str) -> pa.Table:
    rows = [
        {"doc_id": f"d{number}", "source": "web", "snapshot": "s1", "text": text, "text_hash": ""}
        for number, text in enumerate(texts)
    ]
    return pa.Table.from_pylist(rows, schema=DOCUMENTS)


def pack_texts(*texts: str, tokenizer_file: str, **settings: Any) -> Any:
    """Return the rows, and what was counted of each length."""
    tokenization = Tokenization(tokenizer_file=tokenizer_file, **settings)
    heard: list[PackingCounts] = []
    tables = list(tokenize_and_pack([documents(*texts)], tokenization=tokenization, on_counts=heard.append))
    assert all(table.schema.equals(SEQUENCES) for table in tables)
    return [row for table in tables for row in table.to_pylist()], *heard
