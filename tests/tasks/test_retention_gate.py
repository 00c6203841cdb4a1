"""Which snapshots may lose how much: many documents a share of them, few all of them."""

import pytest

from corpusmill.counts import Counts
from corpusmill.dedup.statistics import RetentionGuard
from corpusmill.tasks.duplicates import retention_gate

CASES = {
    "a recrawl of a small site repeats it": (7, 7, True),
    "one below what is judged": (99, 99, True),
    "as many as are judged": (100, 100, False),
    "just allowed": (100, 90, True),
    "one more": (100, 91, False),
    "nothing came in": (0, 0, True),
}


@pytest.mark.parametrize(("rows_in", "removed", "passes"), CASES.values(), ids=CASES)
def test_a_snapshot_of_few_documents_may_repeat_all_of_them(rows_in, removed, passes):
    counts = Counts(rows_in=rows_in, kept=rows_in - removed, dropped={"exact_duplicate": removed})
    gate = retention_gate(counts, RetentionGuard(max_removed_share=0.9))
    assert gate.passed == passes
    assert gate.message.endswith("allowed are 90.0% of 100 or more")
