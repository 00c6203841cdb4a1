"""A proxy before an S3 server that answers some requests with 503 SlowDown, as S3 does under load."""

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

_SLOW_DOWN = b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"
_HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length"}


class ThrottlingProxy(ThreadingHTTPServer):
    """Passes requests on, except that of every `refuse_of` requests the first is refused."""

    daemon_threads = True

    def __init__(self, endpoint: str, refuse_of: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.upstream = urlsplit(endpoint).netloc
        self.refuse_of = refuse_of
        self.refusal = (503, _SLOW_DOWN)
        self.num_requests = 0
        self.num_refused = 0
        self.lock = threading.Lock()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def is_refused(self) -> bool:
        with self.lock:
            refused = self.num_requests % self.refuse_of == 0
            self.num_requests += 1
            self.num_refused += refused
            return refused


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ThrottlingProxy

    def _answer(self) -> None:
        is_chunked = "chunked" in self.headers.get("Transfer-Encoding", "")
        body = self._read_chunks() if is_chunked else self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.server.is_refused():
            status, answer = self.server.refusal
            self._send(status, {"Content-Type": "application/xml"}, answer)
            return
        connection = http.client.HTTPConnection(self.server.upstream)
        # The Host header is passed on as it is, because the signature covers it.
        connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            if name.lower() not in ("expect", "connection"):
                connection.putheader(name, value)
        connection.endheaders(body)
        response = connection.getresponse()
        content = response.read()
        headers = {name: value for name, value in response.getheaders() if name.lower() not in _HOP_BY_HOP}
        if self.command == "HEAD":
            headers["Content-Length"] = response.getheader("Content-Length") or "0"
        self._send(response.status, headers, content)
        connection.close()

    def _read_chunks(self) -> bytes:
        """Return the body as it was sent, with its chunk headers."""
        raw = b""
        while True:
            head = self.rfile.readline()
            size = int(head.split(b";")[0], 16)
            raw += head + self.rfile.read(size) + self.rfile.readline()
            if size == 0:
                return raw

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _answer

    def _send(self, status: int, headers: dict[str, str], content: bytes) -> None:
        self.send_response_only(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if "Content-Length" not in headers:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)


@contextmanager
def throttling_proxy(endpoint: str, *, refuse_of: int) -> Iterator[ThrottlingProxy]:
    """Run the proxy in a thread until the block ends."""
    with ThrottlingProxy(endpoint, refuse_of) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, daemon=True)
        thread.start()
        try:
            yield proxy
        finally:
            proxy.shutdown()
            thread.join()
