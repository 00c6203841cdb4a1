"""Edits of a text: half-open spans of characters and what stands there instead, sorted, never overlapping."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from corpusmill.curate.pii_kinds import KINDS


@dataclass(frozen=True, kw_only=True, order=True)
class Edit:
    """One change; an empty replacement is a cut."""

    start: int
    end: int
    kind: str
    replacement: str = ""


def merge_edits(edits: Iterable[Edit]) -> list[Edit]:
    """Return edits that do not overlap, in order, which remove every character that one of the given ones removes.

    Masks that overlap become one over all their characters, named after the longest (of equal ones the most severe kind).
    A mask inside a cut is gone with it; a cut leaves out the characters of other masks; touching cuts of one kind become
    one. Empty spans are no edits.

    Masks of [0, 5) and [3, 9): one of [0, 9). A cut of [0, 10) and a mask of [4, 6): the cut. A mask of [0, 5) and a cut
    of [3, 9): the mask, then a cut of [5, 9).
    """
    found = sorted(
        (edit for edit in edits if edit.start < edit.end), key=lambda edit: (edit.start, -edit.end, edit.kind)
    )
    cuts = _joined_cuts([edit for edit in found if not edit.replacement])
    starts = [cut.start for cut in cuts]
    masks = [
        mask
        for mask in _united_masks([edit for edit in found if edit.replacement])
        if not _is_inside(mask, cuts, starts)
    ]
    return sorted([*masks, *_without(cuts, masks)])


def edit_rows(edits: Iterable[Edit]) -> list[dict[str, Any]]:
    """Return edits as values of the verdicts' `edits` column."""
    return [
        {"start": edit.start, "end": edit.end, "kind": edit.kind, "replacement": edit.replacement} for edit in edits
    ]


def _united_masks(masks: Sequence[Edit]) -> list[Edit]:
    united: list[Edit] = []
    strongest: Edit | None = None
    for mask in masks:
        if united and strongest and mask.start < united[-1].end:
            strongest = min(strongest, mask, key=_weakness)
            end = max(united[-1].end, mask.end)
            united[-1] = Edit(start=united[-1].start, end=end, kind=strongest.kind, replacement=strongest.replacement)
        else:
            strongest = mask
            united.append(mask)
    return united


def _weakness(mask: Edit) -> tuple[int, int, str]:
    severity = KINDS.index(mask.kind) if mask.kind in KINDS else len(KINDS)
    return mask.start - mask.end, severity, mask.kind


def _joined_cuts(cuts: Sequence[Edit]) -> list[Edit]:
    joined: list[Edit] = []
    for cut in cuts:
        start = max(cut.start, joined[-1].end) if joined else cut.start
        if start >= cut.end:
            continue
        if joined and joined[-1].kind == cut.kind and joined[-1].end == start:
            joined[-1] = Edit(start=joined[-1].start, end=cut.end, kind=cut.kind)
        else:
            joined.append(Edit(start=start, end=cut.end, kind=cut.kind))
    return joined


def _is_inside(mask: Edit, cuts: Sequence[Edit], starts: Sequence[int]) -> bool:
    index = bisect_right(starts, mask.start) - 1
    return index >= 0 and mask.end <= cuts[index].end


def _without(cuts: Sequence[Edit], masks: Sequence[Edit]) -> Iterator[Edit]:
    """Yield the parts of the cuts that no mask covers; both are sorted."""
    first = 0
    for cut in cuts:
        start = cut.start
        while first < len(masks) and masks[first].end <= start:
            first += 1
        index = first
        while index < len(masks) and masks[index].start < cut.end:
            if start < masks[index].start:
                yield Edit(start=start, end=masks[index].start, kind=cut.kind)
            start = masks[index].end
            index += 1
        if start < cut.end:
            yield Edit(start=start, end=cut.end, kind=cut.kind)
