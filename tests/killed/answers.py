"""The scripted model of these tests: shortens what it is shown, and notes whom it answered."""

import os
import re
from pathlib import Path

from corpusmill.engines.inference import ChatRequest

CALLS_VARIABLE = "CORPUSMILL_TEST_CALLS"
"""Names the file that gets a line for every request that was asked."""


def answer(request: ChatRequest) -> str:
    """Return every second sentence with its halves exchanged."""
    with Path(os.environ[CALLS_VARIABLE]).open("a") as calls:
        calls.write(f"{request.request_id}\n")
    sentences = re.split(r"(?<=[.])\s+", request.messages[-1]["content"])
    return " ".join(_exchange_halves(sentence) for sentence in sentences[::2])


def _exchange_halves(sentence: str) -> str:
    words = sentence.rstrip(".").split()
    middle = len(words) // 2
    return f"{' '.join(words[middle:])} {' '.join(words[:middle])}.".capitalize()
