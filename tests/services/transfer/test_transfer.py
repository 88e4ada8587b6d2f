"""A memory that moves to another store is the same there, and the store it came from stays as it was."""

import json
import os
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ragmem.backends.fake import FakeModels
from ragmem.backends.lightrag import LightRAGStore
from ragmem.config.settings import ChunkingSettings
from ragmem.domain.entities.extraction_answer import Answer
from ragmem.domain.entities.extraction_prompt import text_key
from ragmem.domain.model import Entity, Memory, Scope, State, Tier, content_hash, memory_id
from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.errors import BackendError, StorageError, UsageError
from ragmem.services.ingestion.classify import chunks_of
from ragmem.services.ingestion.index import index_pending
from ragmem.services.processes.progress import Silent
from ragmem.services.transfer.exporter import export
from ragmem.services.transfer.transfer import End, ReusingModels, transfer
from ragmem.storage.activity.extractions import Choice
from ragmem.storage.activity.injections import Injection
from ragmem.storage.activity.model_record import ACTIVE, ModelRecord
from ragmem.storage.activity.transcripts import Transcript
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.lifecycle.archive import Archive, ArchiveEntry
from ragmem.storage.lifecycle.forgotten_texts import find_forgotten, remember_forgotten
from ragmem.storage.lifecycle.lifecycle_state import Recall
from ragmem.storage.maintenance.catalog_export import Contents
from ragmem.storage.memories import project_joins
from ragmem.storage.memories.files import SeenFile

NOW = datetime(2026, 6, 1, 12, 30, 0, 123456, tzinfo=UTC)
WORDS = ("PostgreSQL", "Redis", "Tideline", "Gullwing", "the ferry", "the queue", "a stale lock")


def make(number: int, **more) -> Memory:
    scope = Scope(("user", "tideline")[number % 2])
    subject = WORDS[number % len(WORDS)]
    text = f"# Note {number}\n\nWe pin {subject} to Worker{number} because version {number} has an error.\n"
    memory = Memory(
        id=memory_id("notes", scope, f"{number}.md"),
        source="notes",
        uri=f"{number}.md",
        text=text,
        title=f"Note {number}",
        event_time=NOW + timedelta(microseconds=number),
        created_at=NOW,
        updated_at=NOW,
        content_hash=content_hash(text),
        scope=scope,
        recalls=number,
    )
    return replace(memory, **more)


class Place:
    """A catalog and a LightRAG store in one SQLite file."""

    def __init__(self, folder: Path) -> None:
        self.models = ReusingModels(FakeModels())
        self.catalog = Catalog.at(folder, busy_timeout=5)
        self.contents = Contents(self.catalog.database)
        self.store = LightRAGStore({}, self.models, self.catalog.database)

    @property
    def end(self) -> End:
        return End(self.catalog, lambda: self.store)

    def add(self, *memories: Memory) -> None:
        self.catalog.prepare()
        self.contents.write_memories(
            [(one, chunks_of(one, ChunkingSettings(), redactor=DEFAULT)) for one in memories]
        )
        index_pending(self.catalog, self.store)

    def moved_to(self, other: "Place", **more):
        return transfer(self.end, other.end, models=other.models, now=NOW, progress=Silent(), **more)

    def export(self) -> bytes:
        written: list[bytes] = []
        export(self.catalog, written.append, now=NOW, progress=Silent())
        return b"".join(written)

    def close(self) -> None:
        self.store.close()
        self.catalog.close()


@pytest.fixture
def place(tmp_path):
    with closing(Place(tmp_path / "here")) as made:
        made.add(*(make(number) for number in range(30)))
        made.add(make(30, state=State.BUFFERED, tier=Tier.DISCARD))
        made.catalog.projects.remember("tideline", name="Tideline", root="/repos/tideline")
        made.catalog.archive.write([ArchiveEntry("run1", "asked", NOW, make(99))])
        made.contents.write_files([SeenFile("notes", "1.md", 1, 2, "rules", {"ingest": 1})])
        made.catalog.log.write("seed", {"memories": 31}, now=NOW)
        yield made


@pytest.fixture
def other(tmp_path):
    with closing(Place(tmp_path / "there")) as made:
        yield made


