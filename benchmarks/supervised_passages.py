"""Passages to start from, and what good and bad generators make of them: material for simulated runs of a supervisor.

Passages are of real documents where the data are there (manual pages of Python, a physics book), else made of words of a
few subjects with frequencies as in language. A good generator says a passage again in part and in partly other words;
what it writes depends on its seed alone. What it may drift to are other texts: worded problems, or a subject of its own.
"""

import gzip
import json
import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path

DATA = Path(__file__).parents[2] / "shared" / "data"
PASSAGE_WORDS = 90

_OPENERS = (
    "In short, ", "Briefly put, ", "To sum up, ", "What this says is: ", "The point is this. ", "Here is the gist: ",
)  # fmt: skip
Generator = Callable[[str, random.Random], str]


def passages(limit: int) -> list[str]:
    """Return passages in the order of their documents, subject after subject; of the data where they are there."""
    if not DATA.exists():
        return made_passages(limit)
    found = [text for text in map(_plain, [*_manual(), *_physics()]) if len(text) > 80]
    step = max(1, len(found) // limit)
    return found[::step][:limit]


def foreign_passages(limit: int) -> list[str]:
    """Return passages unlike those to start from: what a generator may drift to."""
    return list(map(_plain, _problems()))[:limit] if DATA.exists() else made_passages(limit, subjects=1, name="foreign")


def made_passages(limit: int, *, subjects: int = 6, name: str = "passages") -> list[str]:
    """Return passages of invented words: each subject has its own, and all share the frequent ones."""
    chance = random.Random("words")
    frequent = _made_words(200, chance)
    chance = random.Random(name)
    rest = _made_words(5_800, chance)
    made = []
    for number in range(limit):
        subject = number * subjects // limit
        own = rest[subject::subjects]
        length = chance.randint(PASSAGE_WORDS // 2, 2 * PASSAGE_WORDS)
        words = [
            frequent[int(len(frequent) * chance.random() ** 2)]
            if chance.random() < 0.5
            else own[int(len(own) * chance.random() ** 3)]
            for _ in range(length)
        ]
        made.append(". ".join(" ".join(words[at : at + 12]) for at in range(0, length, 12)) + ".")
    return made


def _made_words(number: int, chance: random.Random) -> list[str]:
    return ["".join(chance.choices("aeioubdfgklmnprstvz", k=chance.randint(2, 9))) for _ in range(number)]


def rephrased(seed: str, chance: random.Random) -> str:
    """Most sentences, one word in eight another one, now and then with an opener."""
    sentences = [item for item in re.split(r"(?<=[.!?])\s+", seed) if chance.random() > 0.2] or [seed]
    opener = chance.choice(_OPENERS) if chance.random() < 0.3 else ""
    return opener + " ".join(_reworded(item, chance) for item in sentences)


def asked_and_answered(seed: str, chance: random.Random) -> str:
    """A question and its answer: the form is the same in every output."""
    topic = chance.choice(seed.split())
    return f"Question: What does the text say about {topic}?\nAnswer: {_reworded(seed, chance)}"


def translated(seed: str, chance: random.Random) -> str:
    """Other words all through, in the same order: each word has one in the other language."""
    return " ".join(word[::-1] for word in seed.split() if chance.random() > 0.05)


def shortened(seed: str, chance: random.Random) -> str:
    """One or two sentences of the seed."""
    sentences = re.split(r"(?<=[.!?])\s+", seed)
    return " ".join(chance.sample(sentences, min(len(sentences), chance.randint(1, 2))))


GOOD: dict[str, Generator] = {
    "rephrased": rephrased,
    "question and answer": asked_and_answered,
    "translated": translated,
    "shortened": shortened,
}


def collapsed(seed: str, chance: random.Random) -> str:
    """One template whatever the seed says, with two of its words filled in."""
    first, second = (chance.choice(seed.split()) for _ in range(2))
    return (
        f"This text is about {first}. It gives the reader a clear overview of {first} and explains why {second} is "
        f"important. In conclusion, {first} and {second} play a key role and are worth a closer look."
    )


def looping(seed: str, chance: random.Random) -> str:
    """A few words of the seed again and again."""
    words = seed.split()
    at = chance.randrange(max(1, len(words) - 4))
    return " ".join(words[at : at + 4] * 40)


def elsewhere(pool: Sequence[str], good: Generator) -> Generator:
    """Return a generator that writes well, but about other subjects than its seed's: what it drifts to."""

    def write(seed: str, chance: random.Random) -> str:
        return good(chance.choice(pool), chance)

    return write


def _reworded(text: str, chance: random.Random) -> str:
    return " ".join(word if chance.random() > 0.12 else f"{word[:2]}{word[::-1]}" for word in text.split())


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def _manual() -> list[str]:
    with gzip.open(DATA / "neardup_text_pydoc" / "docs.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    version = min(row["version"] for row in rows)
    return [passage for row in rows if row["version"] == version for passage in _cut(row["text"])]


def _physics() -> list[str]:
    with gzip.open(DATA / "stem_openstax_physics" / "pairs_vol1.jsonl.gz", "rt", encoding="utf-8") as file:
        texts = [re.sub(r"<[^>]*>", " ", json.loads(line)["cnxml_en"]) for line in file]
    return [passage for text in texts for passage in _cut(text)]


def _problems() -> list[str]:
    lines = (DATA / "stem_gsm8k_train" / "gsm8k_train_2000.jsonl").read_text(encoding="utf-8").splitlines()
    return [row["question"] + " " + row["answer"] for row in map(json.loads, lines)]


def _cut(text: str) -> list[str]:
    words = text.split()
    return [" ".join(words[at : at + PASSAGE_WORDS]) for at in range(0, len(words), PASSAGE_WORDS)]
