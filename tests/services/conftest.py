"""A memory with the fake backends on a home of its own."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ragmem.api.memory import Ragmem

FAKE = {"RAGMEM_MODELS_BACKEND": "fake", "RAGMEM_STORE_BACKEND": "fake"}

DECISION = "We decided to use SQLite because one file is easy to back up; the architecture needs no server.\n"
BUG = "The error came from a stale lock. Root cause: the fix of March. We resolved it by a restart.\n"
THIN = (
    "Went through the backlog with Ana and sorted the cards by size, it took the whole morning in the end.\n"
    "We moved two cards because the harbour office closes early on Fridays.\n"
    "Then lunch, and a walk along the quay to clear the head before the afternoon calls began.\n"
    "The calls went on for longer than anybody had thought, and somebody had to leave early for a train.\n"
    "It rained a little, then it stopped, and the windows were open again until the evening came.\n"
    "Somebody brought a cake, and most of it was gone by the time that the last of us sat down again.\n"
    "We talked of holidays and of the weather, and then everybody went home, tired and quite content.\n"
)
CHATTER = "Good morning! How are you today?\n"


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """A folder with one note of each tier."""
    folder = tmp_path / "home" / "notes"
    folder.mkdir(parents=True)
    (folder / "decision.md").write_text(f"# Database\n\n{DECISION}")
    (folder / "bug.md").write_text(f"# Stale lock\n\n{BUG}")
    (folder / "thin.md").write_text(f"# Backlog\n\n{THIN}")
    (folder / "chatter.md").write_text(CHATTER)
    return folder


@pytest.fixture
def open_memory(tmp_path: Path, notes: Path) -> Iterator[Callable[..., Ragmem]]:
    """Open the memory of the notes; each call is what a new process would open."""
    opened: list[Ragmem] = []
    sources = tmp_path / "sources.toml"
    sources.write_text('[sources.notes]\nglob = "~/notes/**/*.md"\nkind = "auto"\n')

    def opener(**environ: str) -> Ragmem:
        memory = Ragmem.open(
            environ={"RAGMEM_HOME": str(tmp_path / "ragmem"), **FAKE, **environ},
            home=tmp_path / "home",
            cwd=tmp_path / "home",
            sources_file=sources,
        )
        opened.append(memory)
        return memory

    yield opener
    for memory in opened:
        memory.close()


@pytest.fixture
def memory(open_memory: Callable[..., Ragmem]) -> Ragmem:
    """An open, empty memory."""
    return open_memory()