def test_what_a_language_model_found_is_copied_and_not_paid_for_again(place, other):
    place.moved_to(other)
    (memory, chunks) = next(iter(place.contents.memories()))
    answer = Answer((Entity("Quayside", "concept", "As the model says."),))
    place.catalog.extractions.choose(Choice("both", "model"), again=())
    place.catalog.extractions.keep("model", {text_key(chunks[0]): answer}, again=[memory.id], now=NOW)
    index_pending(place.catalog, place.store)
    place.moved_to(other)
    for end in (place, other):
        assert end.catalog.extractions.choice() == Choice("both", "model")
        assert [entity.description for entity, _ in end.store.entities("Quay")] == ["As the model says."]
    assert other.store.statistics() == place.store.statistics()


def test_what_leads_to_projects_and_what_was_moved_and_forgotten_goes_along(place, other):
    for name in ("tideline", "gullwing"):
        place.catalog.projects.remember(
            name, name=name, root=f"/repos/{name}", root_commit=name * 5, remote=f"git.example/sam/{name}"
        )
    project_joins.rename(place.catalog.database, "tideline", "The Tides")
    project_joins.adopt(place.catalog.database, "gullwing", "tideline")
    moved = sorted(place.catalog.memories.ids())[:2]
    place.catalog.projects.note_moves({f"place{n}": (key, "gullwing") for n, key in enumerate(moved)})
    with place.catalog.database.write() as connection:
        remember_forgotten(connection, [make(77)], "run1")
    for _ in range(2):
        place.moved_to(other)
        assert other.export().splitlines()[1:] == place.export().splitlines()[1:]
        assert other.catalog.projects.aliases() == {"gullwing": "tideline"}
        assert other.catalog.projects.moved_ids(["place0", "place1"]) == dict(
            zip(("place0", "place1"), moved, strict=True)
        )
        with other.catalog.database.read() as connection:
            assert find_forgotten(connection, [make(77)]) == {make(77).id}
    # A later copy has no more than the store that it is of.
    project_joins.release(place.catalog.database, "gullwing")
    place.catalog.projects.forget_moves(moved)
    place.moved_to(other)
    assert other.catalog.projects.aliases() == {}
    assert other.export().splitlines()[1:] == place.export().splitlines()[1:]


def test_what_opens_the_model_of_the_vectors_goes_along(place, other):
    record = ModelRecord("fake-hash", 384, {"backend": "fake"})
    place.catalog.models.write(ACTIVE, record)
    place.moved_to(other)
    assert other.catalog.models.read(ACTIVE) == record


def test_sessions_go_on_in_the_other_store(place, other):
    read = Transcript("/t/a.jsonl", "claude", "s1", "tideline", "h", 900, 10**18, 800, 3, "{}", "r1", NOW)
    told = [
        Injection(NOW - timedelta(days=90 - number), "s1", "prompt", f"m{number}", score=number / 4)
        for number in range(3)
    ]
    place.catalog.transcripts.keep(read)
    place.catalog.injections.record(told, now=told[-1].injected_at)
    for _ in range(2):
        place.moved_to(other)
        assert other.catalog.transcripts.all() == [read]
        assert other.catalog.injections.list() == told[::-1] == place.catalog.injections.list()
    further = replace(read, position=900)
    other.catalog.transcripts.keep(further)
    place.moved_to(other)
    assert other.catalog.transcripts.all() == [further]


def test_everything_is_copied_and_the_source_stays_untouched(place, other):
    before = place.export()
    place.models.reused = place.models.embedded = 0
    done = place.moved_to(other)

    assert other.export() == before == place.export()
    assert (done.written, done.unchanged, done.indexed) == (31, 0, 30)
    assert done.asked == done.agreed == 20
    assert other.store.memory_ids() == place.store.memory_ids()
    assert other.store.statistics() == place.store.statistics()
    assert [entry["operation"] for entry in other.catalog.log.entries()] == ["migrate", "seed"]
    assert [entry["operation"] for entry in place.catalog.log.entries()] == ["seed"]


def test_and_back_again_gives_the_same_bytes(place, other, tmp_path):
    place.moved_to(other)
    with closing(Place(tmp_path / "back")) as back:
        other.moved_to(back)
        assert back.export() == place.export()
        assert back.store.statistics() == place.store.statistics()


