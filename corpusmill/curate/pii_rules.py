"""What judges do with personal data: the policy that their rules make, and the drop reason that stored counts give."""

from typing import Any

import pyarrow as pa

from corpusmill.curate.decisions import Check, numbers
from corpusmill.curate.pii import STATISTICS, drops_for_pii
from corpusmill.curate.pii_kinds import PiiPolicy, changed_policy


def pii_policy(base: PiiPolicy, rules: Any) -> PiiPolicy:
    """Return the judge's own policy with `rules.pii_actions`, or one that looks for nothing without `rules.masks_pii`."""
    return changed_policy(base, rules.pii_actions) if rules.masks_pii else PiiPolicy()


def personal_data_check(measured: pa.Table, policy: PiiPolicy) -> Check:
    """Return which texts hold a kind for which the policy drops them."""
    counts = {name: numbers(measured, name) for name in STATISTICS}
    return Check(reason="personal_data", is_broken=drops_for_pii(counts, policy))
