"""A small home with some of everything, made once."""

import os
from pathlib import Path

import pytest

from ragmem.api.memory import Ragmem

FAKE = {"RAGMEM_MODELS_BACKEND": "fake", "RAGMEM_STORE_BACKEND": "fake"}

NOTES = {
    "decision.md": "# Database\n\nWe decided to use PostgreSQL because two writers must not wait.\n",
    "driver.md": (
        "# Driver\n\nWe decided to pin the driver of PostgreSQL because version 3 leaks connections.\n"
    ),
    "bug.md": "# Stale lock\n\nThe error came from a stale lock. Root cause: the fix of March.\n",
    "markup.md": "# [bold]Marked[/bold] \x1b[31mred\n\nWe decided to keep [red]brackets[/red] and a[0].\n",
}
LAST = 1_780_000_000
"""When the latest note was written, in seconds since 1970."""

MANY = 130
"""Further notes: more than a page."""

PLACES = "quay harbour pier dock mole wharf jetty basin lock berth".split()


class Home:
    """The home, and how it is opened."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.environ = {"RAGMEM_HOME": str(root / "ragmem"), **FAKE}

    def open(self) -> Ragmem:
        return Ragmem.open(environ=self.environ, home=self.root, cwd=self.root)


@pytest.fixture(scope="session")
def home(tmp_path_factory):
    root = tmp_path_factory.mktemp("explored")
    notes = root / "notes"
    notes.mkdir()
    for name, text in NOTES.items():
        (notes / name).write_text(text)
        os.utime(notes / name, (LAST, LAST))
    for number in range(MANY):
        place = PLACES[number % len(PLACES)]
        note = notes / f"ferry-{number:03}.md"
        note.write_text(
            f"# Ferry {number}\n\nWe decided that ferry {number} leaves from the {place} because of error"
            f" {number * 7} in the timetable of Redis {number}.\n"
        )
        # One a day, the last is the latest.
        os.utime(note, (LAST - (MANY - number) * 86_400,) * 2)
    config = root / "ragmem" / "config"
    config.mkdir(parents=True)
    (config / "sources.toml").write_text(
        '[sources.notes]\nglob = "~/notes/*.md"\nkind = "auto"\nsignal = "off"\nscope = "user"\n'
    )
    made = Home(root)
    with made.open() as memory:
        memory.seed()
        memory.records.add_gotcha("the tide table is in UTC", trigger="summer time", project="user")
        memory.injections.anticipate(
            "session-1",
            "why do we pin the driver of PostgreSQL, does version 3 leak connections",
            everywhere=True,
        )
        memory.agents.heartbeat("builder", status="working", current_task="build main")
        memory.gc.plan()
        aside = memory.settings.places.data / "inbox" / "aside"
        aside.mkdir(parents=True)
        (aside / "broken").write_bytes(b"this is no write")
    return made


@pytest.fixture(scope="session")
def empty_home(tmp_path_factory):
    return Home(tmp_path_factory.mktemp("bare"))
