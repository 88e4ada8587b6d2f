"""Measure a running `ragmem serve`: questions by many clients while one writes, streams, and its memory.

    python benchmarks/serve.py [--only loads|memory] [--memories N] [--seconds S] [--requests N]
        [--json FILE] [--markdown FILE]

A real process over a home of real texts, asked over loopback by this process, whose clients are bare sockets
in one event loop: each sends its next request when it has the answer to the last. The two share the cores.
GET /health, which reads nothing, says in the same run what a request costs at least. Then so many listeners
of agents' messages; then requests of many sorts, with the memory of the process on the way. Each of the two
parts has a section of its own in the file of --markdown.
"""

import argparse
import asyncio
import json
import os
import re
import shutil
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import agents
import common

import hooks

MEMORIES = 15_000
CLIENTS = (1, 8, 32)
QUESTIONS = 200
VARIABLES = {"RAGMEM_SERVE_WRITES_PER_MINUTE": "0", "RAGMEM_LIFECYCLE_AUTOMATIC": "false"}

FIRST = 1_000
"""Requests after which the memory is looked at first; its caches are filled by then."""

TOLERATED = 0.10
"""Share by which it may have grown at the end."""

Sample = tuple[float, int]


class Client:
    """One connection that is kept; a request at a time."""

    def __init__(self, port: int, token: str) -> None:
        self._port = port
        self._head = f"Host: 127.0.0.1\r\nX-API-Key: {token}\r\n"
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, method: str, path: str, document: Any = None) -> Sample:
        """Return the seconds until the whole answer was there, and its status."""
        body = b"" if document is None else json.dumps(document).encode()
        head = f"{method} {path} HTTP/1.1\r\n{self._head}"
        if body:
            head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        request = head.encode() + b"\r\n" + body
        began = time.perf_counter()
        try:
            status = await self._exchange(request)
        except (ConnectionError, asyncio.IncompleteReadError):
            # The server ends connections that were idle; a person's client does the same.
            self.close()
            status = await self._exchange(request)
        return time.perf_counter() - began, status

    async def _exchange(self, request: bytes) -> int:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port, limit=2**20)
        reader, writer = self._streams
        writer.write(request)
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        found = re.search(rb"content-length: (\d+)", head)
        if found:
            await reader.readexactly(int(found[1]))
        else:
            while (size := int(await reader.readline(), 16)) or (await reader.readline()) != b"\r\n":
                await reader.readexactly(size + 2)
        if b"connection: close" in head:
            self.close()
        return int(head[9:12])

    def close(self) -> None:
        """Leave; the next request connects anew."""
        if self._streams is not None:
            self._streams[1].close()
        self._streams = None


def home_of(options: argparse.Namespace, count: int) -> tuple[hooks.Home, list[str], int]:
    """Return a home with so many memories, made once and kept, with questions for it."""
    folder = options.home / f"{count}"
    home = hooks.Home(folder) if folder.exists() else None
    listed = folder / "questions.json"
    if home is None or not listed.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        home = hooks.Home(folder)
        os.environ |= {name: value for name, value in home.environ.items() if name.startswith("RAGMEM_")}
        asked, stored = hooks.fill(home, options, count, tried=(1.35, 2.0))
        listed.write_text(json.dumps([asked[:QUESTIONS], stored]))
    questions, stored = json.loads(listed.read_text())
    return home, questions, stored


async def loaded(
    server: agents.Server,
    clients: int,
    seconds: float,
    request: Any,
    *,
    writing: bool,
) -> dict[str, Any]:
    """Let so many clients ask for so long, perhaps while another writes; return what it took."""
    until = time.perf_counter() + seconds
    began_cpu, begun = server.processor_s(), time.perf_counter()
    taken: list[Sample] = []
    written: list[Sample] = []

    async def ask(number: int) -> None:
        client, at = Client(server.port, server.token), number * 7
        while time.perf_counter() < until:
            taken.append(await client.ask(*request(at)))
            at += clients
        client.close()

    async def write() -> None:
        client, number = Client(server.port, server.token), 0
        while time.perf_counter() < until:
            number += 1
            name = f"bench-{time.time_ns()}"
            text = f"We decided to name shard {name} after port {number}, because the old name was taken."
            written.append(await client.ask("POST", "/documents/text", {"text": text, "file_source": name}))
        client.close()

    await asyncio.gather(*(ask(number) for number in range(clients)), *([write()] if writing else []))
    wall = time.perf_counter() - begun
    ended_cpu = server.processor_s()
    return {
        "clients": clients,
        "per_second": len(taken) / wall,
        **_figures(taken),
        "writes": {"per_second": len(written) / wall, **_figures(written)} if writing else None,
        "server_cores": None if ended_cpu is None or began_cpu is None else (ended_cpu - began_cpu) / wall,
    }


def _figures(taken: Sequence[Sample]) -> dict[str, Any]:
    seconds = [one for one, _ in taken]
    return {
        "n": len(taken),
        "p50": common.percentile(seconds, 0.5),
        "p95": common.percentile(seconds, 0.95),
        "p99": common.percentile(seconds, 0.99),
        "statuses": dict(Counter(status for _, status in taken)),
    }