def test_vectors_are_taken_over_and_not_made_again(place, other):
    done = place.moved_to(other)
    assert done.embedded == 0
    assert done.reused == place.store.statistics()["vectors"]
    question = "Worker7 pins PostgreSQL"
    one, two = (end.store.search(question, limit=5) for end in (place, other))
    assert [hit.chunk_id for hit in one] == [hit.chunk_id for hit in two]
    assert [hit.score for hit in one] == pytest.approx([hit.score for hit in two], abs=1e-3)


def test_without_the_vectors_of_the_source_they_are_made_anew(place, other):
    def gone():
        raise BackendError("there is no backend")

    source = End(place.catalog, gone)
    done = transfer(source, other.end, models=other.models, now=NOW, progress=Silent())
    assert (done.reused, done.asked) == (0, 0)
    assert done.embedded == other.store.statistics()["vectors"] > 0
    assert "there is no backend" in done.note


def test_an_interrupted_copy_goes_on_where_it_was(place, other):
    class StoppedError(Exception):
        pass

    class Stop(Silent):
        label = ""

        def begin(self, label, total):
            self.label = label

        def advance(self, steps=1):
            if self.label == "index":
                raise StoppedError

    place.add(*(make(number) for number in range(100, 160)))
    with pytest.raises(StoppedError):
        transfer(place.end, other.end, models=other.models, now=NOW, progress=Stop())
    finished = len(other.store.memory_ids())
    assert 0 < finished < 90

    done = place.moved_to(other)
    assert (done.written, done.unchanged, done.indexed) == (0, 91, 90 - finished)
    assert other.export() == place.export()


def test_what_the_other_store_alone_still_has_is_taken_out_of_it(place, other):
    place.moved_to(other)
    forgotten = make(5).id
    place.catalog.memories.remove([forgotten])
    other.catalog.memories.remove([forgotten])
    place.moved_to(other)
    assert other.store.memory_ids() == place.store.memory_ids() - {forgotten}


def test_lives_are_copied_and_a_second_copy_has_what_they_are_by_then(place, other):
    lives, pinned = place.catalog.lives, make(4).id
    lives.pin(pinned, pinned=True, now=NOW)
    lives.add_recalls([Recall(pinned, "5f2c", NOW)])
    place.moved_to(other)
    assert other.catalog.lives.all() == lives.all()
    lives.pin(pinned, pinned=False, now=NOW)
    lives.remove_recall(pinned, "5f2c")
    place.moved_to(other)
    assert (other.catalog.lives.all(), other.catalog.lives.recalls()) == (lives.all(), [])


def test_a_second_copy_brings_what_has_changed_since(place, other):
    place.moved_to(other)
    text = "# Note 3\n\nOther words about Caddy.\n"
    place.add(make(3, text=text, content_hash=content_hash(text), updated_at=NOW + timedelta(days=1)))
    place.catalog.lives.add_recalls([Recall(make(4).id, "5f2c", NOW)])
    done = place.moved_to(other)

    assert (done.written, done.unchanged) == (2, 29)
    assert other.export() == place.export()
    assert other.store.search("Other words about Caddy.", limit=1)[0].memory_id == make(3).id


def test_a_target_with_other_memories_is_refused_unless_they_are_to_be_merged(place, other):
    mine = make(500)
    other.add(mine)
    with pytest.raises(UsageError, match="holds 1 memory that is not in"):
        place.moved_to(other)
    assert other.catalog.memories.ids() == {mine.id}

    done = place.moved_to(other, merge=True)
    assert (done.written, done.sha256) == (31, "")
    assert other.catalog.memories.ids() == place.catalog.memories.ids() | {mine.id}
    assert mine.id in other.store.memory_ids()


def test_a_copy_that_is_not_the_same_is_told(place, other, monkeypatch):
    monkeypatch.setattr(
        Archive, "write", lambda self, items: 0 if self._database is other.catalog.database else None
    )
    with pytest.raises(StorageError, match="projects, archive, lives or seen files differ"):
        place.moved_to(other)


def test_a_memory_that_was_changed_behind_the_back_is_told(place, other):
    class Meddle(Silent):
        def begin(self, label, total):
            if label == "index":
                with closing(sqlite3.connect(other.catalog.database.path)) as connection, connection:
                    connection.execute("UPDATE memories SET title = 'mine' WHERE uri = '7.md'")

    with pytest.raises(StorageError, match="differs"):
        transfer(place.end, other.end, models=other.models, now=NOW, progress=Meddle())


