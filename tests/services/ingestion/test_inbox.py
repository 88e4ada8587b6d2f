"""What waits in the inbox is taken into the catalog once and in order, whoever is killed or does it."""

import errno
import hashlib
import os
import signal
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ragmem import inbox
from ragmem.__main__ import run
from ragmem.api.memory import Ragmem
from ragmem.domain.model import USER, Kind, State, Supersession
from ragmem.domain.model.lifecycle import EntryType, entry_type
from ragmem.errors import StorageError
from ragmem.inbox import reader
from ragmem.services.doctor.invariants import violations
from ragmem.services.ingestion.inbox import QUICK_BYTES, QUICK_FILES
from ragmem.services.ingestion.inbox_status import inbox_status

FAKE = {"RAGMEM_MODELS_BACKEND": "fake", "RAGMEM_STORE_BACKEND": "fake"}
SAID = "We decided to pin the driver at 2.9 because version 3 leaks connections."


class Place:
    """A person's folder with a home of ragmem in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "ragmem" / "data"
        self.inbox = self.data / "inbox"
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "RAGMEM_HOME": str(folder / "ragmem"),
        }
        self.environ |= FAKE

    def opened(self, cwd: Path | None = None) -> Ragmem:
        return Ragmem.open(environ=self.environ, home=self.folder, cwd=cwd or self.folder)

    def put(self, text: str, **said) -> inbox.Receipt:
        return inbox.put(self.data, text, at_ns=time.time_ns(), **said)

    def names(self) -> list[str]:
        return reader.list_writes(str(self.inbox))

    def project(self, name: str) -> Path:
        root = self.folder / name
        (root / "deep").mkdir(parents=True)
        (root / ".ragmem.toml").write_text("")
        return root

    def start(self, code: str, *arguments: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-c", code, *arguments],
            env=self.environ,
            cwd=self.folder,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def texts(memory: Ragmem) -> list[str]:
    return sorted(item.text for item in memory.catalog.memories.each())


def test_the_next_question_finds_a_write_without_a_model_having_read_it(place: Place):
    place.put(SAID)
    with place.opened() as memory:
        (match,) = memory.query("why do we pin the driver").matches
        assert match.memory.text == SAID
        assert match.memory.state is State.PENDING
        assert memory.store.memory_ids() == set()
        assert place.names() == []


def test_a_drain_that_indexes_leaves_nothing_waiting(place: Place):
    place.put(SAID)
    with place.opened() as memory:
        (identifier,) = memory.inbox.drain().ids
        assert memory.inbox.index_pending() == ""
        assert memory.memory(identifier).state is State.INDEXED
        assert memory.store.memory_ids() == {identifier}


def test_a_text_that_the_catalog_has_already_is_a_duplicate_whichever_door_it_came_by(place: Place):
    note = place.folder / "note.md"
    note.write_text(SAID)
    with place.opened() as memory:
        for _ in range(2):
            place.put(SAID)
            memory.inbox.drain()
        memory.inbox.index_pending()
        handed = memory.ingestion.draft([note], _wish(), text=SAID.encode())
        assert [item.change for item in memory.ingest(handed.drafts[1:], projects=handed.projects)] == [
            "unchanged"
        ]
        place.put(f"  {SAID}\n\n", source="sessions", uri="session:1")
        assert memory.inbox.drain().duplicates == 1
        assert texts(memory) == [SAID]


def _wish():
    from ragmem.services.ingestion.options import DraftOptions

    return DraftOptions()


def test_the_same_text_of_two_projects_is_kept_for_both(place: Place):
    one, other = place.project("one"), place.project("other")
    with place.opened(one / "deep") as memory:
        first = memory.remember(SAID)
    with place.opened(other) as memory:
        second = memory.remember(SAID)
        assert (first.status, second.status) == ("accepted", "accepted")
        memory.inbox.drain()
        scopes = {item.scope.project.rpartition("-")[0] for item in memory.catalog.memories.each()}
        assert scopes == {"one", "other"}
        assert [match.memory.scope.project[:5] for match in memory.query("pin the driver").matches] == [
            "other"
        ]


def test_a_write_belongs_to_the_project_that_ingest_would_give_it(place: Place):
    root = place.project("tideline")
    with place.opened(root / "deep") as memory:
        memory.remember("The importer retries three times because the lock is short.")
        memory.inbox.drain()
        handed = memory.ingestion.draft([], _wish(), text=SAID.encode())
        (drained,) = memory.catalog.memories.each()
        assert drained.scope == handed.drafts[0].scope
    with place.opened() as memory:
        memory.remember("My own: never force a push.")
        memory.inbox.drain()
        assert [item.text for item in memory.catalog.memories.each() if item.scope.project == USER] == [
            "My own: never force a push."
        ]


def test_a_write_whose_folder_is_gone_is_not_handed_to_the_person_or_another_project(place: Place):
    root = place.project("gone")
    with place.opened(root) as memory:
        memory.remember(SAID)
    (root / "deep").rmdir()
    (root / ".ragmem.toml").unlink()
    root.rmdir()
    with place.opened() as memory:
        memory.inbox.drain()
        (item,) = memory.catalog.memories.each()
        assert item.scope.project.rpartition("-")[0] == "gone"


@pytest.mark.parametrize("name", inbox.TYPES)
def test_a_type_is_kept_and_protects_as_it_should(name: str, place: Place):
    place.put("Thanks, see you later.", type=name, session="s1", title="Cache", tags=["ops"])
    with place.opened() as memory:
        memory.inbox.drain()
        (item,) = memory.catalog.memories.each()
    assert entry_type(item) is EntryType(name)
    assert (item.title, item.tags, item.metadata["session"]) == ("Cache", ("ops",), "s1")
    # What was handed in is found by meaning as well, however few words it has.
    assert item.state is State.PENDING


def test_the_types_and_kinds_of_the_inbox_are_those_of_the_domain():
    assert set(inbox.TYPES) == {item.value for item in EntryType}
    assert set(inbox.KINDS) == {item.value for item in Kind}


def test_a_second_write_can_make_a_decision_of_a_note_and_never_a_note_of_a_decision(place: Place):
    with place.opened() as memory:
        for said, expected in (
            ("note", "note"),
            ("decision", "decision"),
            ("note", "decision"),
            ("", "decision"),
        ):
            place.put("The cache is warm at nine.", type=said, tags=[said] if said else [])
            memory.inbox.drain()
            (item,) = memory.catalog.memories.each()
            assert item.metadata["type"] == expected
        assert item.tags == ("note", "decision")


def test_a_second_write_of_a_file_adds_its_tags_and_leaves_the_rest(place: Place):
    note = place.folder / "pool.md"
    note.write_text("---\ntags: [db]\n---\n# Pool\n\nThe pool was exhausted because of a leak.\n")
    said = {"read_from": note, "modified_ns": note.stat().st_mtime_ns}
    with place.opened() as memory:
        place.put(note.read_text(), type="decision", tags=["first"], **said)
        (identifier,) = memory.inbox.drain().ids
        memory.inbox.index_pending()
        before = memory.memory(identifier)
        place.put(note.read_text(), tags=["second"], **said)
        assert memory.inbox.drain().ids == [identifier]
        assert memory.inbox.index_pending() == ""
        item = memory.memory(identifier)
        assert item.tags == ("db", "first", "second")
        assert (item.metadata["type"], item.kind, item.state) == ("decision", before.kind, State.INDEXED)
        assert memory.store.check(deep=True) == []
        place.put(note.read_text(), tags=["first"], **said)
        assert (memory.inbox.drain().duplicates, memory.memory(identifier)) == (1, item)
        # As if it were ingested without tags: what a person gave before stays.
        handed = memory.ingestion.draft([note], _wish())
        memory.ingest(handed.drafts, projects=handed.projects)
        assert memory.memory(identifier).tags == ("db", "first", "second")


def test_a_text_that_waits_already_is_accepted_with_other_tags(place: Place):
    receipts = [place.put("The cache is warm at nine.", tags=tags) for tags in ([], ["a"], ["b"], ["b"])]
    assert [one.status for one in receipts] == ["accepted", "accepted", "accepted", "duplicate"]
    with place.opened() as memory:
        memory.inbox.drain()
        (item,) = memory.catalog.memories.each()
        assert item.tags == ("a", "b")


def test_a_second_write_takes_no_protection_away_that_the_first_one_asked_for(place: Place):
    with place.opened() as memory:
        place.put("The cache is warm at nine.", type="insight", metadata={"protected": "true"})
        memory.inbox.drain()
        place.put("The cache is warm at nine.", type="error")
        memory.inbox.drain()
        (item,) = memory.catalog.memories.each()
        assert (item.metadata["type"], item.protected) == ("error", True)


@pytest.mark.parametrize("said", [{}, {"type": "decision"}, {"source": "sessions", "uri": "session:9"}])
def test_what_was_superseded_holds_again_once_it_is_said_again(said: dict[str, str], place: Place):
    former, later = (f"The gauge listens on port {port}." for port in (5432, 6432))
    with place.opened() as memory:
        identifiers = []
        for text in (former, later):
            place.put(text)
            identifiers += memory.inbox.drain().ids
        older, newer = (memory.memory(identifier) for identifier in identifiers)
        link = Supersession(
            older.id, newer.id, older.event_time, newer.event_time, "value", "moved", newer.event_time
        )
        memory.catalog.supersessions.put([link])
        place.put(former, event_time=newer.event_time - timedelta(days=1), **said)
        memory.inbox.drain()
        assert set(memory.catalog.supersessions.in_force(identifiers)) == {older.id}
        moment = newer.event_time + timedelta(seconds=1)
        place.put(former, event_time=moment, **said)
        assert memory.inbox.drain().ids == [older.id]
        assert memory.catalog.supersessions.in_force(identifiers) == {}
        assert memory.memory(older.id).event_time == moment
        assert texts(memory) == [former, later]


def test_a_type_of_which_nobody_knows_takes_no_protection_away(place: Place):
    with place.opened() as memory:
        place.put("The cache is warm at nine.", type="decision")
        memory.inbox.drain()
        place.put("The cache is warm at nine. ", metadata={"type": "wish"})
        memory.inbox.drain()
        (item,) = memory.catalog.memories.each()
        assert entry_type(item) is EntryType.DECISION


def test_what_has_a_place_of_its_own_is_replaced_in_the_order_of_the_writes(place: Place):
    for text in ("state one of it", "state two of it", "state one of it"):
        place.put(text, source="sessions", uri="session:7")
    with place.opened() as memory:
        memory.inbox.drain()
        assert texts(memory) == ["state one of it"]


def test_a_text_that_its_place_has_no_longer_is_taken_in(place: Place):
    with place.opened() as memory:
        place.put("state one of it", source="sessions", uri="session:7")
        memory.inbox.drain()
        place.put("state two of it", source="sessions", uri="session:7")
        place.put("state one of it")
        memory.inbox.drain()
        assert texts(memory) == ["state one of it", "state two of it"]


def test_what_was_indexed_and_is_replaced_by_a_word_stays_in_step_with_the_store(place: Place):
    with place.opened() as memory:
        for text in (SAID, "Good morning!"):
            place.put(text, source="sessions", uri="session:7")
            memory.inbox.drain()
            assert violations(memory.catalog, memory.store, deep=True) == []
            memory.inbox.index_pending()
            assert violations(memory.catalog, memory.store, deep=True) == []
        assert texts(memory) == ["Good morning!"]


def test_a_file_comes_in_as_ingest_would_have_read_it(place: Place):
    note = place.folder / "pool.md"
    note.write_text(
        "---\ntags: [db]\ndate: 2026-03-01\n---\n# Pool\n\nThe pool was exhausted because of a leak.\n"
    )
    place.put(note.read_text(), read_from=note, modified_ns=note.stat().st_mtime_ns)
    with place.opened() as memory:
        (identifier,) = memory.inbox.drain().ids
        memory.inbox.index_pending()
        handed = memory.ingestion.draft([note], _wish())
        (same,) = memory.ingest(handed.drafts, projects=handed.projects)
        assert (same.id, same.change) == (identifier, "unchanged")
        item = memory.memory(identifier)
        assert (item.title, item.tags, item.event_time) == ("Pool", ("db",), datetime(2026, 3, 1, tzinfo=UTC))


def test_a_file_that_no_reader_understands_is_kept_as_a_text(place: Place):
    place.put("no JSON at all", read_from=place.folder / "broken.jsonl", modified_ns=1)
    place.put("---\ntitle: only a head\n---\n", read_from=place.folder / "head.md", modified_ns=1)
    with place.opened() as memory:
        assert len(memory.inbox.drain().ids) == 2
        assert "no JSON at all" in texts(memory)


def test_what_is_no_write_is_set_aside_with_its_reason_and_blocks_nothing(place: Place):
    place.put(SAID)
    (written,) = place.names()
    (place.inbox / "foreign.txt").write_text("hello")
    (place.inbox / "folder").mkdir()
    (place.inbox / "link.write").symlink_to(place.folder)
    os.mkfifo(place.inbox / "pipe.write")
    broken = place.inbox / "broken.write"
    broken.write_bytes((place.inbox / written).read_bytes()[:-1])
    (place.inbox / "later.write").write_text("ragmem inbox 2 x\n\nfrom a newer one")
    with place.opened() as memory:
        done = memory.inbox.drain()
        assert (len(done.ids), done.aside, done.left) == (1, 6, 0)
        assert texts(memory) == [SAID]
        found = {path.name.partition("-")[0]: reason for path, reason in memory.inbox.status().aside}
    assert found["foreign.txt"] == "it is not a write of ragmem"
    assert found["broken.write"] == "it is damaged: the checksum does not match"
    assert found["later.write"] == "another release of ragmem wrote it"
    assert found["folder"] == found["pipe.write"] == "it is not a regular file"
    assert set(found) == {"foreign.txt", "folder", "link.write", "pipe.write", "broken.write", "later.write"}


def sealed(header: str, content: bytes) -> bytes:
    rest = header.encode("utf-8", "surrogateescape") + b"\n\n" + content
    return f"ragmem inbox 1 {hashlib.sha256(rest).hexdigest()}\n".encode() + rest


@pytest.mark.parametrize(
    ("header", "content", "reason"),
    [
        ("at 1", b"\xff", "it is not UTF-8"),
        ("at 1\ntitle \udcff", b"text", "it is not UTF-8"),
        ("at 1", b" \n", "it has no text"),
        ("at soon", b"text", "its header has an invalid field"),
        ("title x", b"text", "its header has an invalid field"),
        ("at 1\ntype wish", b"text", "its header has an invalid field"),
        ("at 1\nkind wish", b"text", "its header has an invalid field"),
        ("at 1\nevent soon", b"text", "its header has an invalid field"),
        ("at 1\nevent 0001-01-01T00:00:00+14:00", b"text", "its header has an invalid field"),
    ],
)
def test_a_file_whose_sum_is_right_and_whose_content_is_not_is_set_aside(
    header, content, reason, place: Place
):
    place.put(SAID)
    (place.inbox / "forged.write").write_bytes(sealed(header, content))
    with place.opened() as memory:
        assert memory.inbox.drain().aside == 1
        assert texts(memory) == [SAID]
        ((_, told),) = memory.inbox.status().aside
    assert told.startswith(reason)


def test_an_inbox_that_is_no_folder_stops_no_question(place: Place):
    with place.opened() as memory:
        place.put(SAID)
        memory.inbox.drain()
        place.inbox.rmdir()
        place.inbox.write_text("")
        answer = memory.query("why do we pin the driver")
        assert [match.memory.text for match in answer.matches] == [SAID]
        assert answer.notes[-1].startswith("some writes in the inbox were not searched: cannot read")
        assert [
            check.status for check in memory.doctor.examine(read_only=True).checks if check.name == "inbox"
        ] == ["failed"]
        with pytest.raises(StorageError, match="cannot write in"):
            place.put("The second one of them.")


def test_an_inbox_from_which_nothing_can_be_removed_stops_no_question(place: Place, monkeypatch):
    unlink = Path.unlink

    def refuse(path: Path, *, missing_ok: bool = False) -> None:
        if path.parent == place.inbox:
            raise PermissionError(errno.EPERM, "Operation not permitted", str(path))
        unlink(path, missing_ok=missing_ok)

    place.put(SAID)
    with place.opened() as memory:
        with monkeypatch.context() as patch:
            patch.setattr(Path, "unlink", refuse)
            for _ in range(2):
                answer = memory.query("why do we pin the driver")
                assert [match.memory.text for match in answer.matches] == [SAID]
                assert answer.notes[-1].startswith(
                    "some writes in the inbox were not searched: cannot remove"
                )
            with pytest.raises(StorageError, match="which is stored already: operation not permitted"):
                memory.inbox.drain()
        assert memory.inbox.drain().duplicates == 1
        assert texts(memory) == [SAID]


def test_doctor_and_statistics_tell_what_waits_and_what_was_set_aside(place: Place):
    place.put(SAID)
    (place.inbox / "foreign.txt").write_text("hello")
    with place.opened() as memory:
        memory.inbox.drain()
        place.put("The second one of them.")
        told = [check for check in memory.doctor.examine(read_only=True).checks if check.name == "inbox"]
        assert [check.status for check in told] == ["warning", "ok"]
        assert "not a write of ragmem" in told[0].detail
        assert told[1].detail.startswith("1 write waits since ")
        assert memory.reports.statistics()["inbox"] == {"waiting": 0, "since": None, "aside": 1}


def test_a_question_takes_in_a_bounded_number_and_says_how_many_are_left(place: Place):
    for number in range(QUICK_FILES + 10):
        place.put(f"We decided that worker {number} keeps {number * 7} rows because of memory.")
    with place.opened() as memory:
        notes = memory.query("what does worker 3 keep").notes
        left = len(place.names())
        assert left >= 10
        assert notes[-1] == f"{left} writes wait in the inbox: `ragmem ingest --drain` ingests them"
        memory.inbox.drain()
        assert memory.query("what does worker 3 keep").notes == ()
        assert len(texts(memory)) == QUICK_FILES + 10


def test_what_is_too_large_for_a_question_replaces_nothing_that_was_written_later(place: Place):
    large = "The former state of it. " + "word " * (QUICK_BYTES // 5)
    for text in (large, "The present state of it.", "The state of another place."):
        place.put(text, source="sessions", uri=f"session:{'another' in text}")
    place.put(large, read_from=place.folder / "pool.md", modified_ns=1)
    place.put("The pool was drained at nine.", read_from=place.folder / "pool.md", modified_ns=2)
    with place.opened() as memory:
        memory.query("what is the state of it")
        assert texts(memory) == ["The state of another place."]
        assert len(place.names()) == 4
        memory.inbox.drain()
        assert texts(memory) == [
            "The pool was drained at nine.",
            "The present state of it.",
            "The state of another place.",
        ]


def test_a_question_takes_in_no_more_of_long_writes_than_of_short_ones(place: Place):
    for number in range(3):
        place.put(f"{number} " + "word " * (QUICK_BYTES // 9))
    for left in (2, 1, 0):
        with place.opened() as memory:
            assert memory.is_stored()
        assert len(place.names()) == left


def test_what_is_too_large_for_a_question_keeps_nothing_else_from_it(place: Place):
    for number in range(QUICK_FILES + 1):
        place.put(f"{number} " + "word " * (QUICK_BYTES // 5))
    place.put(SAID)
    with place.opened() as memory:
        answer = memory.query("why do we pin the driver")
        assert [match.memory.text for match in answer.matches] == [SAID]


def test_while_another_process_writes_a_text_is_accepted_and_a_question_goes_on_without_it(place: Place):
    with place.opened() as memory:
        place.put(SAID)
        memory.inbox.drain()
        held, release = threading.Event(), threading.Event()

        def hold():
            with place.opened() as other, other.catalog.database.write():
                held.set()
                release.wait(30)

        holder = threading.Thread(target=hold)
        holder.start()
        try:
            assert held.wait(30)
            assert place.put("The second one: we decided on blue.").status == "accepted"
            began = time.monotonic()
            answer = memory.query("pin the driver")
            assert time.monotonic() - began < 5
            assert [match.memory.text for match in answer.matches] == [SAID]
            assert answer.notes[-1].startswith(
                "some writes in the inbox were not searched: another process has been"
            )
        finally:
            release.set()
            holder.join()
        memory.inbox.drain()
        assert len(texts(memory)) == 2


def test_seed_ingest_and_gc_take_in_what_waits_first(place: Place):
    with place.opened() as memory:
        for number, work in enumerate((memory.seed, lambda: memory.ingest([]), memory.gc.plan)):
            place.put(f"We decided on number {number} because of the tests.")
            work()
            assert place.names() == []
        assert len(texts(memory)) == 3


def test_a_dry_run_of_seed_takes_in_nothing(place: Place):
    place.put(SAID)
    with place.opened() as memory:
        memory.seed(dry_run=True)
    assert len(place.names()) == 1


# --- kills

# Drains and dies at a point: before the commit, after it, or between two files that leave.
DRAINER = """
import os, signal, sys
from pathlib import Path
from ragmem.storage.activity.log import Log
from ragmem.storage.memories.memories import Memories
from ragmem.api.memory import Ragmem

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

