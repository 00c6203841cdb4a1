"""What a person meant by a name that does not exist."""

import difflib
from collections.abc import Iterable


def did_you_mean(name: object, known: Iterable[str], *, likeness: float = 0.6) -> str:
    """Return `; did you mean 'min_words'?` for the known name most like `name`, or nothing where none is like it."""
    near = difflib.get_close_matches(str(name), list(known), n=1, cutoff=likeness)
    return f"; did you mean {near[0]!r}?" if near else ""


def check_known(given: Iterable[str], known: Iterable[str], *, what: str) -> None:
    """Raise ValueError for names that do not exist; `what` says in the plural what they name."""
    known = list(known)
    if unknown := sorted(set(given) - set(known)):
        raise ValueError(
            f"there are no {what} {', '.join(unknown)}, only {', '.join(known)}{did_you_mean(unknown[0], known)}"
        )
