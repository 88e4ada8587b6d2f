"""An operation that ends between two of its transactions leaves a sound memory, which the next run ends."""

import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest

from ragmem.api.memory import Ragmem
from ragmem.domain.model import Draft, State
from ragmem.services.doctor.invariants import violations
from ragmem.storage.sql.sqlite import SQLiteDatabase

FAKE = {"RAGMEM_MODELS_BACKEND": "fake", "RAGMEM_STORE_BACKEND": "fake"}
WORTH = "We came to use {0} because of the error in {0}. The fix was resolved by the config of {0}."


class _EndedError(BaseException):
    """Stands for a kill: nothing in the package may catch it."""


@pytest.fixture
def root(tmp_path: Path):
    """A home with seeded notes, handed in memories, a duplicate, and changed notes that wait for a seed."""
    place = tmp_path / "before"
    notes = place / "user" / "notes"
    notes.mkdir(parents=True)
    (place / "sources.toml").write_text('[sources.notes]\nglob = "~/notes/*.md"\n')
    for name in ("stays", "changes", "fades", "leaves"):
        (notes / f"{name}.md").write_text(WORTH.format(name))
    with opened(place) as memory:
        memory.seed()
        memory.ingest([Draft("handed", name, WORTH.format(name)) for name in ("one", "two")])
        memory.ingest([Draft("handed", "twin", WORTH.format("one"))])
    (notes / "changes.md").write_text(WORTH.format("otherwise"))
    (notes / "fades.md").write_text("ok thanks")
    (notes / "leaves.md").unlink()
    (notes / "comes.md").write_text(WORTH.format("comes"))
    return place


def opened(place: Path) -> Ragmem:
    return Ragmem.open(
        environ={"RAGMEM_HOME": str(place / "ragmem"), **FAKE},
        home=place / "user",
        cwd=place / "user",
        sources_file=place / "sources.toml",
    )


def ingest(memory):
    memory.ingest(
        [
            Draft("handed", "one", "ok thanks"),
            Draft("handed", "two", WORTH.format("changed")),
            Draft("handed", "three", WORTH.format("three")),
        ]
    )


def seed(memory):
    memory.seed()


def rebuild(memory):
    memory.seed(rebuild=True)


def collect(memory):
    memory.gc.apply(memory.gc.plan(missing=True))


def forget_and_undo(memory):
    memory.forget(sorted(memory.catalog.memories.ids())[:3])
    memory.gc.undo()


OPERATIONS = [ingest, seed, rebuild, collect, forget_and_undo]


@contextmanager
def ending_after(count: int, patch: pytest.MonkeyPatch):
    """Let the process end when it begins the write transaction after the first `count`."""
    original = SQLiteDatabase.write
    begun = 0
    depth = 0

    @contextmanager
    def write(self):
        nonlocal begun, depth
        if depth == 0:
            if begun == count:
                raise _EndedError
            begun += 1
        depth += 1
        try:
            with original(self) as connection:
                yield connection
        finally:
            depth -= 1

    with patch.context() as inner:
        inner.setattr(SQLiteDatabase, "write", write)
        yield


def texts(memory):
    return {item.id: item.text for item in memory.catalog.memories.each()}


def interruptions(root: Path, operation, patch: pytest.MonkeyPatch):
    """Interrupt the operation at each place where it can be, each time on the home as it was; yield which."""
    kept = root.with_name("kept")
    shutil.copytree(root, kept)
    for count in range(100):
        # In the same folder each time: the ids of notes come from their paths.
        shutil.rmtree(root)
        shutil.copytree(kept, root)
        with opened(root) as memory:
            try:
                with ending_after(count, patch):
                    operation(memory)
            except _EndedError:
                pass
            else:
                return
        yield count
    raise AssertionError("the operation never ends")


@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_end_between_two_transactions_leaves_a_sound_memory(root, monkeypatch, operation):
    places = 0
    for _ in interruptions(root, operation, monkeypatch):
        places += 1
        with opened(root) as memory:
            assert violations(memory.catalog, memory.store, deep=True) == []
            before = texts(memory)
            memory.gc.apply(memory.gc.plan())
            assert memory.catalog.memories.ids(states=[State.PENDING]) == set()
            assert texts(memory).items() <= before.items()
            assert violations(memory.catalog, memory.store, deep=True) == []
    assert places > 1


def test_a_change_of_model_that_was_interrupted_is_ended_by_the_next_rebuild(root, monkeypatch):
    monkeypatch.setitem(FAKE, "RAGMEM_MODELS_MODEL", "next")
    places = 0
    for count in interruptions(root, rebuild, monkeypatch):
        places += 1
        with opened(root) as memory:
            if count:
                memory.seed()
                assert violations(memory.catalog, memory.store, deep=True) == []
                memory.seed(rebuild=True)
                assert memory.catalog.memories.ids(states=[State.PENDING]) == set()
                assert {model for model, _ in memory.store.vector_models()} == {"fake-hash-next"}
                assert violations(memory.catalog, memory.store, deep=True) == []
    assert places > 1


def test_gc_takes_out_of_the_store_what_is_only_buffered(root):
    with opened(root) as memory:
        (faded, *_) = sorted(memory.store.memory_ids())
        memory.catalog.memories.mark([faded], State.BUFFERED)
        assert memory.gc.plan().ids("drop") == [faded]
        memory.gc.apply(memory.gc.plan())
        assert faded not in memory.store.memory_ids()
        assert faded in memory.catalog.memories.ids()
        assert violations(memory.catalog, memory.store, deep=True) == []