point = sys.argv[1]
if point == "before":
    Memories.accept = die
elif point == "within":
    Log.write = die
else:
    unlink, left = Path.unlink, [int(point)]
    def count(path, missing_ok=False):
        if path.suffix == ".write":
            if not left[0]:
                die()
            left[0] -= 1
        unlink(path, missing_ok=missing_ok)
    Path.unlink = count
with Ragmem.open() as memory:
    memory.inbox.drain()
"""


@pytest.mark.parametrize(
    ("point", "durable", "left"), [("before", 0, 3), ("within", 0, 3), ("0", 3, 3), ("2", 3, 1)]
)
def test_a_drain_that_is_killed_loses_and_doubles_nothing(point: str, durable: int, left: int, place: Place):
    said = sorted(f"We decided on number {number} because of the tests." for number in range(3))
    for text in said:
        place.put(text)
    with place.start(DRAINER, point) as process:
        process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    assert len(place.names()) == left
    with place.opened() as memory:
        assert len(texts(memory) if memory.catalog.exists() else []) == durable
        done = memory.inbox.drain()
        assert (len(done.ids), done.duplicates) == (3 - durable, left if durable else 0)
        assert texts(memory) == said
        assert memory.inbox.index_pending() == ""
        assert violations(memory.catalog, memory.store, deep=True) == []
        assert place.names() == []


WRITER = """
import sys, time
from ragmem import inbox
for number in range(int(sys.argv[3])):
    text = f"{sys.argv[2]} {number}: " + "word " * int(sys.argv[4])
    receipt = inbox.put(sys.argv[1], text, at_ns=time.time_ns())
    print(receipt.name, flush=True)
