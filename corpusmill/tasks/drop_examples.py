"""Which dropped documents of a batch of verdicts are shown: a random sample of each reason, the same however rows are cut."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.engines.shard import MAX_EXAMPLES


def example_places(verdicts: pa.Table) -> list[int]:
    """Return the rows of the MAX_EXAMPLES smallest `doc_id` (hashes, so a sample) of each `drop_reason`, by `doc_id`."""
    order = pc.sort_indices(verdicts, sort_keys=[("doc_id", "ascending")])
    dropped = order.filter(pc.is_valid(verdicts["drop_reason"].combine_chunks().take(order)))
    codes = verdicts["drop_reason"].combine_chunks().take(dropped).dictionary_encode().indices.to_numpy()
    by_reason = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[by_reason], codes[by_reason])
    chosen = np.sort(by_reason[np.arange(len(codes)) - starts < MAX_EXAMPLES])
    places: list[int] = dropped.to_numpy()[chosen].tolist()
    return places
