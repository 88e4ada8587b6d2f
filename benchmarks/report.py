"""Measure the report of a large memory: the time of each plot and of the command, and its size.

The texts are made up: short statements that name each other's things. Connections, recalls and injections are
drawn by lot, as no model is asked for vectors.
"""

import random
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import common

from ragmem.api.memory import Ragmem
from ragmem.domain.model import Draft, Scope
from ragmem.services.reporting.plots import PLOTS
from ragmem.storage.activity.injections import Injection
from ragmem.storage.lifecycle.lifecycle_state import Recall

SIZE, QUICK_SIZE = 15_000, 500
AT_ONCE = 500
"""Memories that are stored in one call."""

PER_MEMORY = 4
"""Connections of a memory, in the mean twice as many."""

RUNS = 7
PROMISE = 2.0
"""Seconds for the report of 15,000 memories as HTML, start of the process included."""

SEED = 11
NOW = datetime(2026, 6, 1, tzinfo=UTC)
SOURCES = ("memory", "prds", "sessions", "transcripts", "skills", "notes")
FAKE = {"RAGMEM_MODELS_BACKEND": "fake", "RAGMEM_STORE_BACKEND": "lightrag"}


def build(memory: Ragmem, size: int) -> None:
    """Store so many memories of five projects, with what their lives leave."""
    chance = random.Random(SEED)
    things = [
        f"{chance.choice('BDGKLMPRT')}{chance.choice('aeiou')}{chance.choice('dgklmnrt')}{number}"
        for number in range(size)
    ]
    ids: list[str] = []
    for begin in range(0, size, AT_ONCE):
        drafts = []
        for number in range(begin, min(begin + AT_ONCE, size)):
            one, two = things[number], things[int(chance.paretovariate(1.0)) % size]
            drafts.append(
                Draft(
                    chance.choice(SOURCES),
                    f"/made/{number}",
                    f"`{one}` depends on `{two}` because {two}.py keeps {chance.randint(2, 900)} rows open.",
                    title=f"What {one} needs",
                    scope=Scope(f"project{number % 5}"),
                    event_time=NOW - timedelta(days=chance.expovariate(1 / 200)),
                )
            )
        ids += [stored.id for stored in memory.ingest(drafts)]
        common.tell(f"{len(ids):,} memories")
    with memory.catalog.database.write() as connection:
        numbers = [number for (number,) in connection.execute("SELECT n FROM memories").fetchall()]
        pairs = {tuple(sorted(chance.sample(numbers, 2))) for _ in range(size * PER_MEMORY)}
        connection.executemany(
            "INSERT INTO connections (low, high, cosine, shared, strength) VALUES (?, ?, 0.6, 0.5, 0.6)",
            pairs,
        )
    memory.catalog.lives.add_recalls(
        [Recall(chance.choice(ids), f"s{number % 300}", NOW) for number in range(size)]
    )
    memory.catalog.injections.record(
        [
            Injection(NOW, f"s{number % 300}", "prompt", chance.choice(ids), tokens=40, project="project1")
            for number in range(min(5000, size))
        ],
        now=NOW,
    )


def measure(memory: Ragmem, folder: Path) -> dict[str, Any]:
    """Return seconds of each plot, and of the command with the bytes that it wrote."""
    plots: dict[str, Any] = {}
    for name in PLOTS:
        if name == "latency":
            continue
        times = []
        for _ in range(RUNS):
            began = time.perf_counter()
            memory.reports.plots([name], at=NOW)
            times.append(time.perf_counter() - began)
        plots[name] = common.spread(times)
    page = folder / "report.html"
    times = []
    for _ in range(RUNS):
        began = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "ragmem", "inspect", "report", "--all", "--html", str(page), "--force"],
            env=common.environment(folder) | FAKE,
            check=True,
            stdout=subprocess.DEVNULL,
        )
        times.append(time.perf_counter() - began)
    return {"plots": plots, "command": common.spread(times), "bytes": page.stat().st_size}


def rows(size: int, found: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return what is told for people."""
    command = found["command"]
    return [
        ("memories", f"{size:,}", ""),
        (
            f"report --html (goal: {PROMISE:.0f} s)",
            f"{command['median']:.2f} s",
            f"{command['min']:.2f} s",
        ),
        ("the page", f"{found['bytes'] / 1000:.0f} kB", ""),
        *(
            (
                f"plot {name}",
                f"{common.milliseconds(one['median'])} ms",
                f"{common.milliseconds(one['min'])} ms",
            )
            for name, one in found["plots"].items()
        ),
    ]


def main() -> None:
    """Build a memory, report on it, print the figures."""
    parser = common.arguments(__doc__ or "")
    parser.add_argument("--size", type=int, help="memories of the store")
    options = parser.parse_args()
    size = options.size or (QUICK_SIZE if options.quick else SIZE)
    with common.temporary_folder("report") as folder:
        environ = common.environment(folder) | FAKE
        with Ragmem.open(environ=environ, home=folder, cwd=folder) as memory:
            build(memory, size)
            found = measure(memory, folder)
    document = {"machine": common.machine(), "size": size, **found}
    common.report("report", document, ("report", "median", "least"), rows(size, found), options=options)


if __name__ == "__main__":
    main()
