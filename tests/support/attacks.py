"""What a hostile client does to a server over raw sockets, and what may come of it."""

import contextlib
import itertools
import json
import re
import socket
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

CLOSED, OPEN, INJECTED, LEAKED, TWICE, HTML = "closed", "open", "injected", "leaked", "twice", "html"
REFUSED = frozenset({"400", "401", "403", "404", "405", "408", "411", "413", "415", "422", "429", CLOSED})
MEGABYTE = b"a" * 1_048_576


@dataclass
class Target:
    """A server on loopback; `paths` are its routes as OpenAPI names them, `cookie` a logged-in browser's.

    `idle` connections are opened at once; the server keeps `most`.
    """

    port: int
    token: str
    paths: dict[str, list[str]] = field(default_factory=dict)
    cookie: str = ""
    idle: int = 2_000
    most: int = 1_024
    patience_s: float = 15.0

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=self.patience_s)

    def head(self, method: str, path: str, *lines: str, token: bool = True, host: str | None = None) -> bytes:
        named = [] if host == "" else [f"Host: {host or self.host}"]
        known = [f"X-API-Key: {self.token}"] if token else []
        return "\r\n".join([f"{method} {path} HTTP/1.1", *named, *known, *lines, "", ""]).encode("latin-1")

    def post(self, path: str, body: bytes, *lines: str, token: bool = True) -> bytes:
        kind = (
            ()
            if any(line.startswith("Content-Type") for line in lines)
            else ("Content-Type: application/json",)
        )
        return self.head("POST", path, *kind, f"Content-Length: {len(body)}", *lines, token=token) + body

    def say(self, *parts: bytes) -> bytes:
        """Send parts, and return the answer; a server that refuses may close before all is sent."""
        with self.connect() as connection:
            with contextlib.suppress(OSError):
                for part in parts:
                    connection.sendall(part)
            return hear(connection)

    def say_and_wait(self, request: bytes, silence_s: float = 0.3) -> bytes:
        """Send a request, and return all answers until the server closes or has been silent for a while."""
        said = b""
        with self.connect() as connection:
            connection.sendall(request)
            connection.settimeout(max(silence_s, 1.0))
            with contextlib.suppress(OSError):
                while part := connection.recv(65_536):
                    said += part
                    connection.settimeout(silence_s)
        return said

    def status(self, *parts: bytes) -> str:
        return status_of(self.say(*parts))


def hear(connection: socket.socket) -> bytes:
    """Return one whole answer, or what came before the end."""
    said = b""
    with contextlib.suppress(OSError):
        while part := connection.recv(65_536):
            said += part
            if is_whole(said):
                break
    return said


def is_whole(said: bytes) -> bool:
    head, separator, body = said.partition(b"\r\n\r\n")
    if not separator:
        return False
    length = re.search(rb"(?i)content-length: (\d+)", head)
    return len(body) >= int(length[1]) if length else body.endswith(b"0\r\n\r\n")


def status_of(said: bytes) -> str:
    begun = re.match(rb"HTTP/1\.1 (\d{3})", said)
    return begun[1].decode() if begun else CLOSED


@dataclass(frozen=True)
class Attack:
    """One kind of attack: what it tries, what may come of it, and how it is done."""

    name: str
    allowed: frozenset[str]
    run: Callable[[Target], Counter[str]]


ATTACKS: list[Attack] = []


def attack(name: str, *allowed: str) -> Callable[[Callable[[Target], Iterator[str]]], None]:
    def register(run: Callable[[Target], Iterator[str]]) -> None:
        ATTACKS.append(Attack(name, frozenset(allowed) or REFUSED, lambda target: Counter(run(target))))

    return register


@attack("wrong token", "401", "429")
def wrong_token(target: Target) -> Iterator[str]:
    wrong = ["", "x", target.token[:-1], target.token + "x", target.token.swapcase(), "\xff\xfe", "x" * 8_000]
    for given, name in itertools.product(
        wrong, ("X-API-Key: ", "Authorization: Bearer ", "Authorization: Basic ")
    ):
        yield target.status(target.head("GET", "/graphs?label=*", name + given, token=False))
    for given in wrong[:-2]:
        body = json.dumps({"token": given}).encode()
        yield target.status(target.post("/session", body, token=False))


@attack("foreign or odd Host", "400", "403")
def foreign_host(target: Target) -> Iterator[str]:
    odd = [
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "localhost.",
        "192.168.0.1",
        "0.0.0.0",
    ]
    odd += [
        "",
        " ",
        "[::1",
        "[::ffff:127.0.0.1]",
        "127.0.0.1:80:80",
        "a@localhost",
        "localhost/",
        "2130706433",
    ]
    for host in odd:
        yield target.status(target.head("GET", "/health", host=host or None if host else ""))
    yield target.status(target.head("GET", "/health", "Host: evil.example"))
    yield target.status(target.head("GET", f"http://evil.example:{target.port}/health"))


