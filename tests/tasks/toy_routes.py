"""A scripted model that is asked by several queues: what is too hard for one is easy for another."""

import re

from corpusmill.engines.inference import ChatRequest
from tests.tasks.toy_decline import page


def answers(request: ChatRequest) -> str:
    """Say a page anew; every third one is refused where the system prompt asks for something hard."""
    number = page(request)
    if number % 3 == 0 and "hard" in request.messages[0]["content"]:
        return f"I'm sorry, but I cannot help with page {number}."
    words = re.findall(r"[a-z]+", request.messages[-1]["content"].split("is new.")[1])
    return f"Page {number} is new. {' '.join(words[:12])}."
