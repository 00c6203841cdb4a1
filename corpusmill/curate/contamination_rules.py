"""When a benchmark item counts as found in a document, and what then happens to the document. Every number has its source."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

ACTIONS = ("drop", "cut")


@dataclass(frozen=True, kw_only=True)
class ContaminationRules:
    """What is searched for. All of it changes the index, so an index carries its rules."""

    ngram_words: int = 13
    """So many words in a row, the same in document and item, are a match: GPT-3 (Brown et al. 2020, arXiv 2005.14165),
    appendix C. Numbers between them must be there but are not counted."""
    min_ngram_share: float = 0.5
    """With so much of the item's weight around it, numbers are counted as words: Hugging Face's decontamination of Cosmopedia
    (github.com/huggingface/cosmopedia, decontamination/README.md) asks for half of the item behind a shared n-gram."""
    min_distinct_ngram_words: int = 7
    """Of these, so many must be different words of more than one letter. Ours: more than half, as tables of examples
    (`is_prime(7) True, is_prime(8) False, ...`) are alike everywhere; docs/curation.md has what it was measured on."""
    min_item_words: int = 5
    """A shorter item cannot be searched for. One below `ngram_words` must be there as a whole, as in DeepSeekMath (Shao
    et al. 2024, arXiv 2402.03300, section 2.1), which asks for at least 3; ours asks for one n-gram of `part_words`."""
    min_distinct_words: int = 4
    """Of more than one letter, in an item: alphabets and number runs cannot be searched for. Olmo 3's decon
    (github.com/allenai/decon, config/default.yaml, `eval_min_unique_word_count`)."""
    max_sharing_items: int = 10
    """Words that more than so many different items share are a template: a match of nothing else does not count. GPT-3,
    appendix C, leaves out n-grams found in more than 10 training documents; a stream of documents knows its items only."""
    part_words: int = 5
    """n-grams whose shared weight decides about lightly edited items; decon, `ngram_size`. Weight ln(1 + items / uses)."""
    min_share: float = 0.8
    """Of an item's weight that a document must hold, for items of at least `share_words_end` words; decon,
    doc/simple-details.md, "Cluster Match Length Decay", like the next two."""
    share_words_start: int = 20
    """An item of at most so many words must be there as a whole. In between the share falls in a straight line."""
    share_words_end: int = 50
    max_gap_words: int = 11
    """Words by which an edited item may be longer than the original on either side; decon, `max_consecutive_misses`."""
    max_uses: int = 1000
    """Ours, a limit of cost: an n-gram of `part_words` in more places of the benchmarks starts no comparison."""

    def __post_init__(self) -> None:
        if not 2 <= self.part_words <= self.min_item_words <= self.ngram_words:
            raise ValueError(
                "wanted 2 <= part_words <= min_item_words <= ngram_words, got "
                f"{self.part_words}, {self.min_item_words}, {self.ngram_words}"
            )
        if not 0.5 <= self.min_share <= 1:
            raise ValueError(f"min_share must lie in [0.5, 1], got {self.min_share}")
        if not 0 <= self.share_words_start < self.share_words_end:
            raise ValueError(
                "share_words_start must lie below share_words_end, got "
                f"{self.share_words_start} and {self.share_words_end}"
            )

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        return cls(**_known(cls, value))


@dataclass(frozen=True, kw_only=True)
class ContaminationPolicy:
    """What happens to a document in which something was found."""

    action: str = "drop"
    """`drop` the document, or `cut` what was found out of it."""
    cut_characters: int = 200
    """Cut on each side of what was found; GPT-3, appendix C, like the next two."""
    min_piece_characters: int = 200
    """A piece between two cuts, or between a cut and an end, goes as well when it is shorter."""
    max_pieces: int = 10
    """A document that would fall into more pieces is dropped."""

    def __post_init__(self) -> None:
        if self.action not in ACTIONS:
            raise ValueError(f"action must be one of {', '.join(ACTIONS)}, got {self.action!r}")
        if min(self.cut_characters, self.min_piece_characters, self.max_pieces) < 0:
            raise ValueError(f"a policy has no negative numbers, got {self}")

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        return cls(**_known(cls, value))


def _known(kind: Any, value: Mapping[str, Any]) -> dict[str, Any]:
    known = [field.name for field in fields(kind)]
    unknown = sorted(set(value) - set(known))
    if unknown:
        raise ValueError(f"unknown setting {', '.join(unknown)}; {kind.__name__} has {', '.join(known)}")
    return dict(value)