@attack("foreign Origin or site", "403")
def foreign_origin(target: Target) -> Iterator[str]:
    own = f"http://{target.host}"
    for origin in (
        "http://evil.example",
        "null",
        "file://",
        "http://127.0.0.1:1",
        f"{own}.evil.example",
        f"{own}/x",
        "",
    ):
        yield target.status(target.head("GET", "/health", f"Origin: {origin}"))
    yield target.status(target.head("GET", "/health", f"Origin: {own}", "Origin: http://evil.example"))
    for site in ("cross-site", "same-site", "nonsense"):
        yield target.status(target.head("GET", "/health", f"Sec-Fetch-Site: {site}"))
        lines = (f"Sec-Fetch-Site: {site}", "Sec-Fetch-Mode: navigate", f"Cookie: {target.cookie}")
        yield target.status(target.head("GET", "/documents", *lines, token=False))


@attack("another site's form with the cookie", "403")
def forged_form(target: Target) -> Iterator[str]:
    cookie = f"Cookie: {target.cookie}"
    note = json.dumps({"text": "a note that another site plants"}).encode()
    for kind in (
        "application/json",
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
    ):
        for path in ("/documents/text", "/documents/upload", "/v1/memory/forget", "/signal", "/query"):
            yield target.status(target.post(path, note, f"Content-Type: {kind}", cookie, token=False))
            forged = (f"Content-Type: {kind}", cookie, "X-CSRF-Token: " + "x" * 43)
            yield target.status(target.post(path, note, *forged, token=False))
    yield target.status(target.head("DELETE", "/documents", cookie, token=False))
    yield target.status(target.head("DELETE", "/session", cookie, token=False))


def _drip(target: Target, *begun: bytes) -> Iterator[str]:
    """Open connections that each begin a request, and go on with a byte now and then while they are let."""
    open_ = set()
    for beginning in begun:
        connection = target.connect()
        connection.sendall(beginning)
        connection.settimeout(0.001)
        open_.add(connection)
    until = time.monotonic() + target.patience_s
    while open_ and time.monotonic() < until:
        for connection in list(open_):
            try:
                connection.send(b"a")
                said = connection.recv(65_536)
            except TimeoutError:
                continue
            except OSError:
                said = b""
            open_.discard(connection)
            connection.close()
            yield status_of(said)
        time.sleep(0.1)
    for connection in open_:
        connection.close()
        yield OPEN


@attack("slow heads", "408", CLOSED)
def slow_heads(target: Target) -> Iterator[str]:
    yield from _drip(target, *[b"GET /health HTTP/1.1\r\nX-Slow: "] * 100)


@attack("slow bodies", "400", "408", CLOSED)
def slow_bodies(target: Target) -> Iterator[str]:
    line = ("Content-Type: application/json", "Content-Length: 10000")
    known = target.head("POST", "/query", *line)
    unknown = target.head("POST", "/session", *line, token=False)
    yield from _drip(target, *[known, unknown] * 50)


@attack("a body of 100 MB", "413", "401", "408", CLOSED)
def large_body(target: Target) -> Iterator[str]:
    kind = "Content-Type: application/json"
    announced = f"Content-Length: {100 * len(MEGABYTE)}"
    for token in (True, False):
        yield target.status(target.head("POST", "/documents/text", kind, announced, token=token))
        yield target.status(
            target.head("POST", "/documents/text", kind, announced, token=token), *[MEGABYTE] * 100
        )
        chunk = b"100000\r\n" + MEGABYTE + b"\r\n"
        head = target.head("POST", "/documents/text", kind, "Transfer-Encoding: chunked", token=token)
        yield target.status(head, *[chunk] * 100, b"0\r\n\r\n")
    head = target.head("POST", "/session", kind, "Transfer-Encoding: chunked", token=False)
    yield target.status(head, *[chunk] * 100, b"0\r\n\r\n")


@attack("a body in tiny chunks", "400", "401", CLOSED)
def crumbs(target: Target) -> Iterator[str]:
    head = target.head(
        "POST", "/documents/text", "Content-Type: application/json", "Transfer-Encoding: chunked"
    )
    for begun in (head, target.head("GET", "/health", "Transfer-Encoding: chunked", token=False)):
        yield target.status(begun, *[b"1\r\na\r\n" * 100_000] * 3, b"0\r\n\r\n")


@attack("JSON bombs", "400", "413", "422")
def bombs(target: Target) -> Iterator[str]:
    deep = b'{"query": ' + b"[" * 200_000 + b"]" * 200_000 + b"}"
    wide = b'{"query": [' + b"[]," * 600_000 + b"[]]}"
    digits = b'{"query": "why", "top_k": ' + b"9" * 100_000 + b"}"
    for body in (deep, wide, digits, b'{"query": "\\ud800"}', b'{"query": "\xff"}', b"\0" * 1_000, b"{" * 10):
        yield target.status(target.post("/query", body))


