"""Reading a verdict file: verdicts grouped by the text file that they judged, joined by doc_id, never by position."""

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.curate.quality import TIER
from corpusmill.lake.reading import read_rows
from corpusmill.lake.store import Store

_COLUMNS = ("doc_id", "text_file", "drop_reason", "language", "license", "edits", TIER)
"""Of these, the ones that a judge writes: licences are of source files, tiers are where classifiers are."""


def judged_texts(store: Store, verdict_file: str, *, statistics: Sequence[str] = ()) -> Iterator[tuple[str, pa.Table]]:
    """Yield (text file, its verdicts) of one verdict file; raises ValueError when a document was judged twice.

    Of the measured statistics only the named ones are read; one that no verdict has is a ValueError.
    """
    verdicts = read_rows(store, verdict_file, columns=tuple(dict.fromkeys((*_COLUMNS, *statistics))))
    if missing := [name for name in statistics if name not in verdicts.column_names]:
        raise ValueError(f"{verdict_file} has no statistic {', '.join(missing)}; name one that its judge measures")
    if pc.count_distinct(verdicts["doc_id"]).as_py() != len(verdicts):
        raise ValueError(f"{verdict_file} judges a document twice; materialize its partition again")
    for text_file in pc.unique(verdicts["text_file"]).to_pylist():
        yield text_file, verdicts.filter(pc.equal(verdicts["text_file"], text_file))
