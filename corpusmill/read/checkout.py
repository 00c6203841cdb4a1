"""Source files of a checked-out repository, each under the licence of the nearest licence file above it.

Several licence files in one folder hold together: which of them may be chosen, a machine cannot tell. The folders above
a file are listed once a file; that is cheap beside reading it.
"""

from corpusmill.curate.license_notices import find_license_file
from corpusmill.curate.licenses import UNKNOWN
from corpusmill.lake.store import Store
from corpusmill.read.license_files import MAX_BYTES, is_license_file


def checkout_license(store: Store, root: str, path: str) -> str | None:
    """Return the licence that holds for the file at `path` below the snapshot at `root`, or None where none is stated."""
    folders = path.split("/")[:-1]
    for depth in range(len(folders), -1, -1):
        found = _folder_licenses(store, "/".join([root, *folders[:depth]]))
        if found:
            return " AND ".join(found)
    return None


def _folder_licenses(store: Store, folder: str) -> list[str]:
    """Return the licences stated in a folder itself, sorted, each once; an expression with OR in brackets."""
    names = [name for name, is_folder in store.entries(folder) if not is_folder and is_license_file(name)]
    found = {_read_license(store, f"{folder}/{name}") for name in names}
    return sorted(f"({one})" if " OR " in one and len(found) > 1 else one for one in found)


def _read_license(store: Store, uri: str) -> str:
    """Return what a licence file says; one of a few words is unknown too, as no metadata speaks beside it."""
    with store.open_input(uri) as file:
        return find_license_file(file.read(MAX_BYTES).decode("utf-8", "replace")) or UNKNOWN