# --- PostgreSQL and the command line


NOTE = (
    "We decided to keep the sessions of {0} in PostgreSQL because of an error in Worker{0}; the fix is v{0}."
)


@pytest.fixture
def home(inside, tmp_path):
    """Return what runs ragmem in a home with five memories in the default store."""

    def run(*arguments, **more):
        return inside(*arguments, **{"RAGMEM_STORE_BACKEND": "lightrag", **more})

    folder = tmp_path / "notes"
    folder.mkdir()
    for number in range(5):
        (folder / f"{number}.md").write_text(NOTE.format(number))
    assert run("ingest", str(folder), "--project", "user").returncode == 0
    return run


def body(exported):
    """Return an export without its header, which tells the time."""
    assert exported.returncode == 0, exported.stderr
    return exported.stdout.splitlines()[1:]


def test_a_memory_goes_to_postgres_and_back(home, postgres, tmp_path):
    before = body(home("export"))
    shared = {"RAGMEM_STORE_PROFILE": "postgres", "RAGMEM_STORE_URL": postgres}
    done = home("store", "migrate", "--to", "postgres", "--url", postgres, "--json")
    assert done.returncode == 0, done.stderr
    outcome = json.loads(done.stdout)
    # No text; only the names, which LightRAG's own storages want at once.
    assert (outcome["written"], outcome["indexed"], outcome["embedded"]) == (5, 5, 11)
    assert outcome["agreed"] == outcome["asked"] == 5

    assert body(home("export", **shared)) == before == body(home("export"))
    assert "Worker3" in home("query", "sessions of Worker3", "--all", **shared).stdout
    assert "nothing to do" in home("gc", "--dry-run", **shared).stdout

    # The paths of projects and files are each machine's own, and the machine is told by this file.
    (tmp_path / "back" / "data").mkdir(parents=True)
    shutil.copy(Path(os.environ["RAGMEM_HOME"], "data", "machine-id"), tmp_path / "back" / "data")
    back = {"RAGMEM_HOME": str(tmp_path / "back"), **shared}
    assert home("store", "migrate", "--to", "sqlite", **back).returncode == 0
    returned = {"RAGMEM_HOME": str(tmp_path / "back")}
    assert body(home("export", **returned)) == before
    assert home("gc", "--dry-run", **returned).stdout.startswith("nothing to do")


def test_a_shared_memory_is_backed_up_as_an_export(home, postgres, tmp_path):
    # What the store keeps is not backed up, so that any will do.
    fake = {"RAGMEM_STORE_BACKEND": "fake"}
    shared = {"RAGMEM_STORE_PROFILE": "postgres", "RAGMEM_STORE_URL": postgres, **fake}
    assert home("store", "migrate", "--to", "postgres", "--url", postgres, **fake).returncode == 0
    made = json.loads(home("backup", str(tmp_path / "made.tar.gz"), "--json", **shared).stdout)
    assert made["counts"]["memories"] == 5

    refused = home("restore", "--yes", str(tmp_path / "made.tar.gz"), **shared)
    assert (refused.returncode, "is not empty" in refused.stderr) == (2, True)
    there = {"RAGMEM_HOME": str(tmp_path / "there"), **fake}
    assert home("restore", "--yes", str(tmp_path / "made.tar.gz"), **there).stdout == "restored 5 memories\n"
    assert body(home("export", **there)) == body(home("export"))


def test_lightrags_own_files_get_vectors_and_graph_and_the_memory_stays(home):
    before = body(home("export"))
    done = json.loads(home("store", "migrate", "--to", "json", "--json").stdout)
    assert (done["written"], done["indexed"], done["embedded"], done["agreed"]) == (0, 5, 11, 5)
    assert body(home("export")) == before
    assert "Worker3" in home("query", "sessions of Worker3", "--all", RAGMEM_STORE_PROFILE="json").stdout


def test_the_store_is_shown_with_its_place(home):
    shown = json.loads(home("store", "show", "--json").stdout)
    assert (shown["profile"], shown["backend"], shown["counts"]["memories"]) == ("sqlite", "lightrag", 5)
    assert shown["place"].endswith("memory.db")
    assert "profile      sqlite\n" in home("store").stdout
