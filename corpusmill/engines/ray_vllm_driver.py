"""The process that talks to Ray for all clients of one inference server: takes their orders over a local socket.

It is a process of its own because Ray ends a process whose cluster is gone, and one for all clients because Ray takes a second
or more to join. A client waits for a greeting, then writes lines of JSON, each with a number, and gets for each a line with
the same number. Orders begin in the order in which they came and end in any. When a client's line ends, in the middle of
calls, too, the engines throw its requests out. The process ends with its input, which the server holds open.
"""

import json
import os
import socket
import sys
import threading
from dataclasses import asdict
from pathlib import Path
from typing import Any

from corpusmill.engines.inference import EngineDeadError
from corpusmill.engines.ray_connection import join_cluster
from corpusmill.engines.ray_vllm_calls import Call, Engine, Patience, Restarts, await_return, find_engines
from corpusmill.engines.ray_vllm_connection import GREETING


def main(endpoint: dict[str, Any], address: Path) -> None:
    """Serve clients at the socket `address` until this process's input ends."""
    threading.Thread(target=_end_with_input, daemon=True).start()
    join_cluster(endpoint)
    os.umask(0o077)  # whoever may write to the socket may ask
    restarts = Restarts()
    with socket.socket(socket.AF_UNIX) as listener:
        address.unlink(missing_ok=True)
        listener.bind(str(address))
        listener.listen()
        while True:
            line, _ = listener.accept()
            threading.Thread(target=_Client(line, endpoint, restarts).serve, daemon=True).start()


class _Client:
    """One client, as long as its line holds."""

    def __init__(self, line: socket.socket, endpoint: dict[str, Any], restarts: Restarts) -> None:
        self._line = line
        self._endpoint = endpoint
        self._restarts = restarts
        self._gone = threading.Event()
        self._answers = line.makefile("w", encoding="utf-8")
        self._writing = threading.Lock()

    def serve(self) -> None:
        """Begin the client's orders one after the other, until its line ends."""
        with self._line, self._line.makefile("r", encoding="utf-8") as orders:
            try:
                self._line.sendall(GREETING)
                for order in orders:
                    self._begin(json.loads(order))
            except OSError as error:
                print(f"a client's line broke: {error}", file=sys.stderr, flush=True)
            finally:
                self._gone.set()

    def _begin(self, order: dict[str, Any]) -> None:
        engines = find_engines(self._endpoint)
        if order["ask"] == "pids":
            self._in_thread(lambda: self._reply(order, {"pids": _pids(engines)}))
            return
        call = Call(
            engines,
            requests=order["requests"],
            sampling=order["sampling"],
            patience=Patience(**order["patience"]),
            restarts=self._restarts,
            gone=self._gone,
        )
        call.begin()
        self._in_thread(lambda: self._reply(order, _outcome(call)))

    def _in_thread(self, work: Any) -> None:
        threading.Thread(target=work, daemon=True).start()

    def _reply(self, order: dict[str, Any], told: dict[str, Any]) -> None:
        with self._writing:
            if self._gone.is_set():
                return
            try:
                print(json.dumps({"number": order["number"], "reply": told}), file=self._answers, flush=True)
            except OSError:
                self._gone.set()


def _outcome(call: Call) -> dict[str, Any]:
    try:
        return {"completions": [asdict(completion) for completion in call.run()]}
    except EngineDeadError as error:
        return {"dead": str(error)}


def _pids(engines: list[Engine]) -> dict[str, int]:
    import ray

    facts = {engine.name: await_return(engine.actor) for engine in engines}
    return {name: ray.get(fact)["pid"] for name, fact in facts.items()}


def _end_with_input() -> None:
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), Path(sys.argv[2]))
