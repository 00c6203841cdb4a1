"""The main text of a page on the fast path: the article's element, its blocks, without blocks of links.

Says nothing where it is not sure, and a careful extractor has to look. Signals are general: names of parts, link density,
how much text is left. About eight times as fast as trafilatura.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from itertools import groupby
from typing import Any

from corpusmill.curate.content_root import find_content_root, is_aside, text_length
from corpusmill.curate.page_text import Block, join_blocks, page_blocks

_MOST_TITLE_CHARACTERS = 60
_MOST_NOTICE_CHARACTERS = 200
_MOST_BYLINES = 5
_NOTICE = re.compile("©|all rights reserved", re.IGNORECASE)
_SENTENCE_ENDS = frozenset(".!?…;,\"'”’»)。！？؟।")


@dataclass(frozen=True, kw_only=True)
class Confidence:
    """When the fast path trusts its own text."""

    min_characters: int = 250
    """trafilatura's `MIN_EXTRACTED_SIZE`: below it, its own first pass is doubted too."""
    min_root_share: float = 0.8
    """Share of the text of all elements named like the article that lies in the chosen one; less is a list of articles."""
    min_kept_share: float = 0.7
    """Share of the article's text that is left after its asides and links are gone."""
    max_block_link_share: float = 0.5
    """Above it a list, a table or a paragraph is a menu or a list of references, and goes."""
    max_page_link_share: float = 0.2
    """jusText's `MAX_LINK_DENSITY_DEFAULT`, for the whole of a page where nothing is marked as the article."""
    min_prose_bytes: int = 70
    """jusText's `LENGTH_LOW_DEFAULT` (characters there): a shorter block says little about what it is."""
    min_prose_share: float = 0.5
    """Share of such a page's text that stands in blocks of `min_prose_bytes` or in code."""

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if value < 0 or (name.endswith("_share") and value > 1):
                raise ValueError(f"{name} must be {'0 to 1' if name.endswith('_share') else '0 or more'}, got {value}")

    @classmethod
    def from_mapping(cls, value: Mapping[str, Any]) -> "Confidence":
        """Return the thresholds with those that `value` names; raises ValueError for a name that does not exist."""
        known = [field.name for field in fields(cls)]
        if unknown := sorted(set(value) - set(known)):
            raise ValueError(f"unknown threshold {', '.join(unknown)} of the method fast; there are {', '.join(known)}")
        return cls(**value)


def main_text(body: Any, confidence: Confidence) -> str | None:
    """Return the main text below a page's body, or None when the fast path is not sure."""
    root = find_content_root(body)
    if root is None or root.share < confidence.min_root_share:
        return None
    found = list(page_blocks(root.element, is_left_out=is_aside))
    if not root.is_marked and not _is_prose(found, confidence):
        return None
    text = join_blocks(without_link_blocks(found, confidence.max_block_link_share))
    least_kept = confidence.min_kept_share * text_length(root.element) if root.is_marked else 0
    return text if len(text) >= max(confidence.min_characters, least_kept) else None


def _is_prose(blocks: list[Block], confidence: Confidence) -> bool:
    sizes = [len(block.text.encode()) for block in blocks]
    prose = [
        size
        for block, size in zip(blocks, sizes, strict=True)
        if size >= confidence.min_prose_bytes or block.kind == "code"
    ]
    is_long = sum(prose) >= confidence.min_prose_share * sum(sizes)
    return is_long and _link_share(blocks) <= confidence.max_page_link_share


def without_link_blocks(blocks: Iterable[Block], max_link_share: float) -> list[Block]:
    """Return the blocks without those that are mostly links, and without titles under which nothing else stood.

    Lists and tables are judged whole, code is kept.
    """
    kept: list[Block] = []
    is_after_links = False
    for run in _runs(blocks):
        if _is_linked(run, max_link_share):
            is_after_links = True
            continue
        if is_after_links and _is_title(run[0]):
            _drop_titles(kept)
        kept += run
        is_after_links = False
    _drop_titles(kept, headings_only=not is_after_links)
    return _without_bylines(kept)


def _without_bylines(blocks: list[Block]) -> list[Block]:
    """Return the blocks without a few short bare lines before the first and behind the last other block.

    They are dates, authors and tags. Many of them are the text itself; headings among them stay.
    """
    inner = [
        index for index, block in enumerate(blocks) if block.kind not in ("bare", "heading") or not _is_title(block)
    ]
    if not inner:
        return blocks
    before, behind = blocks[: inner[0]], blocks[inner[-1] + 1 :]
    return [*_without_bare(before), *blocks[inner[0] : inner[-1] + 1], *_without_bare(behind)]


def _without_bare(blocks: list[Block]) -> list[Block]:
    others = [block for block in blocks if block.kind != "bare"]
    return others if len(blocks) - len(others) <= _MOST_BYLINES else blocks


def _runs(blocks: Iterable[Block]) -> Iterator[list[Block]]:
    """Yield lists and tables whole, other blocks one by one."""
    for group, members in groupby(blocks, key=lambda block: block.group):
        run = list(members)
        yield from [run] if group else ([block] for block in run)


def _is_linked(run: list[Block], most: float) -> bool:
    return run[0].kind != "code" and (_link_share(run) > most or _is_notice(run[0]))


def _is_notice(block: Block) -> bool:
    return len(block.text) <= _MOST_NOTICE_CHARACTERS and _NOTICE.search(block.text) is not None


def _link_share(blocks: list[Block]) -> float:
    return sum(block.link_characters for block in blocks) / max(1, sum(len(block.text) for block in blocks))


def _is_title(block: Block, *, headings_only: bool = False) -> bool:
    if block.kind == "heading":
        return True
    is_short = len(block.text) <= _MOST_TITLE_CHARACTERS and "\n" not in block.text
    return (
        not headings_only and block.kind in ("paragraph", "bare") and is_short and block.text[-1] not in _SENTENCE_ENDS
    )


def _drop_titles(kept: list[Block], *, headings_only: bool = False) -> None:
    while kept and _is_title(kept[-1], headings_only=headings_only):
        kept.pop()
