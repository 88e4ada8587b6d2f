"""A hub of models on loopback: the two addresses of the Hugging Face hub that fetching a model needs."""

import hashlib
import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote

LARGE = 10_000
"""Bytes from which a file has a SHA-256; smaller ones are git blobs."""


class HubServer:
    """Serves folders as models, well or badly; remembers what it was asked."""

    def __init__(self, models: dict[str, Path]) -> None:
        self.models = models
        self.revision = "a" * 40
        self.elsewhere = ""
        """Address of another server that has the files."""
        self.token = ""
        """What must be given, where not empty."""
        self.gated = False
        self.busy = 0
        """How many requests are answered with 503."""
        self.break_after = -1
        """Bytes of a file after which the connection breaks."""
        self.stall_after = -1
        """Bytes of a file after which nothing comes any more."""
        self.damage = False
        self.broken_answer = False
        """Whether what is told of a model breaks off."""
        self.more_files: list[dict] = []
        self.asked: list[tuple[str, str, str]] = []
        """Path, Range and Authorization of each request."""
        self.address = ""
        self.released = threading.Event()

    def names(self, name: str) -> list[str]:
        folder = self.models[name]
        return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())

    def describe(self, name: str) -> dict:
        files = []
        for path in self.names(name):
            content = (self.models[name] / path).read_bytes()
            # git's name of a blob: the hub gives it for every file, and a SHA-256 for the large ones.
            blob = hashlib.sha1(f"blob {len(content)}\0".encode() + content).hexdigest()
            entry = {"rfilename": path, "size": len(content), "blobId": blob}
            if len(content) >= LARGE:
                entry["lfs"] = {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content)}
            files.append(entry)
        return {
            "id": name,
            "sha": self.revision,
            "cardData": {"license": "apache-2.0"},
            "tags": ["license:apache-2.0"],
            "siblings": files + self.more_files,
        }


@contextmanager
def serving(hub: HubServer):
    """Run a hub; its address is `hub.address` until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def do_GET(self):
            answer(hub, self)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        hub.address = f"http://127.0.0.1:{server.server_port}"
        try:
            yield hub
        finally:
            hub.released.set()
            server.shutdown()
            thread.join()


def answer(hub: HubServer, request: BaseHTTPRequestHandler) -> None:
    path = unquote(request.path.partition("?")[0])
    given = request.headers.get("Authorization", "")
    hub.asked.append((path, request.headers.get("Range", ""), given))
    if hub.busy:
        hub.busy -= 1
        refuse(request, 503)
    elif hub.gated:
        refuse(request, 403, "GatedRepo")
    elif hub.token and given != f"Bearer {hub.token}":
        refuse(request, 401)
    elif path.startswith("/api/models/"):
        describe(hub, request, *path.removeprefix("/api/models/").split("/revision/"))
    elif hub.elsewhere:
        request.send_response(302)
        request.send_header("Location", f"{hub.elsewhere}{request.path}")
        request.send_header("Content-Length", "0")
        request.end_headers()
    else:
        name, _, rest = path.removeprefix("/").partition("/resolve/")
        send(request, (hub.models[name] / rest.partition("/")[2]).read_bytes(), hub)


def describe(hub: HubServer, request: BaseHTTPRequestHandler, name: str, revision: str) -> None:
    if name not in hub.models:
        refuse(request, 404, "RepoNotFound")
    elif revision not in {"main", hub.revision}:
        refuse(request, 404, "RevisionNotFound")
    elif hub.broken_answer:
        request.send_response(200)
        request.send_header("Transfer-Encoding", "chunked")
        request.end_headers()
        request.wfile.write(b"no length of a piece\r\n")
    else:
        send(request, json.dumps(hub.describe(name)).encode())


def refuse(request: BaseHTTPRequestHandler, code: int, word: str = "") -> None:
    request.send_response(code)
    if word:
        request.send_header("X-Error-Code", word)
    request.send_header("Content-Length", "0")
    request.end_headers()


def send(request: BaseHTTPRequestHandler, content: bytes, hub: HubServer | None = None) -> None:
    start = 0
    if asked := request.headers.get("Range", ""):
        start = int(asked.removeprefix("bytes=").partition("-")[0])
    request.send_response(206 if asked else 200)
    request.send_header("Content-Length", str(len(content) - start))
    request.end_headers()
    body = content[start:]
    if hub is None:
        request.wfile.write(body)
        return
    if hub.damage and len(content) >= LARGE:
        body = body[:-1] + bytes([body[-1] ^ 1])
    if 0 <= hub.break_after < len(body):
        request.wfile.write(body[: hub.break_after])
        request.close_connection = True
        return
    if 0 <= hub.stall_after < len(body):
        request.wfile.write(body[: hub.stall_after])
        request.wfile.flush()
        hub.released.wait(60)
        return
    request.wfile.write(body)
