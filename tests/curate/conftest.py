"""Rows for the rules: records with a payload, extracted texts."""

import pyarrow as pa
import pytest

from corpusmill.document import EXTRACTED, RECORDS, text_hash


@pytest.fixture(scope="session")
def payload_rows():
    """Return a function from payloads to RECORDS rows with them."""

    def build(*payloads: bytes | None, **columns) -> pa.Table:
        base = {"source": "s", "snapshot": "1", "file": "/f", "content_type": "text/html", "meta": [], **columns}
        rows = [{**base, "doc_id": f"d{number}", "locator": f"l{number}"} for number in range(len(payloads))]
        table = pa.Table.from_pylist(rows, schema=RECORDS)
        return table.append_column("payload", pa.array(payloads, pa.large_binary()))

    return build


@pytest.fixture(scope="session")
def text_rows():
    """Return a function from texts to EXTRACTED rows with them."""

    def build(*texts: str | None, **columns) -> pa.Table:
        base = {"source": "s", "snapshot": "1", "meta": [], **columns}
        rows = [
            {
                **base,
                "doc_id": f"d{number}",
                "locator": f"l{number}",
                "text": text,
                "text_hash": None if text is None else text_hash(text),
            }
            for number, text in enumerate(texts)
        ]
        return pa.Table.from_pylist(rows, schema=EXTRACTED)

    return build
