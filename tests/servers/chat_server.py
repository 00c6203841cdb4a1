"""An OpenAI-compatible server for tests, in a process of its own: answers by rule and fails by plan.

What goes wrong is drawn by seed, request and how often that request came before, so two runs meet the same faults. The
server keeps the counts that a test judges by: how often each request came and how many were under way at once. Where
`log` names a file, each arrival and each answer is a line of it, so that they outlive a killed server.

    python -m tests.servers.chat_server '{"error_share": 0.02}'        prints its port
"""

import asyncio
import hashlib
import json
import re
import signal
import subprocess
import sys
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
FAULTS = ("error", "refuse", "hang", "broken", "reset")


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What the server is, and what goes wrong with it."""

    host: str = "127.0.0.1"
    port: int = 0
    model: str = "toy"
    key: str = ""
    """Asked for as a bearer token, where set."""
    seed: int = 1
    error_share: float = 0.0
    """Of the tries, each kind: status 500."""
    refuse_share: float = 0.0
    """Status 400."""
    hang_share: float = 0.0
    """Nothing at all, until the client goes away."""
    broken_share: float = 0.0
    """Status 200 and half of an answer's JSON."""
    reset_share: float = 0.0
    """The connection is cut."""
    always: str = ""
    """A fault that every try of a request with the word FAULT in it meets; with `is_for_all`, every request."""
    is_for_all: bool = False
    latency_seconds: float = 0.0
    slots: int = 0
    """Requests that it takes at once; more get status 429 with Retry-After. 0 takes all."""
    retry_after: str = "0.02"
    window: int = 0
    """Words of prompt and max_tokens together that it takes, told as vLLM tells it. 0 takes all."""
    max_model_len: int = 0
    """The window in tokens that the list of models tells; 0 tells none."""
    num_silent_looks: int = 0
    """The first GETs of the list of models, which get status 503: a server that is still starting."""
    dies_at: int = 0
    """The process kills itself (-9) when this many requests have come."""
    name: str = "server"
    log: str = ""


@dataclass(kw_only=True)
class Counts:
    """What a test asks the server about itself."""

    arrivals: Counter[str] = field(default_factory=Counter)
    """By the last message's text."""
    outcomes: Counter[str] = field(default_factory=Counter)
    num_looks: int = 0
    in_flight: int = 0
    peak_in_flight: int = 0
    bodies: list[dict[str, Any]] = field(default_factory=list)
    """The first few, without their messages."""