"""


def test_what_a_killed_writer_acknowledged_is_there_and_nothing_half(place: Place):
    with place.start(WRITER, str(place.data), "killed", "100000", "2000") as process:
        assert process.stdout is not None
        names = [process.stdout.readline().strip() for _ in range(20)]
        process.kill()
        names += process.stdout.read().split()
    for name in place.names():
        assert reader.read(str(place.inbox / name)).text.count("word") == 2000
    assert {f"{name}{inbox.SUFFIX}" for name in names if len(name) == 32} <= set(place.names())


def test_the_draft_of_a_killed_writer_is_swept_once_it_is_old_and_never_taken_in(place: Place):
    place.put(SAID)
    draft = place.inbox / f".1-abc{inbox.UNFINISHED}"
    draft.write_text("half")
    with place.opened() as memory:
        memory.inbox.drain()
        assert draft.exists()
        os.utime(draft, (1, 1))
        place.put("The second one of them.")
        memory.inbox.drain()
        assert not draft.exists()
        assert len(texts(memory)) == 2
    assert inbox_status(place.data).aside == ()


TAKER = """
import sys, time
from ragmem.api.memory import Ragmem
with Ragmem.open() as memory:
    print("ready", flush=True)
    sys.stdin.readline()
    until = time.monotonic() + float(sys.argv[1])
    while time.monotonic() < until:
        memory.inbox.drain()
