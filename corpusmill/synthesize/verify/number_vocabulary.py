"""Number words, language by language: what a translator may write for a number, and which of them stand together.

`cardinals` are numbers and nothing else, `derived` words are made from one: ordinals, fractions, multiples, pairs. One half
and the second both speak of 2, so a text may turn one into the other unseen. `loose` words only suggest a value: articles,
pairs, periods, coins; `1 each` are those that mean one by one. Scales multiply what stands before them, in digits or in
words. A word that ends with `*` takes any ending.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Script = Literal["spaced", "suffixed", "unspaced"]


@dataclass(frozen=True, kw_only=True)
class NumberWords:
    """The number words of one language; values are spelled in digits."""

    counting: str
    """0, 1, 2 and so on, in order; forms of one number are joined by `/`."""
    cardinals: Mapping[str, str] = field(default_factory=dict)
    scales: Mapping[str, str] = field(default_factory=dict)
    derived: Mapping[str, str] = field(default_factory=dict)
    loose: Mapping[str, str] = field(default_factory=dict)
    months: str = ""
    joints: str = ""
    """Words that may stand inside of a number."""
    hours: str = ""
    """Words for an hour: half of it is 30 minutes."""
    is_one_an_article: bool = True
    """Whether the word for 1 only suggests it."""
    traps: str = ""
    """Patterns of what looks like a number and is none."""
    script: Script = "spaced"
    """How a word ends: at a blank, with endings of its own, or nowhere."""
