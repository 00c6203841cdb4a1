"""Edits of a text: half-open spans of characters and what stands there instead, sorted, never overlapping."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True, order=True)
class Edit:
    """One change; an empty replacement is a cut."""

    start: int
    end: int
    kind: str
    replacement: str = ""


def merge_edits(edits: Iterable[Edit]) -> list[Edit]:
    """Return the edits in order. Of overlapping ones the first holds (the longer at equal starts); the rest of the
    other is cut when it is a cut and dropped otherwise; touching cuts of one kind become one.

    A cut of [0, 10) and a mask of [4, 6): the cut. A mask of [0, 5) and a cut of [3, 9): the mask, then a cut of [5, 9).
    """
    merged: list[Edit] = []
    for edit in sorted(edits, key=lambda edit: (edit.start, -edit.end, edit.kind)):
        previous = merged[-1] if merged else None
        if previous and edit.start < previous.end:
            if edit.replacement or edit.end <= previous.end:
                continue
            edit = Edit(start=previous.end, end=edit.end, kind=edit.kind)
        if previous and _continues(previous, edit):
            merged[-1] = Edit(start=previous.start, end=edit.end, kind=edit.kind)
        else:
            merged.append(edit)
    return merged


def edit_rows(edits: Iterable[Edit]) -> list[dict[str, Any]]:
    """Return edits as values of the verdicts' `edits` column."""
    return [
        {"start": edit.start, "end": edit.end, "kind": edit.kind, "replacement": edit.replacement} for edit in edits
    ]


def _continues(previous: Edit, edit: Edit) -> bool:
    is_cut = not previous.replacement and not edit.replacement
    return is_cut and previous.kind == edit.kind and previous.end == edit.start
