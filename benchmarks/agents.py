"""Measure how fast messages reach agents: between processes, and to many listeners at once.

A real `ragmem serve` on a home of its own with the fake models. The listener is another process, which says
when each message came; both read one clock, that of the system. Then so many streams of this process at once.
"""

import argparse
import asyncio
import http.client
import json
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import common

from ragmem.api.memory import Ragmem

LISTENERS = 200
IDLE_S = 5.0

PATIENCE_S = 60.0
"""Seconds after which a message that a listener has not heard counts as lost."""

VARIABLES = {
    "RAGMEM_MODELS_BACKEND": "fake",
    "RAGMEM_STORE_BACKEND": "fake",
    "RAGMEM_SERVE_WRITES_PER_MINUTE": "0",
}

LISTENER = """
import sys, time, urllib.request
url, token = sys.argv[1:3]
asked = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
with urllib.request.urlopen(asked, timeout=600) as lines:
    for line in lines:
        if line.startswith(b"data: ") or line.startswith(b": open"):
            print(time.monotonic(), flush=True)
"""


class Server:
    """A running `ragmem serve`."""

    def __init__(self, process: subprocess.Popen[str], port: int, token: str) -> None:
        self.process = process
        self.port = port
        self.token = token
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def ask(self, method: str, path: str, document: Any = None) -> Any:
        """Return the answer as JSON; one connection, kept open."""
        body = None if document is None else json.dumps(document)
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        self._connection.request(method, path, body, headers)
        answer = self._connection.getresponse()
        read = answer.read()
        assert answer.status == 200, read
        return json.loads(read)

    def reconnect(self) -> None:
        """Begin a new connection: the server ends one that is idle for seconds."""
        self._connection.close()

    def processor_s(self) -> float | None:
        """Return the processor time it has taken; None where the system does not tell."""
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return None
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def status(self, name: str) -> int | None:
        """Return a number of its status, such as VmRSS in kB; None where the system does not tell."""
        try:
            text = Path(f"/proc/{self.process.pid}/status").read_text()
        except OSError:
            return None
        return next(int(line.split()[1]) for line in text.splitlines() if line.startswith(f"{name}:"))


@contextmanager
def serving(environ: Mapping[str, str], folder: Path) -> Iterator[Server]:
    """Run a server in a folder, until it has loaded what it answers with."""
    process = subprocess.Popen(
        [sys.executable, "-m", "ragmem", "serve", "--port", "0"],
        env=environ,
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
    )
    with common.ended(process):
        assert process.stderr is not None
        found = None
        while found is None:
            line = process.stderr.readline()
            assert line, "the server ended"
            found = re.match(r"listening on http://\S+:(\d+), token in (.+)\n", line)
        yield Server(process, int(found[1]), Path(found[2]).read_text().strip())


def between(server: Server, name: str, send: Callable[[str], object], count: int) -> list[float]:
    """Return the seconds from before each message was sent until a listening process had it."""
    server.ask("POST", "/heartbeat", {"agent_id": name})
    url = f"http://127.0.0.1:{server.port}/messages?agent_id={name}"
    took = []
    with subprocess.Popen(
        [sys.executable, "-c", LISTENER, url, server.token], stdout=subprocess.PIPE, text=True
    ) as listener:
        assert listener.stdout is not None
        listener.stdout.readline()
        for number in range(count):
            time.sleep(0.02)
            began = time.monotonic()
            send(f"message {number}")
            took.append(float(listener.stdout.readline()) - began)
        listener.kill()
    return took


def timed(work: Callable[[], object], count: int) -> list[float]:
    """Return the seconds of each call."""
    took = []
    for _ in range(count):
        began = time.monotonic()
        work()
        took.append(time.monotonic() - began)
    return took


async def broadcast(server: Server, names: Sequence[str], rounds: int) -> dict[str, Any]:
    """Open a stream for each name, send to all of them, and leave; return what that took."""
    before = server.status("VmRSS")
    streams = []
    for name in names:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(
            f"GET /messages?agent_id={name} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            f"X-API-Key: {server.token}\r\n\r\n".encode()
        )
        streams.append((reader, writer))
    for reader, _ in streams:
        await reader.readuntil(b": open\n\n")
    await asyncio.sleep(1.0)
    open_rss, threads, began_cpu = server.status("VmRSS"), server.status("Threads"), server.processor_s()
    await asyncio.sleep(IDLE_S)
    idle_cpu = server.processor_s()
    server.reconnect()
    each: list[float] = []
    accepted: list[float] = []
    last: list[float] = []
    lost = 0
    for number in range(rounds):
        text = f"to everyone {number}"
        began = time.monotonic()
        waiting = [asyncio.create_task(_heard(reader, text, began)) for reader, _ in streams]
        document = {"to": "all", "type": "message", "text": text}
        await asyncio.to_thread(server.ask, "POST", "/signal", document)
        accepted.append(time.monotonic() - began)
        took = [seconds for seconds in await asyncio.gather(*waiting) if seconds is not None]
        lost += len(streams) - len(took)
        each += took
        last.append(max(took))
    for _, writer in streams:
        writer.transport.abort()
    for _ in range(100):
        if not (left := server.ask("GET", "/agents")["listeners"]):
            break
        await asyncio.sleep(0.05)
    return {
        "listeners": len(names),
        "heard": common.spread(each),
        "lost": lost,
        "accepted": common.spread(accepted),
        "last": common.spread(last),
        "rss_before_kb": before,
        "rss_open_kb": open_rss,
        "threads": threads,
        "idle_share": None if idle_cpu is None or began_cpu is None else (idle_cpu - began_cpu) / IDLE_S,
        "listeners_left": left,
    }


