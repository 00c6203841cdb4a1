"""What judges do with personal data: the policy that their rules make, and the drop reason that stored counts give."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.curate.decisions import Check, numbers
from corpusmill.curate.edits import Edit
from corpusmill.curate.pii import STATISTICS, count_pii, drops_for_pii, find_pii
from corpusmill.curate.pii_kinds import PiiPolicy, changed_policy


def pii_policy(base: PiiPolicy, rules: Any) -> PiiPolicy:
    """Return the judge's own policy with `rules.pii_actions`, or one that looks for nothing without `rules.masks_pii`."""
    return changed_policy(base, rules.pii_actions) if rules.masks_pii else PiiPolicy()


def find_personal_data(
    texts: pa.ChunkedArray, base: PiiPolicy, rules: Any
) -> tuple[list[list[Edit]], dict[str, np.ndarray]]:
    """Return the edits of each text and the counts by kind; those above `rules.max_characters` are not looked at."""
    policy = pii_policy(base, rules)
    is_long = pc.fill_null(pc.greater(pc.utf8_length(texts), rules.max_characters), False)
    edits = find_pii(pc.if_else(is_long, pa.scalar("", texts.type), texts), policy)
    counts = count_pii(edits, policy)
    for values in counts.values():
        values[is_long.to_numpy()] = np.nan
    return edits, counts


def personal_data_check(measured: pa.Table, policy: PiiPolicy) -> Check:
    """Return which texts hold a kind for which the policy drops them."""
    counts = {name: numbers(measured, name) for name in STATISTICS}
    return Check(reason="personal_data", is_broken=drops_for_pii(counts, policy))