@attack("idle connections", OPEN, CLOSED)
def idle(target: Target) -> Iterator[str]:
    with contextlib.ExitStack() as stack:
        connections = [stack.enter_context(target.connect()) for _ in range(target.idle)]
        for connection in connections:
            connection.setblocking(False)
        until = time.monotonic() + target.patience_s
        # What the server has not accepted yet is open on this side.
        while (left := sum(map(_is_open, connections))) > target.most and time.monotonic() < until:
            time.sleep(0.2)
        yield from itertools.chain([OPEN] * left, [CLOSED] * (len(connections) - left))


def _is_open(connection: socket.socket) -> bool:
    try:
        return bool(connection.recv(1, socket.MSG_PEEK))
    except BlockingIOError:
        return True
    except OSError:
        return False


@attack("responses that nobody reads", CLOSED, OPEN)
def unread(target: Target) -> Iterator[str]:
    page = target.say(target.head("GET", "/webui/", "Connection: close", token=False)).decode()
    found = re.search(r"assets/[\w.-]+\.js", page)
    path = f"/webui/{found[0]}" if found else "/health"
    connections = [target.connect() for _ in range(50)]
    for connection in connections:
        connection.setblocking(False)
        with contextlib.suppress(OSError):
            connection.send(target.head("GET", path, token=False) * 50)
    time.sleep(0.5)
    for connection in connections:
        connection.close()
        yield OPEN


_STEPS = (
    "..",
    "%2e%2e",
    "..%2f..%2f..%2fetc%2fpasswd",
    "%252e%252e%252f",
    "....//",
    "..%5c..%5c",
    "..%c0%af",
)
_ODD = (
    "%00",
    "%ff%fe",
    "%0d%0aInjected:%20x",
    "%3Cscript%3E",
    "'%20OR%201=1--",
    "~root",
    "%F0%9F%92%A3",
    "a" * 4_000,
)


@attack("path traversal", *REFUSED, "200", "204", "304", "307")
def traversal(target: Target) -> Iterator[str]:
    files = ["", "/assets", "/webui", "/webui/assets", "/workspace", "/ui/customization/assets"]
    places = [f"{folder}/{step}/{step}/etc/passwd" for folder in files for step in _STEPS]
    places += [f"{folder}//etc/passwd" for folder in files] + [
        f"{folder}/{odd}" for folder in files for odd in _ODD
    ]
    asked = [("GET", place) for place in places]
    for path, methods in target.paths.items():
        for odd in (*_STEPS, *_ODD) if "{" in path else ():
            asked += [(method, re.sub(r"\{\w+\}", odd, path)) for method in methods]
    for method, path in asked:
        said = target.say(target.head(method, path, "Connection: close", "Content-Length: 0"))
        yield LEAKED if b"root:" in said else INJECTED if has_injected(said) else status_of(said)


def has_injected(said: bytes) -> bool:
    head, _, body = said.partition(b"\r\n\r\n")
    return b"\ninjected" in head.lower() or (b"text/html" in head.lower() and b"<script>" in body)


@attack("truncated headers", *REFUSED, "200", "307")
def injection(target: Target) -> Iterator[str]:
    for path in (
        "/webui?a=%0d%0aInjected:%20x",
        "/webui%0d%0aInjected:%20x",
        "/graphs?label=a%0d%0aInjected:%20x",
    ):
        said = target.say(target.head("GET", path, "Connection: close"))
        yield INJECTED if has_injected(said) else status_of(said)
    for text in (
        "a\r\nInjected: x",
        "a\nInjected: x",
        "\u560d\u560aInjected: x",
        "a\u2028Injected: x",
        "\u202egnp.exe",
    ):
        note = json.dumps({"text": f"We decided on this: {text}", "file_source": text, "title": text[:40]})
        said = target.say(target.post("/documents/text", note.encode(), "Connection: close"))
        yield INJECTED if has_injected(said) else status_of(said)
    for line in (
        "X-A: a\nInjected: x",
        "X-A: a\rInjected: x",
        "X-A: \0",
        "X A: b",
        "X-A : b",
        "X-Request-ID: a\tb%0aInjected",
    ):
        said = target.say(target.head("GET", "/health", line, "Connection: close"))
        yield INJECTED if has_injected(said) else status_of(said)