async def _heard(reader: asyncio.StreamReader, text: str, began: float) -> float | None:
    """Return the seconds since then until a stream has told a message; None where it is lost."""
    try:
        async with asyncio.timeout(PATIENCE_S):
            while json.dumps(text).encode() not in await reader.readuntil(b"\n\n"):
                continue
    except (TimeoutError, asyncio.IncompleteReadError):
        return None
    return time.monotonic() - began


def measure(options: argparse.Namespace, home: Path) -> tuple[dict[str, Any], list[list[str]], list[str]]:
    """Return the figures, the rows of the table and the notes."""
    count, rounds, listeners = (30, 2, 50) if options.quick else (200, 5, LISTENERS)
    with serving(common.environment(home) | VARIABLES, home) as server:

        def over_http(text: str) -> None:
            server.ask("POST", "/signal", {"to": "over-http", "type": "message", "text": text})

        common.tell("from process to process over HTTP")
        through = between(server, "over-http", over_http, count)
        environ = common.environment(home)
        with Ragmem.open(environ=environ, home=home, cwd=home) as other:
            common.tell("from a process that knows no server")
            beside = between(server, "beside", lambda text: other.agents.send("beside", text), count)
            names = [f"listener-{number}" for number in range(listeners)]
            for name in names:
                other.agents.heartbeat(name)
            for name in ("over-http", "beside"):
                other.agents.forget(name)
        common.tell("heartbeats and checks")
        server.reconnect()
        beats = timed(lambda: server.ask("POST", "/heartbeat", {"agent_id": names[0]}), count)
        checks = timed(lambda: server.ask("GET", f"/shutdown-check?agent_id={names[0]}"), count)
        common.tell(f"{listeners} listeners")
        many = asyncio.run(broadcast(server, names, rounds))
    document = {
        "over_http": common.spread(through),
        "beside": common.spread(beside),
        "heartbeat": common.spread(beats),
        "shutdown_check": common.spread(checks),
        "many": many,
    }
    rows = [
        _row("message sent over HTTP, until another process has it", through),
        _row("message written by a process without the server", beside),
        _row("POST /heartbeat, to its answer", beats),
        _row("GET /shutdown-check, to its answer", checks),
    ]
    for name, key in (
        ("accepted for all", "accepted"),
        ("received", "heard"),
        ("received by the last", "last"),
    ):
        found = many[key]
        rows.append(
            [
                f"message to {listeners} listeners: {name}",
                str(found["n"]),
                common.milliseconds(found["median"]),
                common.milliseconds(found["p95"]),
            ]
        )
    notes = [
        f"{listeners} open streams take {_told(many)}",
        f"{many['lost']:,} of {many['heard']['n'] + many['lost']:,} messages to them were lost",
        f"listeners after they left: {many['listeners_left']}",
    ]
    return document, rows, notes


def _told(many: dict[str, Any]) -> str:
    if many["rss_open_kb"] is None:
        return "what this system does not tell"
    each = (many["rss_open_kb"] - many["rss_before_kb"]) / many["listeners"]
    return (
        f"{each:.0f} kB each, {many['threads']} threads in all, and {many['idle_share']:.1%} of a core while"
        " nothing is sent"
    )


def _row(name: str, took: Sequence[float]) -> list[str]:
    return [
        name,
        str(len(took)),
        common.milliseconds(statistics.median(took)),
        common.milliseconds(common.percentile(took, 0.95)),
    ]


def main() -> None:
    """Run the benchmark."""
    options = common.arguments(__doc__.splitlines()[0]).parse_args()
    about = common.machine()
    with common.temporary_folder("agents") as home:
        document, rows, notes = measure(options, home)
    headers = ["what", "n", "median ms", "p95 ms"]
    document = {"benchmark": "agents", "machine": about, **document}
    common.report("agents", document, headers, rows, options=options, notes=notes)


if __name__ == "__main__":
    main()
