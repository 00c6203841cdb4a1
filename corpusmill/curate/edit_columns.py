"""The verdicts' `edits` column from what the kernels cut and the masks found in some texts.

Cuts stay arrays; only the texts that have masks too are looked at one by one, since the two may overlap.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from corpusmill.curate.edits import Edit, merge_edits
from corpusmill.curate.line_kernels import CUT_KINDS
from corpusmill.document import EDIT

NO_CUTS = np.empty((0, 4), np.int64)


def edits_column(cuts: np.ndarray, masks: Sequence[Sequence[Edit]]) -> pa.Array:
    """Return the edits of each of `len(masks)` texts, merged; cuts are rows of `text_statistics.Measured.cuts`."""
    masked = np.array([row for row, edits in enumerate(masks) if edits], np.int64)
    alone = cuts[~np.isin(cuts[:, 0], masked)]
    merged = [(row, edit) for row in masked.tolist() for edit in merge_edits([*_cut_edits(cuts, row), *masks[row]])]
    rows = np.concatenate([alone[:, 0], np.array([row for row, _ in merged], np.int64)])
    order = np.argsort(rows, kind="stable")
    columns = [
        np.concatenate([alone[:, 1], np.array([edit.start for _, edit in merged], np.int64)]),
        np.concatenate([alone[:, 2], np.array([edit.end for _, edit in merged], np.int64)]),
    ]
    kinds = pa.array([*CUT_KINDS], pa.string()).take(pa.array(alone[:, 3]))
    kinds = pa.concat_arrays([kinds, pa.array([edit.kind for _, edit in merged], pa.string())])
    replacements = pa.concat_arrays(
        [pa.repeat("", len(alone)), pa.array([edit.replacement for _, edit in merged], pa.string())]
    )
    values = [*(pa.array(column[order]) for column in columns), kinds.take(order), replacements.take(order)]
    offsets = np.searchsorted(rows[order], np.arange(len(masks) + 1)).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.StructArray.from_arrays(values, fields=list(EDIT)))


def _cut_edits(cuts: np.ndarray, row: int) -> list[Edit]:
    first, last = np.searchsorted(cuts[:, 0], [row, row + 1])
    return [Edit(start=start, end=end, kind=CUT_KINDS[kind]) for _, start, end, kind in cuts[first:last].tolist()]
