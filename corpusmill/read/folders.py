"""The snapshots of a source: the folders right below it. Lists folders, and the files of snapshots not seen before."""

from collections.abc import Collection

from corpusmill.fingerprint import fingerprint
from corpusmill.lake.store import Store
from corpusmill.read.file_names import is_utf8


def snapshot_names(store: Store) -> list[str]:
    """Return the names of the folders right below a source, sorted; hidden ones (leading dot) are none.

    Nor are those whose name is not UTF-8, as no partition can be named so. Raises FileNotFoundError when the source itself
    is not there.
    """
    return [
        name
        for name, is_folder in store.entries(store.root)
        if is_folder and not name.startswith(".") and is_utf8(name)
    ]


def unseen_snapshots(store: Store, *, seen: Collection[str]) -> dict[str, str]:
    """Return each snapshot outside `seen` with a fingerprint of its files' names, sizes and times; empty ones are none."""
    found = {}
    for name in snapshot_names(store):
        if name in seen:
            continue
        files = list(store.list(f"{name}/"))
        if any(file.size for file in files):
            found[name] = fingerprint([[file.key, file.size, str(file.modified)] for file in files])
    return found
