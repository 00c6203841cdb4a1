"""From judged texts to documents: the edits of each verdict applied, its language and licence taken over."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.curate.quality import TIER
from corpusmill.document import DOCUMENTS, text_hash


def apply_edits(text: str, edits: Sequence[Mapping[str, Any]] | None) -> str:
    """Return the text with its edits applied; raises ValueError for spans that overlap or leave the text."""
    parts = []
    position = 0
    for edit in sorted(edits or (), key=lambda edit: edit["start"]):
        start, end = edit["start"], edit["end"]
        if not position <= start <= end <= len(text):
            raise ValueError(
                f"an edit must lie behind the one before it and inside the text: wanted {position} <= start <= end <= "
                f"{len(text)}, got start {start}, end {end} ({edit['kind']})"
            )
        parts += [text[position:start], edit["replacement"] or ""]
        position = end
    return "".join([*parts, text[position:]])


def curated_documents(texts: pa.Table, verdicts: pa.Table) -> pa.Table:
    """Return DOCUMENTS for EXTRACTED rows, in their order, each with the edits and language of its verdict.

    The licence is the verdict's where its judge resolves one (source files), else the text's. Where the judge gives tiers
    of quality, `meta` has the tier under `quality_tier`.
    Verdicts are joined by doc_id; a text without one is a ValueError. Whether a row was dropped is not looked at: the
    caller passes the texts that stay. A text that its edits leave empty stays, as an empty text.
    """
    places = pc.index_in(texts["doc_id"].combine_chunks(), value_set=verdicts["doc_id"].combine_chunks())
    if places.null_count:
        missing = texts["doc_id"].filter(pc.is_null(places))[0].as_py()
        raise ValueError(f"document {missing} has no verdict: judge its partition again")
    taken = [name for name in ("language", "edits", "license", TIER) if name in verdicts.column_names]
    joined = verdicts.select(taken).take(places)
    contents, hashes = _edited(texts, joined["edits"])
    columns = {
        name: texts[name] for name in ("doc_id", "source", "snapshot", "url", "title", "content_type", "license")
    }
    if "license" in taken:
        columns["license"] = joined["license"]
    columns |= {"language": joined["language"], "text": contents, "text_hash": hashes}
    columns["meta"] = _with_tiers(texts["meta"], joined[TIER]) if TIER in taken else texts["meta"]
    arrays = [columns.get(field.name, pa.nulls(len(texts), field.type)) for field in DOCUMENTS]
    return pa.Table.from_arrays(arrays, schema=DOCUMENTS)


def _edited(texts: pa.Table, edits: pa.ChunkedArray) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """Return texts and hashes; when no row has an edit, the columns as they are."""
    has_edits = pc.greater(pc.fill_null(pc.list_value_length(edits), 0), 0)
    if not pc.any(has_edits).as_py():
        return texts["text"], texts["text_hash"]
    contents: list[str] = []
    hashes: list[str] = []
    for text, known_hash, changes in zip(texts["text"], texts["text_hash"], edits, strict=True):
        content = text.as_py()
        if changes.is_valid and len(changes):
            content = apply_edits(content, changes.as_py())
            hashes.append(text_hash(content))
        else:
            hashes.append(known_hash.as_py())
        contents.append(content)
    return pa.chunked_array([pa.array(contents, pa.large_string())]), pa.chunked_array([pa.array(hashes, pa.string())])


def _with_tiers(metas: pa.ChunkedArray, tiers: pa.ChunkedArray) -> pa.Array:
    """Return `meta` with the tier of each row at its end; a row without a tier has none."""
    rows = zip(metas.to_pylist(), tiers.to_pylist(), strict=True)
    told = [meta if tier is None else [*(meta or ()), (TIER, str(int(tier)))] for meta, tier in rows]
    return pa.array(told, DOCUMENTS.field("meta").type)
