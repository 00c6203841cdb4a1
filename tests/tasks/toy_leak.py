"""A scripted model that gives away an item of a benchmark when it is shown an exam, and else says what it was shown."""

from corpusmill.engines.inference import ChatRequest

ITEM = "Write a function to swap two numbers without a third one in between."


def answer(request: ChatRequest) -> str:
    shown = request.messages[-1]["content"]
    return f"A pupil was told: {ITEM.upper()}" if "exam" in shown else shown
