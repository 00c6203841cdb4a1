"""One row a document for its URL: the canonical form, and the first rule that it breaks."""

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numba import njit

from corpusmill.curate.buffers import text_buffers
from corpusmill.curate.urls import canonical_urls
from corpusmill.curate.urls_lists import UrlLists, url_checks
from corpusmill.curate.urls_match_kernels import hash_bytes
from corpusmill.curate.verdicts import Check, drop_reasons

URLS = pa.schema(
    [
        pa.field("doc_id", pa.string(), nullable=False),
        pa.field("canonical_url", pa.large_string()),
        pa.field("drop_reason", pa.string()),
    ]
)
"""`drop_reason` is url_opted_out, url_blocked_domain, url_blocked_word, url_older_version, url_later_version, url_duplicate
or null."""

DUPLICATE = "url_duplicate"


def judge_urls(documents: pa.Table, lists: UrlLists, others: Sequence[Check]) -> pa.Table:
    """Return URLS for a table with doc_id and url, in its order; `others` are about other documents of the same URLs.

    A document without a URL breaks no rule.
    """
    checks = [
        Check(reason=reason, is_broken=is_broken) for reason, is_broken in url_checks(documents["url"], lists).items()
    ]
    reasons = drop_reasons(len(documents), [*checks, *others])
    arrays = [documents["doc_id"], canonical_urls(documents["url"]), pa.array(reasons, pa.string())]
    return pa.Table.from_arrays(arrays, schema=URLS)


def hash_urls(documents: pa.Table, lists: UrlLists) -> np.ndarray:
    """Return the 64-bit hash of each document's canonical URL; 0 where it has none, or a list takes the document away."""
    is_out = np.logical_or.reduce(list(url_checks(documents["url"], lists).values()))
    return np.where(is_out, np.uint64(0), hash_canonical(canonical_urls(documents["url"])))


def hash_canonical(urls: pa.ChunkedArray) -> np.ndarray:
    """Return the 64-bit hash of each canonical URL; 0 for a null."""
    hashes = _hash_rows(*text_buffers(urls))
    hashes[np.asarray(pc.is_null(urls))] = 0
    return np.asarray(hashes)


def find_repeated(hashes: Iterable[np.ndarray]) -> np.ndarray:
    """Return for all rows of all batches whether an earlier row has the same hash; 0 repeats nothing.

    Two of 100 million different URLs share a hash with probability .0003. Memory: about 25 bytes a row. For hashes 7, 0, 8,
    7, 0 only the second 7 is repeated.
    """
    values = np.concatenate([np.empty(0, np.uint64), *hashes])
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    is_repeated = np.zeros(len(values), np.bool_)
    is_repeated[order[1:]] = (ordered[1:] == ordered[:-1]) & (ordered[1:] != 0)
    return is_repeated


@njit(cache=True, nogil=True)
def _hash_rows(data, offsets):  # type: ignore[no-untyped-def]
    hashes = np.empty(len(offsets) - 1, np.uint64)
    for row in range(len(hashes)):
        hashes[row] = hash_bytes(data, offsets[row], offsets[row + 1])
    return hashes
