"""The band table of a snapshot: (band, key, ordinal) sorted by all three, so that a new snapshot merges with it.

Ordinal n is the n-th document of the snapshot's signatures by rank, so ordinals of a snapshot sort by rank. The rows of
EQUAL_TEXT hold the hash of the text in place of a band's key. Cost: 8 bytes a document and band, and a sort of each band.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.dedup.bands import Keys, band_keys, further_keys
from corpusmill.dedup.evidence import Ranking, member_names
from corpusmill.dedup.parameters import DedupParameters
from corpusmill.dedup.scopes import within_scope
from corpusmill.dedup.signatures import signature_matrix
from corpusmill.document import BANDS, MEMBERS

EQUAL_TEXT = -1
"""The band of equal texts: `key` is the first 64 bits of `text_hash`, `further` the next 24: among 10^10 documents two
different texts are taken for equal with probability 10^-7."""


@dataclass(frozen=True, kw_only=True)
class BandKeys:
    """What the documents of a snapshot can be met by."""

    keys_NB: Keys
    signed: np.ndarray
    """Ordinals of the documents with a signature, in the order of `keys_NB`."""
    text_words: tuple[Keys, Keys]
    """Two halves of the hashes of the texts."""
    with_text: np.ndarray
    """Ordinals of the documents with a text, in the order of `text_words`."""


def read_members(
    signatures: Iterable[pa.Table], ranking: Ranking, parameters: DedupParameters
) -> tuple[pa.Table, BandKeys]:
    """Return MEMBERS by ordinal, and their keys. `signatures` are those of one snapshot, and `ranking` ranks its documents."""
    narrow = [MEMBERS.append(pa.field("member", pa.string())).empty_table()]
    hashes = [pa.chunked_array([], pa.string())]
    keys = [np.empty((0, parameters.num_bands), dtype=np.uint64)]
    has_signature = [np.empty(0, dtype=bool)]
    for table in signatures:
        narrow.append(_narrow(table).append_column("member", member_names(table, ranking)))
        scoped = within_scope(table, parameters.scope)
        valid = pc.is_valid(scoped.column("signature"))
        matrix_NP = signature_matrix(scoped.column("signature").filter(valid), parameters)
        keys.append(band_keys(matrix_NP, parameters.num_bands))
        has_signature.append(valid.to_numpy())
        hashes.append(scoped.column("text_hash"))
    unordered = pa.concat_tables(narrow)
    order = pc.sort_indices(unordered.column("member")).to_numpy().astype(np.int64)
    members = unordered.take(order).drop_columns("member").combine_chunks()
    _refuse_repeated(members.column("doc_id"))
    ordinals = np.empty(len(order), dtype=np.int64)
    ordinals[order] = np.arange(len(order))
    text_hashes = pa.chunked_array([chunk for column in hashes for chunk in column.chunks], pa.string())
    has_text = pc.not_equal(text_hashes, "")
    return members, BandKeys(
        keys_NB=np.concatenate(keys),
        signed=ordinals[np.concatenate(has_signature)],
        text_words=hash_words(text_hashes.filter(has_text)),
        with_text=ordinals[has_text.to_numpy()],
    )


def band_tables(keys: BandKeys) -> Iterator[pa.Table]:
    """Yield the sorted BANDS rows of each band, EQUAL_TEXT first."""
    high, low = keys.text_words
    yield _sorted_rows(EQUAL_TEXT, high, low >> np.uint64(40), keys.with_text)
    further_NB = further_keys(keys.keys_NB)
    for band in range(keys.keys_NB.shape[1]):
        yield _sorted_rows(band, keys.keys_NB[:, band], further_NB[:, band], keys.signed)


def hash_words(text_hashes: pa.ChunkedArray) -> tuple[Keys, Keys]:
    """Return the upper and lower 64 bits of hashes; one that is not 32 hex digits is hashed itself."""
    spelled = text_hashes.to_pylist()
    is_plain = pc.all(pc.match_substring_regex(text_hashes, "^[0-9a-f]{32}$")).as_py()
    digits = spelled if is_plain else [hashlib.sha256(value.encode()).hexdigest()[:32] for value in spelled]
    words = np.frombuffer(bytes.fromhex("".join(digits)), dtype=">u8").astype(np.uint64).reshape(-1, 2)
    return words[:, 0], words[:, 1]


def _narrow(signatures: pa.Table) -> pa.Table:
    """Return the columns of MEMBERS; what was signed without a source has none."""
    present = signatures.column_names
    columns = [
        signatures.column(item.name) if item.name in present else pa.nulls(len(signatures), item.type)
        for item in MEMBERS
    ]
    return pa.table(columns, names=MEMBERS.names).cast(MEMBERS)


def _refuse_repeated(doc_ids: pa.ChunkedArray) -> None:
    if pc.count_distinct(doc_ids).as_py() == len(doc_ids):
        return
    counted = pc.value_counts(doc_ids)
    name = counted.field("values").filter(pc.greater(counted.field("counts"), 1))[0].as_py()
    raise ValueError(f"a document was signed twice: {name}; each doc_id must appear once over all signature tables")


def _sorted_rows(band: int, keys: np.ndarray, further: np.ndarray, ordinals: np.ndarray) -> pa.Table:
    signed = np.ascontiguousarray(keys).view(np.int64)
    order = np.lexsort((ordinals, signed))
    columns = [
        np.full(len(order), band, dtype=np.int32),
        signed[order],
        ordinals[order].astype(np.int64),
        np.ascontiguousarray(further).view(np.int64)[order],
    ]
    return pa.table([pa.array(column) for column in columns], schema=BANDS)
