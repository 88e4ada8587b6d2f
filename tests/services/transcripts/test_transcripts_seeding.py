"""Transcripts are seeded newest first: full text at once, vectors after everything else."""

import json
import os
from concurrent.futures.process import BrokenProcessPool
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from transcript_sessions import Session

from ragmem.api.memory import Ragmem, now
from ragmem.domain.model import State
from ragmem.services.doctor.invariants import violations
from ragmem.services.ingestion.options import DraftOptions
from ragmem.services.processes.progress import Silent
from ragmem.services.processes.worker_pool import WorkerPool
from ragmem.services.seeding import transcripts

FAKE = {"RAGMEM_MODELS_BACKEND": "fake", "RAGMEM_STORE_BACKEND": "fake"}


class Person:
    """A person with transcripts in the folders of the assistants."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.folder = home / ".claude" / "projects" / "-work-tideline"
        self.folder.mkdir(parents=True)

    def write(self, name: str, *, exchanges: int = 2, days_ago: float = 1.0, asked: str = "") -> Path:
        session = Session(name)
        for number in range(exchanges):
            session.ask(f"{asked or name}: why does job {number} of {name} fail?")
        path = self.folder / f"{name}.jsonl"
        path.write_bytes(session.text)
        self.age(path, days_ago)
        return path

    def age(self, path: Path, days: float) -> None:
        moment = (datetime.now(tz=UTC) - timedelta(days=days)).timestamp()
        os.utime(path, (moment, moment))

    def opened(self) -> Ragmem:
        environ = {"RAGMEM_HOME": str(self.home.parent / "ragmem"), **FAKE}
        return Ragmem.open(environ=environ, home=self.home, cwd=self.home)


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return Person(tmp_path / "home")


def states(memory: Ragmem) -> list[State]:
    return sorted({item.state for item in memory.catalog.memories.each()})


def test_transcripts_are_read_when_they_are_asked_for_and_not_before(person):
    person.write("s-1")
    with person.opened() as memory:
        assert [tally.source for tally in memory.seed().tallies if tally.found] == []
        report = memory.seed(sources=["transcripts"])
        assert (report.tallies[0].found, report.tallies[0].new) == (2, 2)
        assert report.streamed.waiting == 0
        assert states(memory) == [State.INDEXED]
        assert violations(memory.catalog, memory.store) == []


def test_without_waiting_full_text_has_all_and_a_later_run_makes_the_vectors(person):
    person.write("s-1")
    with person.opened() as memory:
        report = memory.seed(sources=["transcripts"], wait=False)
        assert report.streamed.waiting == 2
        assert report.note == ""
        assert memory.store.memory_ids() == set()
        assert memory.query("why does job 1 of s-1 fail").matches
        assert memory.seed().streamed is None
        assert states(memory) == [State.INDEXED]


def test_the_newest_files_are_read_first_and_a_kill_leaves_what_was_read(person, monkeypatch):
    for number, days in enumerate((30, 1, 10)):
        person.write(f"s-{number}", days_ago=days)
    read = []
    capture = transcripts.capture

    def once(catalog, settings, path, **more):
        if len(read) == 2:
            raise KeyboardInterrupt
        read.append(path.stem)
        return capture(catalog, settings, path, **more)

    monkeypatch.setattr(transcripts, "capture", once)
    with person.opened() as memory, pytest.raises(KeyboardInterrupt):
        memory.seed(sources=["transcripts"])
    assert read == ["s-1", "s-2"]
    monkeypatch.undo()
    with person.opened() as memory:
        assert len(list(memory.catalog.memories.each())) == 4
        report = memory.seed(sources=["transcripts"])
        assert (report.tallies[0].new, report.tallies[0].unchanged) == (2, 4)
        assert violations(memory.catalog, memory.store) == []


def test_unchanged_transcripts_are_not_opened(person, monkeypatch):
    person.write("s-1")
    with person.opened() as memory:
        memory.seed(sources=["transcripts"])
        monkeypatch.setattr(transcripts, "capture", lambda *_, **__: pytest.fail("it was opened"))
        report = memory.seed(sources=["transcripts"])
    assert (report.tallies[0].unchanged, report.would_change) == (2, False)


def test_a_session_that_runs_is_read_again_once_it_has_ended(person):
    path = person.write("s-1", days_ago=0)
    with person.opened() as memory:
        assert memory.seed(sources=["transcripts"]).tallies[0].new == 2
        person.age(path, 1)
        report = memory.seed(sources=["transcripts"])
        assert (report.tallies[0].new, report.tallies[0].changed) == (0, 0)
        assert len(list(memory.catalog.memories.each())) == 2


def test_a_dry_run_tells_each_exchange_and_writes_nothing(person):
    person.write("s-1")
    with person.opened() as memory:
        report = memory.seed(sources=["transcripts"], dry_run=True, explain=True)
        assert [decision.change for decision in report.decisions] == ["new", "new"]
        assert report.would_change
        assert not memory.catalog.exists()
        quick = memory.seed(sources=["transcripts"], dry_run=True)
        assert (quick.streamed.files, quick.decisions) == (1, [])
        assert quick.would_change


def test_a_rebuild_reads_all_again_and_doubles_nothing(person):
    person.write("s-1")
    with person.opened() as memory:
        memory.seed(sources=["transcripts"])
        report = memory.seed(sources=["transcripts"], rebuild=True)
        assert (report.tallies[0].new, report.tallies[0].unchanged) == (0, 2)
        assert states(memory) == [State.INDEXED]


def test_what_is_worth_most_and_latest_gets_its_vectors_first(person):
    for number in range(3):
        person.write(f"s-{number}", exchanges=1)
    with person.opened() as memory:
        memory.seed(sources=["transcripts"], wait=False)
        ids = {one.metadata["session"]: one for one in memory.catalog.memories.each()}
        moments = {one.id: now() - timedelta(days=place) for place, one in enumerate(ids.values())}
        memory.catalog.memories.redate(moments)
        by_tier = sorted(
            ids.values(), key=lambda one: (one.tier.value != "ingest", list(moments).index(one.id))
        )
        assert memory.catalog.memories.pending_ids() == [one.id for one in by_tier]
        assert memory.catalog.memories.pending_ids(most=1) == [by_tier[0].id]
        assert memory.catalog.memories.pending_ids(without=["transcripts"]) == []


def test_several_processes_judge_as_one_does(person, monkeypatch):
    person.write("s-1", exchanges=40)
    with person.opened() as memory:
        report = memory.seed(sources=["transcripts"], dry_run=True, explain=True)
        monkeypatch.setattr(transcripts, "MIN_PARALLEL", 0)
        monkeypatch.setattr(transcripts, "cpu_count", lambda: 2)
        both = memory.seed(sources=["transcripts"], dry_run=True, explain=True)
    assert both.decisions == report.decisions


class Told(Silent):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.begun: dict[str, int] = {}
        self.done: dict[str, int] = {}
        self.last = ""

    def begin(self, label, total, *, unit=""):
        self.label = label
        self.begun[label] = total

    def advance(self, steps=1, *, told=""):
        self.done[self.label] = self.done.get(self.label, 0) + steps
        self.last = told or self.last


def test_progress_counts_every_byte_and_then_every_memory_once(person):
    size = sum(person.write(f"s-{number}").stat().st_size for number in range(3))
    told = Told()
    with person.opened() as memory:
        memory.seed(sources=["transcripts"], progress=told)
    assert told.begun["newest first"] == told.done["newest first"] == size
    assert told.begun["vectors"] == told.done["vectors"] == 6
    assert told.last == "6 exchanges"


def test_the_command_tells_rate_and_what_waits(person, inside, monkeypatch):
    person.write("s-1")
    monkeypatch.setenv("HOME", str(person.home))
    places = {"RAGMEM_HOME": str(person.home.parent / "ragmem")}
    done = inside("seed", "--source", "transcripts", "--no-wait", **places)
    assert done.returncode == 0
    assert "1 transcript read" in done.stderr
    assert "2 exchanges" in done.stderr
    assert "2 memories wait for vectors" in done.stderr
    again = inside("seed", "--source", "transcripts", "--json", **places)
    assert json.loads(again.stdout)["transcripts"]["waiting"] == 0


def test_inspect_tells_what_was_read_and_what_never_was(person, inside, monkeypatch):
    monkeypatch.setenv("HOME", str(person.home))
    places = {"RAGMEM_HOME": str(person.home.parent / "ragmem")}
    assert inside("inspect", "transcripts", **places).returncode == 1
    person.write("s-1")
    before = inside("inspect", "transcripts", "--json", **places)
    assert (json.loads(before.stdout)["unread"], before.returncode) == (1, 0)
    inside("seed", "--source", "transcripts", "--no-wait", **places)
    person.write("s-2", days_ago=25)
    after = inside("inspect", "transcripts", **places)
    assert "s-1" in after.stdout
    assert "2 exchanges wait for vectors" in after.stderr
    assert "1 transcript was never read" in after.stderr


def test_doctor_warns_of_transcripts_that_may_be_deleted_unread(person, inside, monkeypatch):
    monkeypatch.setenv("HOME", str(person.home))
    places = {"RAGMEM_HOME": str(person.home.parent / "ragmem")}

    def told() -> list[tuple[str, str]]:
        checks = json.loads(inside("doctor", "--json", **places).stdout)["checks"]
        return [(one["status"], one["detail"]) for one in checks if one["name"] == "transcripts"]

    person.write("s-1")
    inside("seed", "--source", "transcripts", **places)
    assert told()[0][0] == "ok"
    person.write("s-2", days_ago=25)
    ((status, detail),) = told()
    assert status == "warning"
    assert "1 were never read" in detail
    assert "30 days" in detail


def test_who_hands_in_a_note_does_not_wait_for_the_vectors_of_transcripts(person, tmp_path):
    person.write("s-1")
    note = tmp_path / "note.md"
    note.write_text("# Queue\n\nWe decided to bound the queue because the memory ran out.\n")
    with person.opened() as memory:
        memory.seed(sources=["transcripts"], wait=False)
        memory.ingest(memory.ingestion.draft([note], DraftOptions()).drafts)
        by_source = {item.source: item.state for item in memory.catalog.memories.each()}
        assert by_source.pop("transcripts") is State.PENDING
        assert set(by_source.values()) == {State.INDEXED}


def test_who_collects_and_takes_back_does_not_wait_for_the_vectors_of_transcripts(person, tmp_path):
    person.write("s-1")
    for name in ("note", "same"):
        (tmp_path / f"{name}.md").write_text("# Queue\n\nWe bound the queue because the memory ran out.\n")
    with person.opened() as memory:
        for name in ("note", "same"):
            memory.ingest(memory.ingestion.draft([tmp_path / f"{name}.md"], DraftOptions()).drafts)
        memory.seed(sources=["transcripts"], wait=False)
        waiting = set(memory.catalog.memories.pending_ids())
        assert len(waiting) == 2
        lost = (memory.store.memory_ids()).pop()
        memory.store.delete([lost])
        plan = memory.gc.plan()
        assert not waiting.intersection(item.id for item in plan.items if item.action == "mend")
        assert memory.gc.apply(plan).removed == 1
        memory.gc.undo()
        assert set(memory.catalog.memories.pending_ids()) == waiting
        assert lost in memory.store.memory_ids()
        assert violations(memory.catalog, memory.store) == []
        assert memory.seed().note == ""
        assert states(memory) == [State.INDEXED]


def test_a_process_that_is_killed_leaves_its_work_to_the_one_that_reads(person, monkeypatch):
    monkeypatch.setattr(transcripts, "MIN_PARALLEL", 0)
    monkeypatch.setattr(transcripts, "cpu_count", lambda: 2)
    each = WorkerPool.each

    def killed(self, work, given):
        if self.workers > 1:
            raise BrokenProcessPool
        return each(self, work, given)

    monkeypatch.setattr(WorkerPool, "each", killed)
    person.write("s-1")
    person.write("s-2")
    with person.opened() as memory:
        assert memory.seed(sources=["transcripts"]).tallies[0].new == 4
        assert violations(memory.catalog, memory.store) == []
