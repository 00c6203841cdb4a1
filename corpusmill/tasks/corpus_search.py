"""The search that agents may call: over the seed documents of their own partition. The index is built with the first call."""

from collections.abc import Mapping
from dataclasses import asdict
from functools import cached_property
from threading import Lock

from corpusmill.fingerprint import code_version, fingerprint
from corpusmill.synthesize.search import CorpusIndex, SearchLimits
from corpusmill.tasks.seeds import seed_batches, seed_snapshot, seed_table
from corpusmill.tasks.task import Job


class CorpusSearch:
    """A tool with the argument `query`, and `besides`, a text whose copies are not shown; says titles and passages."""

    def __init__(self, job: Job, limits: SearchLimits | None = None) -> None:
        self._job = job
        self._limits = limits or SearchLimits()
        self._index: CorpusIndex | None = None
        self._building = Lock()

    @cached_property
    def version(self) -> str:
        """The fingerprint of the documents that the index is built from, its limits and its code."""
        documents = self._job.upstream(seed_table(self._job), seed_snapshot(self._job))
        code = code_version("corpusmill.synthesize.search")
        return fingerprint({"documents": documents, "limits": asdict(self._limits), "code": code})

    def __call__(self, arguments: Mapping[str, str]) -> str:
        if not {"query"} <= set(arguments) <= {"query", "besides"}:
            given = ", ".join(sorted(arguments)) or "none"
            raise ValueError(f"the tool search takes the arguments query and besides, got {given}")
        return self._built()(arguments)

    def _built(self) -> CorpusIndex:
        """Return the index; of several threads that ask at once, the first one builds it."""
        with self._building:
            if self._index is None:
                self._index = CorpusIndex(seed_batches(self._job), self._limits)
                numbers = {"documents": self._index.num_seen, "searched": self._index.num_documents}
                if self._index.num_documents < self._index.num_seen:
                    self._job.report("search: not all documents fit the index", numbers)
            return self._index