def mixed(questions: Sequence[str], number: int) -> tuple[str, str, Any]:
    """Return a request of the mix: mostly cheap ones, one in fifty a question."""
    some = number % 50
    if some == 0:
        return "POST", "/query", {"query": questions[number // 50 % len(questions)], "mode": "ragmem"}
    if some in {10, 30}:
        return "GET", "/graph/label/popular?limit=20", None
    if some == 20:
        return "GET", "/graphs?label=*&max_depth=1&max_nodes=20", None
    if some == 40:
        return "POST", "/documents/paginated", {"page": 1, "page_size": 10}
    return "GET", "/health", None


async def remembering(server: agents.Server, questions: Sequence[str], most: int) -> dict[str, Any]:
    """Send requests of the mix by eight clients; return the memory after the first and after all."""
    clients = [Client(server.port, server.token) for _ in range(8)]
    # Loads the MCP SDK, which a server does by itself some seconds after its start: that is no growth.
    await clients[0].ask("POST", "/mcp", {})
    statuses: Counter[int] = Counter()
    number = 0
    looks: list[dict[str, int | None]] = []

    async def go(client: Client, until: int) -> None:
        nonlocal number
        while number < until:
            mine = number
            number += 1
            _, status = await client.ask(*mixed(questions, mine))
            statuses[status] += 1

    steps = sorted({FIRST, *(most * part // 10 for part in range(1, 11))})
    began = time.perf_counter()
    for step in steps:
        await asyncio.gather(*(go(client, step) for client in clients))
        looks.append(
            {
                "requests": step,
                "rss_kb": server.status("VmRSS"),
                "anonymous_kb": server.status("RssAnon"),
                "threads": server.status("Threads"),
                "files": _open_files(server.process.pid),
            }
        )
        common.tell(
            f"{step:,} requests, {(looks[-1]['rss_kb'] or 0) / 1024:.0f} MB,"
            f" {(looks[-1]['anonymous_kb'] or 0) / 1024:.0f} of them anonymous"
        )
    wall = time.perf_counter() - began
    for client in clients:
        client.close()
    first = next(look["rss_kb"] for look in looks if look["requests"] == FIRST)
    last = looks[-1]["rss_kb"]
    growth = None if first is None or last is None else last / first - 1
    return {
        "looks": looks,
        "growth": growth,
        "statuses": dict(statuses),
        "per_second": number / wall,
    }


def _open_files(pid: int) -> int | None:
    try:
        return len(list(Path(f"/proc/{pid}/fd").iterdir()))
    except OSError:
        return None


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return all figures."""
    quick = options.quick
    count = 500 if quick else options.memories
    seconds = 2.0 if quick else options.seconds
    requests = min(3_000, options.requests) if quick else options.requests
    home, questions, stored = home_of(options, count)
    environ = {**home.environ, "HOME": str(home.folder)}
    document: dict[str, Any] = {"machine": common.machine(), "memories": stored, "seconds": seconds}
    with agents.serving(environ | VARIABLES, home.folder) as server:
        if options.only != "memory":
            document |= loads_of(server, questions, seconds, quick=quick)
        if options.only != "loads":
            common.tell(f"{requests:,} requests of many sorts")
            document["memory"] = asyncio.run(remembering(server, questions, requests))
    return document


def loads_of(
    server: agents.Server, questions: Sequence[str], seconds: float, *, quick: bool
) -> dict[str, Any]:
    """Return what questions by many clients take, and messages to many listeners."""
    rounds: dict[str, list[dict[str, Any]]] = {}
    sorts = {
        "GET /health": lambda _: ("GET", "/health", None),
        "POST /query": lambda at: (
            "POST",
            "/query",
            {"query": questions[at % len(questions)], "mode": "ragmem"},
        ),
        "POST /v1/memory/query": lambda at: (
            "POST",
            "/v1/memory/query",
            {"query": questions[at % len(questions)]},
        ),
    }
    # The vectors of questions are remembered from the second time on; what is measured is the server.
    asyncio.run(loaded(server, 4, max(2.0, seconds / 2), sorts["POST /query"], writing=False))
    for name, request in sorts.items():
        rounds[name] = []
        for clients in CLIENTS:
            writing = name != "GET /health"
            common.tell(f"{name}, {clients} clients")
            rounds[name].append(asyncio.run(loaded(server, clients, seconds, request, writing=writing)))
    listeners = 20 if quick else agents.LISTENERS
    common.tell(f"{listeners} listeners")
    names = [f"listener-{number}" for number in range(listeners)]
    server.reconnect()
    for name in names:
        server.ask("POST", "/heartbeat", {"agent_id": name})
    return {"loads": rounds, "streams": asyncio.run(agents.broadcast(server, names, 2 if quick else 10))}


def rows_of(document: dict[str, Any]) -> list[list[str]]:
    """Return the lines of the table."""
    rows = []
    for name, rounds in document["loads"].items():
        for one, base in zip(rounds, document["loads"]["GET /health"], strict=True):
            writes = one["writes"]
            rows.append(
                [
                    f"{name}, {one['clients']} client{'s' * (one['clients'] > 1)}",
                    f"{one['per_second']:.0f}",
                    f"{one['per_second'] / base['per_second']:.3f}",
                    *(common.milliseconds(one[key]) for key in ("p50", "p95", "p99")),
                    common.milliseconds(writes["p95"]) if writes else "",
                    f"{writes['per_second']:.1f}" if writes else "",
                ]
            )
    return rows


def notes_of(document: dict[str, Any]) -> list[str]:
    """Return what the table does not say."""
    streams = document["streams"]
    heard = streams["heard"]
    failed = Counter[int]()
    for rounds in document["loads"].values():
        for one in rounds:
            failed += Counter({int(status): n for status, n in one["statuses"].items() if status != 200})
            if one["writes"]:
                wrote = one["writes"]["statuses"].items()
                failed += Counter({int(status): n for status, n in wrote if status != 200})
    told = common.milliseconds
    measured = (
        f"{document['memories']:,} memories, {document['seconds']:g} s each; during the queries one more"
        " client writes texts one by one (POST /documents/text, indexed when it returns)"
    )
    ratio = (
        "ratio: requests per second relative to GET /health with as many clients, which run in one"
        " process on the same machine"
    )
    messages = (heard["n"] + streams["lost"]) // streams["listeners"]
    heard_after = (
        f"{streams['listeners']} listeners got {messages} messages, each after {told(heard['median'])} ms"
        f" (p95 {told(heard['p95'])}), {streams['lost']} of {messages * streams['listeners']:,} lost"
    )
    return [measured, ratio, f"statuses other than 200: {dict(failed) or 'none'}", heard_after]


def rows_of_memory(document: dict[str, Any]) -> list[list[str]]:
    """Return a line for each look at the memory of the process."""
    looks = document["memory"]["looks"]
    first = next(look["rss_kb"] for look in looks if look["requests"] == FIRST)
    return [
        [
            f"{look['requests']:,}",
            _megabytes(look["rss_kb"]),
            _megabytes(look["anonymous_kb"]),
            "" if first is None or look["rss_kb"] is None else f"{look['rss_kb'] / first - 1:+.1%}",
            str(look["threads"] or ""),
            str(look["files"] or ""),
        ]
        for look in looks
    ]


def _megabytes(kilobytes: int | None) -> str:
    return "" if kilobytes is None else f"{kilobytes / 1024:.0f}"


def notes_of_memory(document: dict[str, Any]) -> list[str]:
    """Return what was asked, and whether the memory kept within what is tolerated."""
    memory = document["memory"]
    measured = (
        f"{document['memories']:,} memories; of 50 requests one is a question, two request popular entities,"
        " one a graph, one a page of documents, and the rest are GET /health; eight clients,"
        f" {memory['per_second']:.0f} requests a second; statuses: {memory['statuses']}"
    )
    lines = [measured]
    if memory["growth"] is not None:
        kept = "within" if memory["growth"] <= TOLERATED else "beyond"
        last = memory["looks"][-1]
        lines.append(
            f"after {last['requests']:,} requests, compared with {FIRST:,}: {memory['growth']:+.1%},"
            f" {kept} {TOLERATED:.0%}"
        )
    return lines


def main() -> None:
    """Run the benchmark."""
    parser = common.arguments(__doc__.splitlines()[0], data="../shared/eval")
    parser.add_argument("--corpus", type=Path, default=common.REPOSITORY / "../shared/corpus", metavar="DIR")
    parser.add_argument("--cache", type=Path, default=Path("/tmp/ragmem-vectors"), metavar="DIR")
    parser.add_argument("--home", type=Path, default=Path("/tmp/ragmem-serve-home"), metavar="DIR")
    parser.add_argument("--memories", type=int, default=MEMORIES, metavar="N")
    parser.add_argument("--seconds", type=float, default=12.0, metavar="S", help="of each load")
    parser.add_argument("--requests", type=int, default=100_000, metavar="N", help="for the memory")
    parser.add_argument("--only", choices=("loads", "memory"), help="one of the two parts alone")
    options = parser.parse_args()
    document = measure(options)
    if "loads" in document:
        headers = [
            "request",
            "per s",
            "ratio",
            "p50 ms",
            "p95 ms",
            "p99 ms",
            "a write's p95 ms",
            "writes per s",
        ]
        common.report(
            "serve", document, headers, rows_of(document), options=options, notes=notes_of(document)
        )
    if "memory" in document:
        headers = ["requests", "MB", "of which anonymous", "growth since 1,000", "threads", "open files"]
        rows, notes = rows_of_memory(document), notes_of_memory(document)
        common.report("serve-memory", document, headers, rows, options=options, notes=notes)


if __name__ == "__main__":
    main()
