"""The processes of concurrency.py: their writes, their questions, and their reports."""

import json
import random
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import common

SUBJECTS = (
    "the deploy",
    "the cache",
    "the queue",
    "the index",
    "the login",
    "the backup",
    "the build",
    "the parser",
)
TOOLS = (
    "PostgreSQL",
    "Redis",
    "Kafka",
    "Airflow",
    "Terraform",
    "Kubernetes",
    "SQLite",
    "RabbitMQ",
    "Nginx",
    "Grafana",
)
CAUSES = (
    "a stale lock",
    "a full disk",
    "a wrong time zone",
    "an expired token",
    "a missing index",
    "a slow query",
)


def note(writer: int, number: int) -> str:
    """Return a short note; no two are the same."""
    chance = random.Random(writer * 1_000_003 + number)
    subject, tool, other, cause = (chance.choice(words) for words in (SUBJECTS, TOOLS, TOOLS, CAUSES))
    return (
        f"# {subject} {writer}-{number}\n\nWe decided to move {subject} from {other} to {tool} in job{number}"
        f" because {cause} broke host{writer}-{number % 97}. The fix was to set `retry_limit`.\n"
    )


def question(number: int) -> str:
    chance = random.Random(number)
    return f"why did {chance.choice(SUBJECTS)} fail with {chance.choice(CAUSES)} on {chance.choice(TOOLS)}"


def fill(size: int) -> None:
    """Ingest the notes that are there before."""
    from ragmem.api.memory import Ragmem

    with Ragmem.open() as memory:
        for first in range(0, size, 100):
            ingest(memory, [note(0, number) for number in range(first, min(first + 100, size))])
            common.tell(f"filled {min(first + 100, size)} of {size}")


def ingest(memory: Any, texts: list[str]) -> list[str]:
    from ragmem.services.ingestion.options import DraftOptions

    drafts = []
    for text in texts:
        title = text.partition("\n")[0].removeprefix("# ")
        drafts += memory.ingestion.draft(
            [], DraftOptions(project="user"), text=text.encode(), title=title
        ).drafts
    return [stored.id for stored in memory.ingest(drafts)]


def write(writer: int) -> None:
    """Ingest one note after another until standard input ends; say each id, how long it took and waited."""
    from ragmem.api.memory import Ragmem
    from ragmem.storage.sql import sqlite

    waited = 0.0
    turn = sqlite.turn

    @contextmanager
    def timed(lock: Path, *, timeout: float) -> Iterator[None]:
        nonlocal waited
        begun = time.perf_counter()
        with turn(lock, timeout=timeout):
            waited = max(waited, time.perf_counter() - begun)
            yield

    sqlite.turn = timed
    stop = told_to_stop()
    number = 0
    with Ragmem.open() as memory:
        while not stop.is_set():
            waited = 0.0
            begun = time.perf_counter()
            try:
                (identifier,) = ingest(memory, [note(writer, number)])
            except Exception as error:  # noqa: BLE001 - whatever goes wrong is counted, and the next one tried
                say(error=str(error))
                continue
            say(id=identifier, seconds=time.perf_counter() - begun, wait=waited)
            number += 1


def read(first: int) -> None:
    """Open the home anew for each question until standard input ends; the models alone are kept."""
    from ragmem import backends
    from ragmem.api.memory import Ragmem, now
    from ragmem.services.retrieval.query import Question, ask
    from ragmem.storage.home.catalog import Catalog

    stop = told_to_stop()
    with Ragmem.open() as kept:
        kept.query(question(0))  # loads the models
        while not stop.is_set():
            first += 1
            begun = time.perf_counter()
            try:
                catalog = Catalog.at(kept.settings.places.data)
                with catalog.database.read() as connection:
                    connection.execute("SELECT max(n) FROM memories").fetchone()
                opened = time.perf_counter()
                options = {"profile": "sqlite", "storages": {}, "environment": {}}
                store = backends.open_store("lightrag", options, kept.models, database=catalog.database)
                asked = Question(question(first), limit=5)
                policy = kept.retrieval.policy()
                found = ask(catalog, lambda store=store: store, asked, policy=policy, now=now())
                store.close()
                catalog.close()
            except Exception as error:  # noqa: BLE001 - counted as above
                say(error=str(error))
                continue
            took = time.perf_counter() - begun
            say(**{"seconds": took, "wait": opened - begun} if found.matches else {"error": "found nothing"})


def told_to_stop() -> threading.Event:
    """Return what is set when standard input ends."""
    stop = threading.Event()

    def watch() -> None:
        sys.stdin.read()
        stop.set()

    threading.Thread(target=watch, daemon=True).start()
    return stop


def say(**fields: Any) -> None:
    print(json.dumps(fields), flush=True)


if __name__ == "__main__":
    {"write": write, "read": read}[sys.argv[1]](int(sys.argv[2]))