"""


def test_two_writers_and_two_drainers_at_once_lose_and_double_nothing(place: Place):
    with place.opened() as memory:
        memory.prepare()
    each = 25
    takers = [place.start(TAKER, "1") for _ in range(2)]
    for taker in takers:
        assert taker.stdout.readline() == "ready\n"
        taker.stdin.write("\n")
        taker.stdin.flush()
    # Both write `same` as well, so that they meet at one name.
    writers = [
        place.start(WRITER, str(place.data), name, str(each), "9") for name in ("one", "two", "same", "same")
    ]
    for process in [*writers, *takers]:
        _, err = process.communicate(timeout=60)
        assert (process.returncode, err) == (0, "")
    with place.opened() as memory:
        memory.inbox.drain()
        heads = [text.partition(":")[0] for text in texts(memory)]
    assert sorted(heads) == sorted(
        f"{name} {number}" for name in ("one", "two", "same") for number in range(each)
    )
    assert inbox_status(place.data).aside == ()
    assert reader.list_unfinished(str(place.inbox)) == []


def test_a_backup_and_an_export_hold_what_waited_and_a_restore_leaves_what_waits(
    place: Place, monkeypatch, capfd
):
    for name, value in place.environ.items():
        monkeypatch.setenv(name, value)
    archive = place.folder / "backup.tar.gz"
    place.put(SAID)
    assert run(["backup", str(archive)]) == 0
    place.put("The second one: we decided on blue.")
    assert run(["export", "-"]) == 0
    exported = capfd.readouterr().out
    assert SAID in exported
    assert "we decided on blue" in exported
    place.put("The third one: we decided on red.")
    assert run(["restore", "--yes", str(archive)]) == 0
    with place.opened() as memory:
        assert texts(memory) == [SAID]
        memory.inbox.drain()
        assert texts(memory) == ["The third one: we decided on red.", SAID]


def test_serve_takes_in_what_waits_when_it_starts_and_before_each_answer(place: Place):
    pytest.importorskip("fastapi", reason="the extra serve is not installed")
    from ragmem.server.app import warm_up
    from ragmem.server.http.handlers import ask
    from ragmem.server.http.models import QueryRequest

    with place.opened() as memory:
        place.put(SAID)
        found = ask(memory, QueryRequest(query="why do we pin the driver", mode="ragmem")).answer.matches
        assert [match.memory.text for match in found] == [SAID]
        place.put("The second one: we decided on blue.")
        warned: list[str] = []
        warm_up(memory, warned.append)
        assert (place.names(), warned) == ([], [])


@pytest.mark.slow
def test_a_shared_database_takes_in_what_waits_on_this_machine(place: Place, postgres: str):
    place.environ |= {"RAGMEM_STORE_PROFILE": "postgres", "RAGMEM_STORE_URL": postgres}
    root = place.project("tideline")
    with place.opened(root) as memory:
        memory.remember(SAID, type="decision")
        memory.remember("  " + SAID, type="insight")
        (match,) = memory.query("why do we pin the driver").matches
        assert (match.memory.text, match.memory.metadata["type"]) == (SAID, "decision")
        assert match.memory.scope.project.startswith("tideline-")
        assert place.names() == []