class ChatServer:
    """The server's side of the connections."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.counts = Counts()
        self.log = open(plan.log, "a", buffering=1) if plan.log else None  # noqa: SIM115 (as long as the process)

    async def serve(self) -> None:
        server = await asyncio.start_server(self.connected, self.plan.host, self.plan.port, backlog=1024)
        print(server.sockets[0].getsockname()[1], flush=True)
        async with server:
            await server.serve_forever()

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                length = re.search(r"content-length: *(\d+)", head, re.IGNORECASE)
                body = await reader.readexactly(int(length[1])) if length else b""
                if not await self.reply(head, body, reader, writer):
                    break
        writer.close()

    async def reply(self, head: str, body: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; returns whether the connection goes on."""
        method, path, _ = head.split(" ", 2)
        if path == "/stats":
            return await send(writer, 200, vars(self.counts))
        if self.plan.key and f"authorization: bearer {self.plan.key}\r\n".lower() not in head.lower():
            return await send(writer, 401, error("Incorrect API key provided"))
        if method == "GET":
            self.counts.num_looks += 1
            is_up = self.counts.num_looks > self.plan.num_silent_looks
            window = {"max_model_len": self.plan.max_model_len} if self.plan.max_model_len else {}
            models = {"object": "list", "data": [{"id": self.plan.model, "object": "model", **window}]}
            return await send(writer, 200 if is_up else 503, models if is_up else error("loading"))
        return await self.complete(json.loads(body), reader, writer)

    async def complete(self, body: dict[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        text = text_of(body["messages"][-1])
        attempt = self.counts.arrivals[text]
        self.arrive(text, body)
        self.counts.in_flight += 1
        try:
            outcome = self.outcome(text, attempt, body)
            is_open = await self.act(outcome, body, reader, writer)
        finally:
            self.counts.in_flight -= 1
        self.counts.outcomes[outcome] += 1
        self.note(text, outcome)
        return is_open

    def arrive(self, text: str, body: dict[str, Any]) -> None:
        self.counts.arrivals[text] += 1
        self.note(text, "arrived")
        if self.counts.arrivals.total() == self.plan.dies_at:
            signal.raise_signal(signal.SIGKILL)
        if len(self.counts.bodies) < 5:
            self.counts.bodies.append({name: value for name, value in body.items() if name != "messages"})

    def outcome(self, text: str, attempt: int, body: dict[str, Any]) -> str:
        if self.plan.slots and self.counts.in_flight > self.plan.slots:
            return "busy"
        self.counts.peak_in_flight = max(self.counts.peak_in_flight, self.counts.in_flight)
        num_words = sum(len(text_of(message).split()) for message in body["messages"])
        if self.plan.window and num_words + body["max_tokens"] > self.plan.window:
            return "too_long"
        if self.plan.always and (self.plan.is_for_all or "FAULT" in text):
            return self.plan.always
        draw = drawn(f"{self.plan.seed} {attempt} {text}")
        for fault in FAULTS:
            draw -= getattr(self.plan, f"{fault}_share")
            if draw < 0:
                return fault
        return "answer"

    async def act(
        self, outcome: str, body: dict[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        if outcome == "busy":
            return await send(writer, 429, error("too many requests"), f"Retry-After: {self.plan.retry_after}\r\n")
        if outcome == "too_long":
            told = f"This model's maximum context length is {self.plan.window} tokens. However, you requested more."
            return await send(writer, 400, error(told))
        if outcome == "hang":
            await reader.read(1)
            return False
        if outcome == "reset":
            writer.transport.abort()
            return False
        if outcome == "flood":
            return await flood(writer)
        await asyncio.sleep(self.plan.latency_seconds)
        if outcome == "other_model":
            return await send(writer, 200, completion({**body, "model": "other"}))
        if outcome == "unfit":
            return await send(writer, 401, error(f"Incorrect API key provided: {self.plan.key}"))
        if outcome in ("error", "refuse"):
            return await send(writer, 500 if outcome == "error" else 400, error(f"planned: {outcome}"))
        answer = json.dumps(completion(body))
        return await send(writer, 200, answer[: len(answer) // 2] if outcome == "broken" else answer)

    def note(self, text: str, what: str) -> None:
        if self.log:
            self.log.write(f"{self.plan.name} {what} {log_name(text)}\n")


def log_name(text: str) -> str:
    """Return what stands for a request in the log."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def drawn(text: str) -> float:
    """Return a number from 0 to 1 that the text alone decides."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6]) / 2**48


def text_of(message: dict[str, Any]) -> str:
    """Return a message's text, which some clients send in parts."""
    content = message["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def completion(body: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to a request, in the protocol's form."""
    text = text_of(body["messages"][-1])
    form = body.get("response_format")
    answer = json.dumps(instance(form["json_schema"]["schema"])) if form else said_anew(text)
    words = answer.split()
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": body["model"],
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": answer},
                "finish_reason": "stop",
            }
        ],
        "usage": {
            "prompt_tokens": len(text.split()),
            "completion_tokens": len(words),
            "total_tokens": len(text.split()) + len(words),
        },
    }


def said_anew(text: str) -> str:
    """Return the sentences of a text in the opposite order; one text in ten is talked about instead."""
    sentences = re.split(r"(?<=[.])\s+", text.strip())
    talk = "I am sorry, I cannot help with that. " if drawn(text) < 0.1 else ""
    return talk + " ".join(reversed(sentences))


def instance(schema: dict[str, Any]) -> Any:
    """Return the plainest value that follows a JSON schema of objects, lists, texts and numbers."""
    if schema["type"] == "object":
        return {name: instance(item) for name, item in schema["properties"].items()}
    return {"string": "text", "integer": 1, "number": 1.0, "boolean": True, "array": []}[schema["type"]]


def error(message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": "BadRequestError", "param": None, "code": 400}}


async def send(writer: asyncio.StreamWriter, status: int, content: Any, headers: str = "") -> bool:
    body = (content if isinstance(content, str) else json.dumps(content)).encode()
    head = (
        f"HTTP/1.1 {status} Planned\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n{headers}\r\n"
    )
    writer.write(head.encode() + body)
    await writer.drain()
    return True


async def flood(writer: asyncio.StreamWriter) -> bool:
    """Send an answer without an end, as long as the client takes it."""
    writer.write(b"HTTP/1.1 200 Planned\r\nContent-Type: application/json\r\n\r\n")
    with suppress(ConnectionError):
        while True:
            writer.write(b" " * 65_536)
            await writer.drain()
    return False


@dataclass(frozen=True, kw_only=True)
class RunningServer:
    """A server in a process of its own, as a test sees it."""

    process: "subprocess.Popen[str]"
    url: str

    def counts(self) -> dict[str, Any]:
        with urllib.request.urlopen(f"{self.url}/stats") as reply:
            return dict(json.load(reply))


def start_server(plan: Plan) -> RunningServer:
    """Start a server and return it once it listens; it ends with this process's pipe or when it is killed."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.servers.chat_server", json.dumps(asdict(plan))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    assert process.stdout is not None
    return RunningServer(process=process, url=f"http://{plan.host}:{int(process.stdout.readline())}")


def end_server(server: RunningServer) -> None:
    server.process.kill()
    server.process.wait()
    for pipe in (server.process.stdin, server.process.stdout):
        assert pipe is not None
        pipe.close()


@contextmanager
def chat_server(**plan: Any) -> Iterator[RunningServer]:
    """Run a server until the block ends."""
    server = start_server(Plan(**plan))
    try:
        yield server
    finally:
        end_server(server)


async def main(plan: Plan) -> None:
    """Serve until the standard input ends: whoever started this is gone then."""
    serving = asyncio.ensure_future(ChatServer(plan).serve())
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    serving.cancel()


if __name__ == "__main__":
    with suppress(asyncio.CancelledError):
        asyncio.run(main(Plan(**json.loads(sys.argv[1]))))
