"""Scripted models that are good at first and go bad at a page: by one template, or by refusing."""

import re
from threading import Condition

from corpusmill.engines.inference import ChatRequest, EngineDeadError

BAD_FROM = 100
"""The first page that goes wrong."""
dies_at: int | None = None
"""A page at which the engine dies; set by a test."""
held: dict[int, int] = {}
"""Pages that are answered only once another page was asked for, so that their wave comes back late; set by a test."""
_asked: set[int] = set()
_news = Condition()


def page(request: ChatRequest) -> int:
    """Return the number of the page that is shown, and die where that was asked for."""
    number = int(re.search(r"Page (\d+)", request.messages[-1]["content"]).group(1))
    if number == dies_at:
        raise EngineDeadError(f"died at page {number}, as planned")
    with _news:
        _asked.add(number)
        _news.notify_all()
        if number in held:
            assert _news.wait_for(lambda: held[number] in _asked, timeout=60), f"{held[number]} was never asked for"
    return number


def forget() -> None:
    """Forget which pages were asked for."""
    _asked.clear()


def good(request: ChatRequest) -> str:
    number = page(request)
    words = re.findall(r"[a-z]+", request.messages[-1]["content"].split("is new.")[1])
    return f"On page {number}: {' '.join(words)}."


def collapses(request: ChatRequest) -> str:
    template = "This page gives a clear overview of all that matters and is well worth a closer look in the end."
    return good(request) if page(request) < BAD_FROM else f"{template} It is number {page(request)}."


def says_parts(request: ChatRequest) -> str:
    """Say any part of a page anew."""
    return f"In other words: {request.messages[-1]['content']}"


def refuses(request: ChatRequest) -> str:
    """A refusal from a page on, except where the system prompt asks for something easy."""
    is_fine = page(request) < BAD_FROM or "easy" in request.messages[0]["content"]
    return good(request) if is_fine else f"I'm sorry, but I cannot help with page {page(request)}."
