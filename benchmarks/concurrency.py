"""Measure concurrent processes on one filled home: a server, four writers, and a reader.

The server answers over HTTP as fast as it is asked. Each writer ingests one note after another, as a hook
does, and says the id once it is acknowledged. The reader opens the home anew for each question. Afterwards
everything acknowledged must be there, and every invariant hold. First the server and the reader run without
writers: the rest of what they take then comes from sharing the machine.
"""

import argparse
import http.client
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import common
from concurrency_workers import fill, question

WORKERS = Path(__file__).resolve().with_name("concurrency_workers.py")

WRITERS = 4
SECONDS = 60
SIZE = 2_000
QUICK_SECONDS = 10
QUICK_SIZE = 400
QUIET = 0.15
"""Share of the time in which nobody writes."""

LIMIT = 0.100
"""Seconds that a reader may wait at the median, before it sees the memories."""


class Role:
    """A process and what it says, line by line."""

    def __init__(self, name: str, number: int, environ: dict[str, str]) -> None:
        self.name = name
        self.said: list[dict[str, Any]] = []
        self.process = subprocess.Popen(
            [sys.executable, str(WORKERS), name, str(number)],
            env=environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said.append(json.loads(line) | {"at": time.monotonic()})

    def end(self) -> None:
        """Let it finish what it is at, and check that it ended well."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self._listener.join()
        if self.process.wait():
            raise SystemExit(f"{self.name} exits {self.process.returncode}")


@contextmanager
def serving(environ: dict[str, str]) -> Iterator[tuple[http.client.HTTPConnection, dict[str, str]]]:
    """Give a connection to `ragmem serve`, and the headers that it asks for."""
    process = subprocess.Popen(
        [sys.executable, "-m", "ragmem", "serve", "--port", "0"],
        env=environ,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        found = re.match(r"listening on http://(\S+):(\d+), token in (.+)\n", line)
        if found is None:
            raise SystemExit(f"ragmem serve says: {line}{process.stderr.read()}")
        token = Path(found[3]).read_text(encoding="ascii").strip()
        connection = http.client.HTTPConnection(found[1], int(found[2]), timeout=60)
        yield connection, {"X-API-Key": token, "Content-Type": "application/json"}
        connection.close()
    finally:
        process.terminate()
        process.communicate(timeout=60)


class Asker(threading.Thread):
    """Asks the server one question after another."""

    def __init__(self, connection: http.client.HTTPConnection, headers: dict[str, str]) -> None:
        super().__init__(daemon=True)
        self._connection, self._headers = connection, headers
        self.stop = threading.Event()
        self.said: list[dict[str, Any]] = []

    def run(self) -> None:
        """Ask until it is told to stop."""
        number = 0
        while not self.stop.is_set():
            number += 1
            self.said.append(self._ask(question(number)) | {"at": time.monotonic()})

    def _ask(self, text: str) -> dict[str, Any]:
        begun = time.perf_counter()
        try:
            body = json.dumps({"query": text, "mode": "ragmem"})
            self._connection.request("POST", "/query", body, self._headers)
            answer = self._connection.getresponse()
            content = json.loads(answer.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            self._connection.close()
            return {"error": str(error)}
        if answer.status != http.HTTPStatus.OK or not content.get("references"):
            return {"error": f"{answer.status} {content}"}
        return {"seconds": time.perf_counter() - begun}


class LogWatch(threading.Thread):
    """Looks how long the write-ahead log gets."""

    def __init__(self, home: Path) -> None:
        super().__init__(daemon=True)
        self._log = home / "data" / "memory.db-wal"
        self.stop = threading.Event()
        self.largest = 0

    def run(self) -> None:
        """Look until it is told to stop."""
        while not self.stop.wait(0.05):
            self.largest = max(self.largest, self._log.stat().st_size if self._log.exists() else 0)


def measure(home: Path, environ: dict[str, str], *, seconds: float) -> dict[str, Any]:
    """Run all of them and return what each said, and from when on there were writers."""
    watch = LogWatch(home)
    watch.start()
    with serving(environ) as (connection, headers):
        asker = Asker(connection, headers)
        asker.start()
        reader = Role("read", 0, environ)
        while not (reader.said and asker.said):
            time.sleep(0.05)
        quiet_from = time.monotonic()
        time.sleep(seconds * QUIET)
        writers = [Role("write", number, environ) for number in range(1, WRITERS + 1)]
        quiet_until = time.monotonic()
        while not all(writer.said for writer in writers):
            time.sleep(0.05)
        busy_from = time.monotonic()
        common.tell(f"all are at it for {seconds:g} s")
        time.sleep(seconds)
        busy_until = time.monotonic()
        for role in (*writers, reader):
            role.end()
        asker.stop.set()
        asker.join(60)
    watch.stop.set()
    watch.join()

    def cut(said: list[dict[str, Any]], begin: float, end: float) -> list[dict[str, Any]]:
        return [one for one in said if begin <= one["at"] < end]

    written = [one for writer in writers for one in writer.said]
    return {
        "acknowledged": [one["id"] for one in written if "id" in one],
        "errors": [
            one["error"] for said in (asker.said, reader.said, written) for one in said if "error" in one
        ],
        "largest_log": watch.largest,
        "quiet": {name: cut(said, quiet_from, quiet_until) for name, said in roles(asker, reader, written)},
        "busy": {name: cut(said, busy_from, busy_until) for name, said in roles(asker, reader, written)},
        "per_writer": [len(cut(writer.said, busy_from, busy_until)) for writer in writers],
        "seconds": busy_until - busy_from,
    }


def roles(
    asker: Asker, reader: Role, written: list[dict[str, Any]]
) -> list[tuple[str, list[dict[str, Any]]]]:
    return [("serve", asker.said), ("read", reader.said), ("write", written)]


def check(environ: dict[str, str], acknowledged: list[str], *, deep: bool) -> dict[str, Any]:
    """Return what was lost, and what is not in order."""
    from ragmem.api.memory import Ragmem
    from ragmem.domain.model import State
    from ragmem.services.doctor.invariants import violations

    with Ragmem.open(environ=environ) as memory:
        indexed = memory.catalog.memories.ids(states=[State.INDEXED])
        here = indexed & memory.store.memory_ids()
        return {
            "memories": len(indexed),
            "lost": sum(identifier not in here for identifier in acknowledged),
            "violations": violations(memory.catalog, memory.store, deep=deep),
        }


def summary(values: list[float]) -> dict[str, float]:
    return {
        "n": len(values),
        "p50": common.percentile(values, 0.5),
        "p95": common.percentile(values, 0.95),
        "max": max(values, default=float("nan")),
    }


WAIT = "reader: open the home and read a snapshot"

ROWS = {
    WAIT: ("read", "wait"),
    "serve: an answer over HTTP": ("serve", "seconds"),
    "reader: open the home and get an answer": ("read", "seconds"),
    "4 writers: wait for their turn": ("write", "wait"),
    "4 writers: ingest a note": ("write", "seconds"),
}


def main() -> None:
    parser = common.arguments(__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, metavar="S", help=f"how long ({SECONDS})")
    parser.add_argument("--size", type=int, metavar="N", help=f"memories that are there before ({SIZE})")
    parser.add_argument(
        "--models", default="", metavar="NAME", help="another back end of models, such as fake"
    )
    options = parser.parse_args()
    seconds = options.seconds or (QUICK_SECONDS if options.quick else SECONDS)
    size = options.size or (QUICK_SIZE if options.quick else SIZE)
    document: dict[str, Any] = {"machine": common.machine(), "size": size}
    with common.temporary_folder("concurrency") as home:
        environ = common.environment(home) | {"HOME": str(home)}
        if options.models:
            environ["RAGMEM_MODELS_BACKEND"] = options.models
        os.environ.update(environ)
        fill(size)
        run = measure(home, environ, seconds=seconds)
        document |= check(environ, run["acknowledged"], deep=options.quick)
    document |= {
        "seconds": run["seconds"],
        "acknowledged": len(run["acknowledged"]),
        "per_writer": run["per_writer"],
        "errors": run["errors"],
        "largest_log": run["largest_log"],
        "figures": {
            name: {
                phase: summary([one[field] for one in run[phase][role] if field in one])
                for phase in ("quiet", "busy")
            }
            for name, (role, field) in ROWS.items()
        },
    }
    report(document, options)


def report(document: dict[str, Any], options: argparse.Namespace) -> None:
    rows = []
    for name, found in document["figures"].items():
        busy = found["busy"]
        alone = common.milliseconds(found["quiet"]["p50"]) if found["quiet"]["n"] else "-"
        figures = [common.milliseconds(busy[key]) for key in ("p50", "p95", "max")]
        rows.append([name, f"{busy['n']:,}", alone, *figures])
    document["passed"] = {
        "no acknowledged write is lost": document["lost"] == 0,
        "no errors": not document["errors"],
        "all invariants hold": not document["violations"],
        "readers wait under 100 ms at the median": document["figures"][WAIT]["busy"]["p50"] < LIMIT,
    }
    errors, violations = len(document["errors"]), len(document["violations"])
    outcome = (
        f"{document['acknowledged']:,} acknowledged, {document['lost']} lost, {errors} errors,"
        f" {violations} broken invariants"
    )
    notes = [
        f"{document['size']:,} memories, {WRITERS} writers for {document['seconds']:.0f} s: {outcome}",
        f"notes per writer: {', '.join(str(count) for count in document['per_writer'])}",
        f"largest write-ahead log: {document['largest_log'] / 2**20:.1f} MB",
        *(f"{'yes' if good else 'NO'}: {promise}" for promise, good in document["passed"].items()),
    ]
    headers = ["milliseconds", "operations", "alone p50", "p50", "p95", "max"]
    common.report("concurrency", document, headers, rows, options=options, notes=notes)


if __name__ == "__main__":
    main()
