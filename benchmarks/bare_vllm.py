"""Bare `vllm.LLM` in a process of its own: reads lines of prompts, answers each with the tokens and seconds it took.

It imports nothing of ours: vLLM does not start on a CPU in a process that has loaded numba.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

Messages = Sequence[Mapping[str, str]]


class BareVllm:
    """A running `LLM`."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def generate(self, prompts: Sequence[Messages], *, max_tokens: int, stop: Sequence[str] = ()) -> dict[str, Any]:
        """Return `tokens` and `seconds` of one call of `LLM.generate`."""
        assert self._process.stdin is not None and self._process.stdout is not None
        order = {"prompts": list(prompts), "max_tokens": max_tokens, "stop": list(stop)}
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("bare vLLM ended; its last words stand above")
        return dict(json.loads(line))


@contextmanager
def bare_vllm(arguments: Mapping[str, Any], environment: Mapping[str, str]) -> Iterator[BareVllm]:
    """Run `LLM(**arguments)`, warm after one short prompt."""
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "benchmarks.bare_vllm", json.dumps(dict(arguments))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment, "VLLM_LOGGING_LEVEL": "ERROR"},
    )
    try:
        bare = BareVllm(process)
        bare.generate([[{"role": "user", "content": "Count to ten."}]], max_tokens=16)
        yield bare
    finally:
        assert process.stdin is not None
        process.stdin.close()
        process.wait()


def main(arguments: dict[str, Any]) -> None:
    """Answer the lines of this process's input until it ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    from vllm import LLM, SamplingParams

    llm = LLM(**arguments)
    tokenizer = llm.get_tokenizer()
    for line in sys.stdin:
        order = json.loads(line)
        texts = [
            tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
            for messages in order["prompts"]
        ]
        sampling = SamplingParams(temperature=0.0, max_tokens=order["max_tokens"], stop=order["stop"])
        started = time.monotonic()
        outputs = llm.generate(texts, sampling, use_tqdm=False)
        seconds = time.monotonic() - started
        tokens = sum(len(output.outputs[0].token_ids) for output in outputs)
        print(json.dumps({"tokens": tokens, "seconds": seconds}), file=answers, flush=True)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
