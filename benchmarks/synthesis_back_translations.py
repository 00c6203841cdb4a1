"""How near two renderings of one text are, and two texts about the same matter: what the limit of `near_seed` rests on.

A text and its translation there and back are two renderings of it in one language. The renderings here are people's: the
Universal Declaration of Human Rights in four languages, each translated twice, paragraph by paragraph; and every paragraph
of one against all others of the other, which share subject and style. No model translates here, so this is the measure
alone, not a translator.
"""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

from benchmarks.harness import Measure, at_least, print_measures
from corpusmill.synthesize.review.back_translation import CHECKS
from corpusmill.synthesize.verify.case import Case
from corpusmill.synthesize.verify.near_seed import likeness, near_seed

DECLARATIONS = Path(__file__).parents[2] / "shared" / "data" / "langid_udhr" / "udhr_iso639-1.jsonl.gz"
RENDERINGS: dict[str, tuple[str, str, tuple[tuple[int, int, int], ...]]] = {
    "Finnish": ("fin", "067", ((0, 0, 40),)),
    "Latvian": ("lav", "041", ((0, 0, 28),)),
    "Portuguese": ("por_BR", "por_PT", ((0, 0, 7), (9, 8, 31))),
    "Thai": ("tha", "tha2", ((0, 0, 3), (3, 4, 5), (10, 10, 9))),
}
"""Two translations, and where runs of the same paragraphs begin in each and how long they are; headings differ."""
(LIMIT,) = (check.parameters["min_likeness"] for check in CHECKS if check.verifier == near_seed.__name__)
MIN_SHARE = 0.95

Pair = tuple[str, str]


def measures() -> list[Measure]:
    """Return the measures; none, with a line that says why, where the data is absent."""
    if not DECLARATIONS.exists():
        print(f"no measures of back-translations: {DECLARATIONS} is absent")
        return []
    found = {name: (same_paragraphs(name), other_paragraphs(name)) for name in RENDERINGS}
    all_same = [pair for same, _ in found.values() for pair in same]
    all_others = [pair for _, others in found.values() for pair in others]
    return [*_shares("", all_same, all_others), *(one for name in found for one in _shares(f", {name}", *found[name]))]


def same_paragraphs(name: str) -> list[Pair]:
    """Return each paragraph in both renderings, each pair once: the declarations repeat some."""
    first, second, runs = RENDERINGS[name]
    left, right = declaration(first), declaration(second)
    places = [(start + at, other + at) for start, other, length in runs for at in range(length)]
    return list(dict.fromkeys((left[at], right[other]) for at, other in places))


def other_paragraphs(name: str) -> list[Pair]:
    """Return each paragraph of the first rendering with all other paragraphs of the second."""
    same = same_paragraphs(name)
    return [(left, right) for left, own in same for _, right in same if right != own]


def declaration(code: str) -> dict[int, str]:
    """Return the paragraphs of a declaration by number."""
    with gzip.open(DECLARATIONS, "rt", encoding="utf-8") as lines:
        rows = [row for row in map(json.loads, lines) if row["code"] == code]
    return {int(row["id"].partition("#")[2]): row["text"] for row in rows}


def _shares(where: str, same: list[Pair], others: list[Pair]) -> Iterator[Measure]:
    bar = None if where else at_least(MIN_SHARE)
    near = [_is_near(pair) for pair in same]
    far = [not _is_near(pair) for pair in others]
    yield Measure(
        measure=f"two renderings that reach {LIMIT:g}{where} (share of {len(near):,})",
        ours=sum(near) / len(near),
        bar=bar,
    )
    yield Measure(
        measure=f"other paragraphs that do not{where} (share of {len(far):,})", ours=sum(far) / len(far), bar=bar
    )
    middle = sorted(_likeness(pair) for pair in same)[len(same) // 2]
    yield Measure(measure=f"median likeness of two renderings{where}", ours=middle)


def _is_near(pair: Pair) -> bool:
    return near_seed(_case(pair), min_likeness=LIMIT) is None


def _likeness(pair: Pair) -> float:
    return likeness(_case(pair))


def _case(pair: Pair) -> Case:
    return Case(seed=pair[0], output=pair[1])


if __name__ == "__main__":
    print_measures(measures())
