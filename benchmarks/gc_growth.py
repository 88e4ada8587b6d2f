"""Measure how gc plans and the lifecycle report scale with the store: processor seconds of whole commands."""

import os
import random
import resource
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import common
from inputs import real_texts
from retrieval import put_texts

from ragmem.api.memory import Ragmem
from ragmem.domain.model import Draft, Scope
from ragmem.services.ingestion.classify import classify_draft
from ragmem.storage.sql.batches import batches

SIZES, QUICK_SIZES = (1_500, 5_000, 15_000), (300,)

PROMISE = 5.0
"""Processor seconds of a plan whose texts are known, and of the report, at the largest size."""

CHARACTERS = 400
"""Of a text at most, but for a longer paragraph."""

SEED = 3
START = datetime(2025, 1, 1, tzinfo=UTC)
APART = timedelta(minutes=7)
AT_ONCE = 400
"""Memories that are stored in one transaction."""

PROJECT = "growth"
"""One project: the worst case, because only memories of the same project are compared."""

PLAN = ("gc", "--dry-run", "--json")
REPORT = ("inspect", "lifecycle")


def texts(data: Path) -> list[str]:
    """Return distinct texts of whole paragraphs, in an order that a fixed seed draws."""
    made: dict[str, None] = {}
    now = ""
    for paragraph in real_texts.paragraphs(data):
        if now and len(now) + len(paragraph) > CHARACTERS:
            made[now] = None
            now = ""
        now = f"{now}\n\n{paragraph}".strip()[: 10 * CHARACTERS]
    return random.Random(SEED).sample([*made, now], len(made) + 1)


def fill(memory: Ragmem, chosen: list[str], first: int) -> None:
    """Store texts with their vectors, which cost nothing here; without names, as no rule reads them."""
    memory.prepare()
    for part in batches(list(enumerate(chosen, first)), AT_ONCE):
        judged = [
            classify_draft(
                Draft("notes", f"/n/{n}", text, event_time=START + n * APART, scope=Scope(PROJECT)),
                now=START,
                sizes=memory.settings.chunking,
                rule="off",
                redactor=memory.redactor,
            )
            for n, text in part
        ]
        memory.catalog.memories.accept([(one.memory, one.chunks) for one in judged])
        put_texts(memory.catalog, memory.store, judged)


def processor_seconds(environ: dict[str, str], *words: str) -> float:
    """Return what a command and its children cost."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "ragmem", *words], env=environ, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(known: list[str], size: int) -> dict[str, Any]:
    """Return the processor seconds of each command on a store of so many memories."""
    with common.temporary_folder("growth") as folder:
        environ = common.environment(folder) | {
            "RAGMEM_MODELS_BACKEND": "fake",
            "RAGMEM_STORE_BACKEND": "lightrag",
            "PYTHONPATH": os.pathsep.join([str(common.REPOSITORY), os.environ.get("PYTHONPATH", "")]),
        }
        with Ragmem.open(environ=environ, home=folder, cwd=folder) as memory:
            fill(memory, known[: size - 1], 0)
        common.tell(f"{size:,} memories")
        found = {"first": processor_seconds(environ, *PLAN), "again": processor_seconds(environ, *PLAN)}
        with Ragmem.open(environ=environ, home=folder, cwd=folder) as memory:
            fill(memory, known[size - 1 : size], size)
        found["one more"] = processor_seconds(environ, *PLAN)
        return {"size": size, **found, "report": processor_seconds(environ, *REPORT)}


def rows(found: list[dict[str, Any]]) -> Iterator[tuple[str, ...]]:
    """Yield what is told for people."""
    labels = {
        "first": "first plan, which reads and compares everything",
        "again": "plan without changes",
        "one more": "plan after one more memory",
        "report": "`inspect lifecycle`",
    }
    for key, label in labels.items():
        yield label, *(f"{one[key]:.1f} s" for one in found)


def main() -> None:
    """Build the stores, run the commands, print the figures."""
    parser = common.arguments(__doc__ or "", data="../shared/corpus")
    options = parser.parse_args()
    sizes = QUICK_SIZES if options.quick else SIZES
    known = texts(options.data)
    if len(known) < sizes[-1]:
        raise SystemExit(f"{options.data} has {len(known):,} texts, {sizes[-1]:,} are needed")
    machine = common.machine()
    found = [measure(known, size) for size in sizes]
    document = {"machine": machine, "stores": found}
    headers = ("processor seconds", *(f"{size:,} memories" for size in sizes))
    notes = [f"goal: {PROMISE:.0f} s at {SIZES[-1]:,} for a plan without changes, and for the report"]
    common.report("gc growth", document, headers, list(rows(found)), options=options, notes=notes)


if __name__ == "__main__":
    main()
