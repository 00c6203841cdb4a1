"""Answers for scripted engines."""

import sys
from pathlib import Path

from corpusmill.engines.inference import ChatRequest
from corpusmill.engines.scripted import Fault, ScriptedEngine
from corpusmill.synthesize.sampling import Sampling

THREE_WORDS = "one two three"


def shout(request: ChatRequest) -> str | None:
    """Return the last message in capitals; nothing for an empty one."""
    return request.messages[-1]["content"].upper()


def recite(request: ChatRequest) -> str:
    return THREE_WORDS


def silent(request: ChatRequest) -> str | None:
    return None


if __name__ == "__main__":
    arrived, go_on = map(Path, sys.argv[1:])
    fault = Fault(before_request=1, kind="hold", arrived=arrived, go_on=go_on)
    engine = ScriptedEngine("toy_answers:shout", faults=[fault])
    requests = [ChatRequest(request_id=word, messages=[{"role": "user", "content": word}]) for word in ("a", "b")]
    print(*(completion.answer for completion in engine.generate(requests, Sampling(max_tokens=256))), flush=True)