@attack("request smuggling", *REFUSED)
def smuggling(target: Target) -> Iterator[str]:
    inner = target.head("GET", "/health", "Connection: close")
    chunked = b"0\r\n\r\n" + inner
    for lines in (
        ("Content-Length: 5", f"Content-Length: {len(chunked)}"),
        (f"Content-Length: {len(chunked)}", "Content-Length: 5"),
        (f"Content-Length: {len(chunked)}", "Transfer-Encoding: chunked"),
        ("Transfer-Encoding: chunked", f"Content-Length: {len(chunked)}"),
        ("Transfer-Encoding: chunked", "Transfer-Encoding: identity"),
        ("Transfer-Encoding: xchunked",),
        ("Transfer-Encoding : chunked",),
        ("Transfer-Encoding: identity",),
        ("Transfer-Encoding:\tchunked\x0b",),
        ("Content-Length: +5",),
        ("Content-Length: 5, 6",),
        ("Content-Length: -1",),
        ("Content-Length: 0x5",),
        ("X-A: b\r\n Transfer-Encoding: chunked", "Content-Length: +0"),
    ):
        said = target.say_and_wait(
            target.head("POST", "/query", "Content-Type: application/json", *lines) + chunked
        )
        yield TWICE if said.count(b"HTTP/1.1 ") > 1 else status_of(said)
    for size in (b"-1", b"0x1", b"fffffffffffffffff", b"1 a", b"zz"):
        head = target.head("POST", "/query", "Content-Type: application/json", "Transfer-Encoding: chunked")
        said = target.say_and_wait(head + size + b"\r\na\r\n0\r\n\r\n" + inner)
        yield TWICE if said.count(b"HTTP/1.1 ") > 1 else status_of(said)


@attack("malformed requests", *REFUSED)
def nonsense(target: Target) -> Iterator[str]:
    many = [f"X-{number}: a" for number in range(200)]
    for head in (
        target.head("GET", "/health", *many),
        target.head("GET", "/health", "X-A: " + "a" * 100_000),
        target.head("GET", "/health?" + "a" * 100_000),
        target.head("OPTIONS", "*"),
        target.head("CONNECT", "evil.example:443"),
        target.head("TRACE", "/health"),
        target.head(
            "GET",
            "/graphs",
            "Upgrade: websocket",
            "Connection: Upgrade",
            "Sec-WebSocket-Key: eA==",
            token=False,
        ),
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 64,
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET /health\r\n\r\n",
        b"\xff" * 100 + b"\r\n\r\n",
    ):
        yield target.status(head)


PLANTED = (
    "<script>alert(1)</script><img src=x onerror=alert(2)> We decided to name it Vellichor because of fog."
)


@attack("HTML in a memory", "200", "404", "405", "422")
def planted_html(target: Target) -> Iterator[str]:
    note = {"text": PLANTED, "title": "<img src=x onerror=alert(3)>", "file_source": "<svg onload=alert(4)>"}
    asked = [
        target.post("/documents/text", json.dumps(note).encode(), "Connection: close"),
        target.post("/query", b'{"query": "Vellichor fog"}', "Connection: close"),
        target.post("/query/data", b'{"query": "Vellichor fog"}', "Connection: close"),
        target.post("/query/stream", b'{"query": "Vellichor fog"}', "Connection: close"),
        target.post("/v1/memory/query", b'{"query": "Vellichor fog"}', "Connection: close"),
        *(
            target.head("GET", path, "Connection: close")
            for path in ("/v1/memory/memories", "/documents", "/graphs?label=*")
        ),
        target.head("GET", "/<script>alert(5)</script>", "Connection: close"),
        target.head("GET", "/%3Cscript%3Ealert(5)%3C/script%3E", "Connection: close"),
    ]
    for request in asked:
        said = target.say(request)
        head = said.partition(b"\r\n\r\n")[0].lower()
        inert = b"nosniff" in head and re.search(rb"content-type: application/(x-ndjson|json)", head)
        yield status_of(said) if inert else HTML


@dataclass
class Honest:
    """A client that asks again and again over a new connection, and notes how long each answer takes."""

    target: Target
    clock: Callable[[], float] = time.perf_counter
    every_s: float = 0.05
    took: list[float] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def ask(self) -> None:
        begun = self.clock()
        try:
            status = self.target.status(
                self.target.post("/query", b'{"query": "which database do we deploy"}', "Connection: close")
            )
        except OSError as error:
            status = repr(error)
        self.took.append(self.clock() - begun)
        if status != "200":
            self.failed.append(status)

    @contextlib.contextmanager
    def asking(self) -> Iterator["Honest"]:
        ended = threading.Event()

        def ask() -> None:
            while not ended.is_set():
                self.ask()
                ended.wait(self.every_s)

        thread = threading.Thread(target=ask)
        thread.start()
        try:
            yield self
        finally:
            ended.set()
            thread.join()

    def percentile(self, share: float) -> float:
        return sorted(self.took)[min(len(self.took) - 1, int(len(self.took) * share))]


def memory_mb(pid: int) -> float:
    """Return the resident memory of a process."""
    told = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=True)
    return int(told.stdout) / 1_024
