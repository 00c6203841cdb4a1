"""Trained classifiers as a shard gets them: read from their committed files once in a process."""

import functools
import json
from collections.abc import Mapping

from corpusmill.curate.quality import Classifier, classifier_from_row
from corpusmill.lake.reading import read_rows
from corpusmill.lake.store import Store, StoreSettings

_MAX_KEPT = 8
"""Classifiers kept in a process: each is 4 MiB with a million weights."""


def stored_classifiers(store: Store, files: Mapping[str, str]) -> list[Classifier]:
    """Return the classifier of each file, by name."""
    settings = json.dumps(store.settings.to_json())
    return [_read(settings, name, file) for name, file in files.items()]


@functools.lru_cache(maxsize=_MAX_KEPT)
def _read(store: str, name: str, file: str) -> Classifier:
    (row,) = read_rows(Store(StoreSettings.from_json(json.loads(store))), file).to_pylist()
    return classifier_from_row(name, row)
