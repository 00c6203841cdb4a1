"""A headless Chromium steered over the DevTools protocol: open a page, read the text that a person sees, take a picture."""

import base64
import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

SECONDS = 120.0
"""For a page to show what it should, on a machine that is busy with the tests themselves."""
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-port=0",
)
VISIBLE_TEXT = "document.body ? document.body.innerText : ''"


def chromium_binary() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Page:
    """One tab."""

    def __init__(self, connection: ClientConnection, session: str) -> None:
        self._connection = connection
        self._session = session
        self._last_id = 100

    def open(self, url: str, *, width: int = 1500, height: int = 1000) -> None:
        """Go to `url` in a window of that size; what it shows is waited for by who reads it."""
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self._call("Page.navigate", url=url)

    def text(self) -> str:
        """Return the text that is visible now."""
        return str(self.evaluate(VISIBLE_TEXT))

    def text_with(self, *wanted: str) -> str:
        """Return the visible text once it holds all of `wanted`."""
        deadline = time.monotonic() + SECONDS
        while missing := [words for words in wanted if words not in self.text()]:
            assert time.monotonic() < deadline, f"{SECONDS:.0f} s and no {missing} in:\n{self.text()}"
            time.sleep(0.2)
        return self.text()

    def evaluate(self, expression: str) -> Any:
        """Return the value of a JavaScript expression."""
        answer = self._call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def save_picture(self, file: Path) -> None:
        file.write_bytes(base64.b64decode(self._call("Page.captureScreenshot", format="png")["data"]))

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._last_id += 1
        return _call(self._connection, self._last_id, method, parameters, session=self._session)


@contextmanager
def chromium(binary: str) -> Iterator[Page]:
    """Start a browser with a new profile and give its tab; both are gone afterwards."""
    with ExitStack() as stack:
        profile = stack.enter_context(tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True))
        log = stack.enter_context(Path(profile, "output.log").open("wb"))
        command = [binary, *FLAGS, f"--user-data-dir={profile}", "about:blank"]
        process = stack.enter_context(subprocess.Popen(command, stdout=log, stderr=log))
        stack.callback(process.kill)
        connection = stack.enter_context(connect(_debugger(Path(profile), process), max_size=None, ping_interval=None))
        target = _call(connection, 1, "Target.createTarget", {"url": "about:blank"})["targetId"]
        attached = _call(connection, 2, "Target.attachToTarget", {"targetId": target, "flatten": True})
        yield Page(connection, attached["sessionId"])


def _debugger(profile: Path, process: "subprocess.Popen[bytes]") -> str:
    file = profile / "DevToolsActivePort"
    deadline = time.monotonic() + SECONDS
    while not file.exists() or len(file.read_text().split()) < 2:
        log = (profile / "output.log").read_text(errors="replace")
        assert process.poll() is None and time.monotonic() < deadline, f"no DevTools; Chromium said: {log[-2000:]}"
        time.sleep(0.1)
    port, path = file.read_text().split()
    return f"ws://127.0.0.1:{port}{path}"


def _call(
    connection: ClientConnection, number: int, method: str, parameters: dict[str, Any], *, session: str | None = None
) -> dict[str, Any]:
    message = {"id": number, "method": method, "params": parameters} | ({"sessionId": session} if session else {})
    connection.send(json.dumps(message))
    while True:
        answer = json.loads(connection.recv(timeout=SECONDS))
        if answer.get("id") == number:
            assert "error" not in answer, f"{method}: {answer['error']}"
            result: dict[str, Any] = answer["result"]
            return result
