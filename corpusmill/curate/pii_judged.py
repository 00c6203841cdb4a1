"""Personal data as a judge needs it: what to mask in each text, how many of each kind were found, what drops a text."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from corpusmill.curate.decisions import Check, numbers
from corpusmill.curate.edits import Edit
from corpusmill.curate.pii import STATISTICS, count_pii, drops_for_pii, find_pii
from corpusmill.curate.pii_kinds import PiiPolicy, changed_policy


@dataclass(frozen=True, kw_only=True)
class FoundPii:
    """What was found in n texts."""

    edits: list[list[Edit]]
    statistics: Mapping[str, np.ndarray]
    """n float64 counts under each name of STATISTICS; NaN for kinds that were not looked for."""


def policy_of(rules: Any, default: PiiPolicy) -> PiiPolicy:
    """Return the policy of a judge's rules: `masks_pii` false leaves everything, `pii` changes the default by kind."""
    return changed_policy(default, rules.pii) if rules.masks_pii else PiiPolicy()


def look_for_pii(texts: pa.ChunkedArray, policy: PiiPolicy) -> FoundPii:
    """Return what the policy looks for in each text."""
    edits = find_pii(texts, policy)
    return FoundPii(edits=edits, statistics=count_pii(edits, policy))


def pii_checks(measured: pa.Table, policy: PiiPolicy) -> list[Check]:
    """Return the check of the kinds for which the policy drops a text."""
    counts = {name: numbers(measured, name) for name in STATISTICS}
    return [Check(reason="personal_data", is_broken=drops_for_pii(counts, policy))]
