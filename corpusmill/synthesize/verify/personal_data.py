"""Personal data: a model may not bring in addresses, numbers or keys of its own."""

import pyarrow as pa

from corpusmill.curate.pii import find_pii
from corpusmill.curate.pii_kinds import WEB_PII
from corpusmill.synthesize.verify.case import Case


def no_pii_added(case: Case) -> str | None:
    """Refuse personal data, as curation finds it, that the seed does not hold: spelled otherwise it is the same."""
    added = _spelled(case.output) - _spelled(case.seed)
    return "personal_data_added" if added else None


def _spelled(text: str) -> set[str]:
    (edits,) = find_pii(pa.chunked_array([pa.array([text], pa.large_string())]), WEB_PII)
    return {"".join(filter(str.isalnum, text[edit.start : edit.end])).casefold() for edit in edits}
