"""The URLs of a snapshot's documents with the reasons of their verdicts: what tables of URLs are made from."""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.lake.reading import read_batches
from corpusmill.tasks import judge
from corpusmill.tasks.judged import judged_texts
from corpusmill.tasks.task import Job

_COLUMNS = ("doc_id", "url")
_BATCH_ROWS = 65_536


def judged_urls(job: Job, snapshot: str) -> Iterator[pa.Table]:
    """Yield doc_id, url and drop_reason of the documents that have a verdict, in the order of files and rows."""
    store = job.lake.store
    for file in job.lake.files(judge.table(job.dataset), [snapshot]):
        for text_file, verdicts in judged_texts(store, store.key(file.path)):
            reasons = verdicts["drop_reason"].combine_chunks()
            judged = verdicts["doc_id"].combine_chunks()
            for batch in read_batches(store, text_file, columns=_COLUMNS, batch_rows=_BATCH_ROWS):
                places = pc.index_in(batch["doc_id"], value_set=judged).combine_chunks()
                found = batch.append_column("drop_reason", reasons.take(places))
                yield found.filter(places.is_valid())
