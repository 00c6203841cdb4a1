"""Two small snapshots of English pages as JSONL files. The second mostly repeats the first; some lines are bad."""

import json
import random
from pathlib import Path

FILES = 4
"""Of a snapshot; each becomes a shard of its own all the way."""
PAGES_PER_FILE = 6
SNAPSHOTS = ("2024-10", "2025-10")

_NAMES = (
    "keeper sailor baker teacher doctor farmer painter clerk miller widow captain child neighbour gardener lantern rope "
    "kettle gate letter harbour map bridge river market station hill window garden ladder clock boat road door chair table"
)
_QUALITIES = "old young quiet northern copper wooden narrow bright heavy broken famous empty gentle distant careful stubborn warm"
_DEEDS = "carried repaired measured painted described collected followed remembered sold cleaned found lost crossed"
_LINKS = "of and to with near behind beyond"
_TURNS = "because while although when until before after since"


def write_snapshots(folder: Path) -> None:
    """Write the snapshots below `folder`, the same bytes every time."""
    for number, snapshot in enumerate(SNAPSHOTS):
        for file in range(FILES):
            path = folder / snapshot / f"part-{file}.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            rows = [_page(number, file * PAGES_PER_FILE + place) for place in range(PAGES_PER_FILE)]
            lines = [json.dumps(row) for row in rows]
            path.write_text("\n".join([*lines, "{broken", json.dumps({"text": "Too short."})]) + "\n")


def _page(snapshot: int, page: int) -> dict[str, str]:
    """Every third page of the second snapshot is new."""
    seed = page + (1000 if snapshot and page % 3 == 0 else 0)
    return {"text": _text(random.Random(seed)), "url": f"https://example.org/{seed}"}


def _text(chance: random.Random) -> str:
    sentences = [f"{_clause(chance)} {chance.choice(_TURNS.split())} {_clause(chance)}" for _ in range(9)]
    marked = [f"{sentence[0].upper()}{sentence[1:]} in {chance.randint(1500, 1999)}." for sentence in sentences]
    return "\n\n".join(" ".join(marked[at : at + 3]) for at in range(0, len(marked), 3))


def _clause(chance: random.Random) -> str:
    who, what, where = chance.sample(_NAMES.split(), 3)
    quality = chance.choice(_QUALITIES.split())
    return f"the {quality} {who} {chance.choice(_DEEDS.split())} the {what} {chance.choice(_LINKS.split())} a {where}"
