"""A server on loopback that speaks one of the providers' protocols, and fails as it is told to.

`script` holds replies that come before the ordinary ones, one for each POST.
"""

import json
import ssl
import sys
import threading
import time
from collections import deque
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from provider_protocols import RefusedError, Reply, Seen
from provider_streams import events_of

GONE = (BrokenPipeError, ConnectionResetError)
"""What a handler meets where the client gave up, as it should."""


class _Listening(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        if not isinstance(sys.exception(), GONE):
            super().handle_error(request, client_address)


class Server:
    """A protocol behind a port of this machine."""

    def __init__(self, protocol):
        self.protocol = protocol
        self.script = deque()
        self.seen = []
        self._lock = threading.Lock()
        self._going = 0
        self.most_at_once = 0
        self.slow_s = 0.0
        self.trickle_s = 0.0
        self.trickles_head = False
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Head and body are written one after the other, and would wait 40 ms for each other.
            disable_nagle_algorithm = True

            def do_GET(self):
                owner.handle(self)

            do_POST = do_GET  # noqa: N815

            def log_message(self, *arguments):
                pass

        self._http = _Listening(("127.0.0.1", 0), Handler)
        self.root = f"http://127.0.0.1:{self._http.server_address[1]}"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    @property
    def posts(self):
        return [seen for seen in self.seen if seen.method == "POST"]

    def wait_for(self, count):
        """Wait until so many requests have come; a busy machine reads them late."""
        deadline = time.monotonic() + 10
        while len(self.posts) < count and time.monotonic() < deadline:
            time.sleep(0.005)

    def handle(self, handler):
        length = int(handler.headers.get("Content-Length") or 0)
        body = json.loads(handler.rfile.read(length) or b"{}")
        parts = urlsplit(handler.path)
        headers = {name.lower(): value for name, value in handler.headers.items()}
        seen = Seen(handler.command, parts.path, parse_qs(parts.query), headers, body)
        with self._lock:
            self.seen.append(seen)
            self._going += 1
            self.most_at_once = max(self.most_at_once, self._going)
            reply = self.script.popleft() if self.script and handler.command == "POST" else None
        try:
            time.sleep(self.slow_s)
            self._reply(handler, reply or self._ordinary(seen))
        finally:
            with self._lock:
                self._going -= 1

    def _ordinary(self, seen):
        try:
            answer = self.protocol.answer(seen)
            events = events_of(self.protocol, seen, answer)
            if events is None:
                return Reply(200, answer)
            return Reply(200, events[1], {"Content-Type": events[0]})
        except RefusedError as refused:
            return refused.reply

    def _reply(self, handler, reply):
        time.sleep(reply.delay_s)
        content = reply.content()
        try:
            if self.trickles_head:
                handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
                self._trickle(handler, b"x" * 40)
                handler.close_connection = True
                return
            handler.send_response(reply.status)
            kind = "text/html" if content.startswith(b"<") else "application/json"
            for name, value in {"Content-Type": kind, **reply.headers}.items():
                handler.send_header(name, value)
            handler.send_header("Content-Length", str(len(content)))
            handler.end_headers()
            if reply.reset or reply.missing:
                handler.wfile.write(content[: len(content) // 2 if reply.reset else -reply.missing])
                handler.wfile.flush()
                handler.close_connection = True
                return
            if self.trickle_s:
                self._trickle(handler, content)
                return
            handler.wfile.write(content)
        except GONE:
            handler.close_connection = True

    def _trickle(self, handler, content):
        for place in range(len(content)):
            handler.wfile.write(content[place : place + 1])
            handler.wfile.flush()
            time.sleep(self.trickle_s)

    def use_tls(self, cert, key):
        """Speak only TLS from now on."""
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(cert, key)
        self._http.socket = context.wrap_socket(self._http.socket, server_side=True)
        self.root = f"https://localhost:{self._http.server_address[1]}"

    def close(self):
        """Stop answering; closing twice is fine."""
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


@contextmanager
def serving(protocol):
    server = Server(protocol)
    try:
        yield server
    finally:
        server.close()
