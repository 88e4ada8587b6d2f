"""Measure a write to the inbox as a whole process, and the speed of its ingestion.

The states take turns in one run with Python itself, so that what else the machine does falls on all of them
alike. No model is loaded anywhere here; the home of many memories has the fake ones.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import common
import startup

from ragmem import inbox
from ragmem.api.memory import Ragmem, now
from ragmem.domain.model import Scope, content_hash, memory_id
from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.services.ingestion.classify import chunks_of, classify_draft
from ragmem.services.ingestion.drafts import plain_draft

BASELINE = startup.BASELINE
GOAL = 0.05
"""Seconds of a whole process."""

MEMORIES = 15_000
BATCH = 500
FAKE = {"RAGMEM_MODELS_BACKEND": "fake", "RAGMEM_STORE_BACKEND": "fake"}

# Holds the write transaction until its standard input ends.
HOLDER = """
import sys
from ragmem.api.memory import Ragmem
with Ragmem.open() as memory, memory.catalog.database.write():
    print("holding", flush=True)
    sys.stdin.read()
"""


def main() -> None:
    parser = common.arguments(__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=40, metavar="N", help="how often each command starts")
    parser.add_argument("--memories", type=int, default=MEMORIES, metavar="N", help="of the filled home")
    options = parser.parse_args()
    rounds = 5 if options.quick else options.rounds
    count = min(500, options.memories) if options.quick else options.memories
    document: dict[str, Any] = {"machine": common.machine(), "rounds": rounds, "memories": count}
    with common.temporary_folder("inbox") as folder:
        environ = startup.environment(folder, folder) | FAKE
        common.tell(f"filling a home with {count:,} memories")
        filled = environ | {"RAGMEM_HOME": str(folder / "filled")}
        fill(filled, folder, count)
        homes = {
            "empty home": (environ | {"RAGMEM_HOME": str(folder / "empty")}, False),
            f"{count:,} memories": (filled, False),
            f"{count:,} memories, another process writes": (filled, True),
            "the same text again": (filled, False),
        }
        document["writes"] = {
            name: {figure: common.spread(values) for figure, values in found.items()}
            for name, found in measure(homes, folder, rounds).items()
        }
        document["drain"] = drain(filled, folder, rounds)
    report(document, options)


def text_of(number: int) -> str:
    return (
        f"We decided that worker {number} keeps {number * 7 % 1000} rows of queue {number % 37} in memory,"
        f" because `reader_{number % 211}.py` failed with error {number * 13 % 997} after the deploy of lane"
        f" {number % 53}. The fix was a retry with a limit of {number % 29} seconds."
    )


def opened(environ: Mapping[str, str], folder: Path) -> Ragmem:
    return Ragmem.open(environ=environ, home=folder, cwd=folder)


def fill(environ: Mapping[str, str], folder: Path, count: int) -> None:
    """Put memories into the catalog: judged like the first of them, because judging takes longest."""
    with opened(environ, folder) as memory:
        memory.prepare()
        sizes = memory.settings.chunking
        first = classify_draft(
            plain_draft(text_of(0), scope=Scope()), now=now(), sizes=sizes, redactor=DEFAULT
        ).memory
        for start in range(0, count, BATCH):
            items = []
            for number in range(start, min(start + BATCH, count)):
                text = text_of(number)
                uri = f"stdin:{content_hash(text)[:16]}"
                one = replace(
                    first,
                    id=memory_id(first.source, first.scope, uri),
                    uri=uri,
                    text=text,
                    content_hash=content_hash(text),
                )
                items.append((one, chunks_of(one, sizes, redactor=DEFAULT)))
            memory.catalog.memories.accept(items)


def drain(environ: Mapping[str, str], folder: Path, rounds: int) -> dict[str, Any]:
    """Return what a write costs within a process, and taking in one and 32, in the filled home."""
    figures: dict[str, list[float]] = {"put": [], "1": [], "32": []}
    with opened(environ, folder) as memory:
        memory.inbox.drain()
        for number in range(rounds):
            for size in ("1", "32"):
                for one in range(int(size)):
                    text = text_of(number * 100 + one) + f" Again, in round {size}.{number}."
                    begun = time.perf_counter()
                    inbox.put(memory.settings.places.data, text, at_ns=time.time_ns())
                    figures["put"].append(time.perf_counter() - begun)
                begun = time.perf_counter()
                memory.inbox.drain()
                figures[size].append(time.perf_counter() - begun)
    return {size: common.spread(values) for size, values in figures.items()}


def measure(
    homes: Mapping[str, tuple[Mapping[str, str], bool]], folder: Path, rounds: int
) -> dict[str, dict[str, list[float]]]:
    """Return wall and processor seconds of each state, user and system together."""
    figures = {name: {"wall": [], "cpu": []} for name in (BASELINE, *homes)}
    states = {BASELINE: (os.environ, False), **homes}
    # The first round fills the caches of Python and of the system, and is not counted.
    for number in range(rounds + 1):
        for name, (environ, held) in states.items():
            text = "the same text" if name == "the same text again" else f"{text_of(number)} In {name}."
            with holding(environ, folder, held=held):
                took = startup.start(name, ["ingest", "--buffer", "--text", text], environ, folder)
            if number:
                for figure, seconds in zip(("wall", "cpu"), took, strict=True):
                    figures[name][figure].append(seconds)
        common.tell(f"round {number} of {rounds}")
    return figures


@contextmanager
def holding(environ: Mapping[str, str], folder: Path, *, held: bool) -> Iterator[None]:
    """Let another process hold the write lock."""
    if not held:
        yield
        return
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER],
        env=environ,
        cwd=folder,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "holding\n"
        yield
        process.stdin.close()


def report(document: dict[str, Any], options: Any) -> None:
    baseline = document["writes"][BASELINE]
    rows = []
    for name, found in document["writes"].items():
        found["ratio"] = found["cpu"]["median"] / baseline["cpu"]["median"]
        figures = [found["wall"][figure] for figure in ("min", "median", "p95")]
        figures.append(found["cpu"]["median"])
        rows.append([name, *map(common.milliseconds, figures), f"{found['ratio']:.2f}"])
    drained = document["drain"]
    slow = [
        name
        for name, found in document["writes"].items()
        if name != BASELINE and found["wall"]["median"] > GOAL
    ]
    kept = f"missed by {', '.join(slow)}" if slow else "met by every median"
    put, one, many = (common.milliseconds(drained[name]["median"]) for name in ("put", "1", "32"))
    notes = [
        f"{document['rounds']} interleaved rounds; the goal of {GOAL * 1000:.0f} ms is {kept}",
        f"in a running process a write is durable in {put} ms",
        f"the full home ingests one write in {one} ms, 32 in {many} ms (medians, without a model)",
    ]
    headers = ["ragmem ingest --buffer", "wall min ms", "median ms", "p95 ms", "CPU median ms", "CPU ratio"]
    common.report("inbox", document, headers, rows, options=options, notes=notes)


if __name__ == "__main__":
    main()
