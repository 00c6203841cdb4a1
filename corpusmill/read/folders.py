"""The snapshots of a source: the folders right below it. Lists folders, and the files of snapshots not seen before."""

from collections.abc import Collection

from pyarrow import fs

from corpusmill.fingerprint import fingerprint
from corpusmill.lake.store import Store


def snapshot_names(store: Store) -> list[str]:
    """Return the names of the folders right below a source, sorted; hidden ones (leading dot) are none.

    Raises FileNotFoundError when the source itself is not there.
    """
    filesystem, path = store.filesystem(store.root)
    entries = filesystem.get_file_info(fs.FileSelector(path, recursive=False))
    names = [entry.base_name for entry in entries if entry.type == fs.FileType.Directory]
    return sorted(name for name in names if not name.startswith("."))


def unseen_snapshots(store: Store, *, seen: Collection[str]) -> dict[str, str]:
    """Return each snapshot outside `seen` with a fingerprint of its files' names, sizes and times; empty ones are none."""
    found = {}
    for name in snapshot_names(store):
        if name in seen:
            continue
        files = [[item.key, item.size, str(item.modified)] for item in store.list(f"{name}/")]
        if files:
            found[name] = fingerprint(files)
    return found
