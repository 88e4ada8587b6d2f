"""Transcripts are taken in as they grow: nothing is lost or told twice, whoever is killed or does it."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from transcript_sessions import NOW, Session

from ragmem.api.memory import Ragmem
from ragmem.domain.model import USER, State
from ragmem.services.doctor.invariants import violations
from ragmem.services.ingestion.options import DraftOptions
from ragmem.services.ingestion.scope import remember_projects
from ragmem.services.transcripts import transcripts
from ragmem.services.transcripts.transcripts import CaptureResult, Limits, capture

FAKE = {"RAGMEM_MODELS_BACKEND": "fake", "RAGMEM_STORE_BACKEND": "fake"}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def memory(home: Path):
    with opened(home) as memory:
        yield memory


@pytest.fixture
def path(home: Path) -> Path:
    folder = home / ".claude" / "projects" / "-nowhere-at-all"
    folder.mkdir(parents=True)
    return folder / "5e55-0001.jsonl"


def opened(home: Path) -> Ragmem:
    environ = {"RAGMEM_HOME": str(home.parent / "ragmem"), **FAKE}
    return Ragmem.open(environ=environ, home=home, cwd=home)


def take(memory: Ragmem, path: Path, **more) -> CaptureResult:
    return capture(memory.catalog, memory.settings, path, home=memory.home, **({"now": NOW} | more))


def stored(memory: Ragmem) -> dict[str, str]:
    return {item.uri.rpartition("#")[2]: item.text for item in memory.catalog.memories.each()}


def sound(memory: Ragmem, expected: int) -> None:
    """Each exchange is there once, whole, with full text."""
    memories = list(memory.catalog.memories.each())
    assert len(memories) == len({item.content_hash for item in memories}) == expected
    assert violations(memory.catalog, memory.store) == []


def test_each_exchange_becomes_a_memory_that_full_text_finds_without_a_model(memory, path):
    path.write_bytes(Session().ask().ask().ask().text)
    done = take(memory, path, ended=True)
    assert (done.assistant, done.session, done.exchanges, done.new) == ("claude", "5e55-0001", 3, 3)
    assert done.complete
    (match, *_) = memory.query("bounded queue of the quarry service").matches
    assert "quarry" in match.memory.text
    assert match.memory.state is State.PENDING
    assert match.memory.source == "transcripts"
    assert match.memory.metadata["session"] == "5e55-0001"


def test_only_what_is_new_is_read(memory, path):
    session = Session().ask().ask()
    path.write_bytes(session.text)
    first = take(memory, path, ended=True)
    again = take(memory, path, ended=True)
    assert (again.current, again.exchanges, again.bytes) == (True, 0, 0)
    path.write_bytes(session.ask().text)
    more = take(memory, path, ended=True)
    assert more.new == 1
    assert more.bytes <= path.stat().st_size - first.position + len(session.lines[-4]) + len(
        session.lines[-3]
    )
    sound(memory, 3)


def test_an_answer_that_grows_replaces_what_was_stored_of_it(memory, path):
    session = (
        Session().ask().ask("How do we rotate the keys of the lantern?", "We rotate them every 30 days.")
    )
    path.write_bytes(session.text)
    take(memory, path, ended=True)
    path.write_bytes(session.answer("Correction: we decided on every 7 days, because of the audit.").text)
    done = take(memory, path, ended=True)
    assert done.changed == 1
    assert "every 7 days" in stored(memory)[max(stored(memory))]
    sound(memory, 2)


def test_a_file_that_was_replaced_by_another_session_is_read_anew(memory, path):
    path.write_bytes(Session().ask().ask().ask().text)
    take(memory, path, ended=True)
    path.write_bytes(Session("5e55-0002").ask("What of the weir?", "We keep the weir closed in winter.").text)
    done = take(memory, path, ended=True)
    assert (done.anew, done.new) == (True, 1)
    sound(memory, 4)


def test_a_file_that_was_cut_and_written_again_tells_nothing_twice(memory, path):
    session = Session().ask().ask().ask()
    path.write_bytes(session.text)
    take(memory, path, ended=True)
    path.write_bytes("".join(session.lines[:2]).encode())
    assert take(memory, path, ended=True).anew
    path.write_bytes(session.ask().text)
    take(memory, path, ended=True)
    sound(memory, 4)


def test_a_fork_that_repeats_a_session_adds_only_what_it_has_more(memory, path):
    session = Session().ask().ask()
    path.write_bytes(session.text)
    take(memory, path, ended=True)
    fork = path.with_name("5e55-0009.jsonl")
    fork.write_bytes(session.text + Session("5e55-0009").ask("And the weir?", "The weir stays closed.").text)
    done = take(memory, fork, ended=True)
    assert (done.doubled, done.new) == (2, 1)
    sound(memory, 3)


def test_a_torn_last_line_waits_for_its_end(memory, path):
    session = Session().ask().ask()
    whole = session.text
    path.write_bytes(whole[:-40])
    take(memory, path)
    path.write_bytes(whole)
    take(memory, path, ended=True)
    sound(memory, 2)
    assert any("bounded queue of 14" in text for text in stored(memory).values())


@pytest.mark.parametrize(
    "content", [b"", b"\x00\x01\xff" * 50, b"# Notes\n\nNo transcript.\n", b'{"a": 1}\n']
)
def test_what_is_no_transcript_is_told_and_stores_nothing(memory, tmp_path, content):
    path = tmp_path / "other.jsonl"
    path.write_bytes(content)
    done = take(memory, path)
    assert bool(done.failed) == bool(content)
    assert done.exchanges == 0


def test_what_cannot_be_opened_is_told(memory, tmp_path):
    assert "no such file" in take(memory, tmp_path / "none.jsonl").failed
    assert take(memory, tmp_path).failed == "not a regular file"
    os.mkfifo(tmp_path / "pipe.jsonl")
    assert take(memory, tmp_path / "pipe.jsonl").failed == "not a regular file"


def test_what_the_limits_leave_is_taken_in_by_the_next_capture(memory, path, monkeypatch):
    monkeypatch.setattr(transcripts, "BATCH", 2)
    monkeypatch.setattr(transcripts, "PACKET", 1)
    session = Session()
    for _ in range(7):
        session.ask()
    path.write_bytes(session.text)
    first = take(memory, path, ended=True, limits=Limits(bytes=1))
    assert 0 < first.exchanges < 7
    assert not first.complete
    second = take(memory, path, ended=True)
    assert second.complete
    assert first.new + second.new == 7
    sound(memory, 7)


def test_captures_at_once_store_each_exchange_once(home, path, monkeypatch):
    monkeypatch.setattr(transcripts, "BATCH", 2)
    monkeypatch.setattr(transcripts, "PACKET", 1)
    session = Session()
    for _ in range(12):
        session.ask()
    path.write_bytes(session.text)
    results: list[CaptureResult] = []

    def work() -> None:
        with opened(home) as memory:
            results.append(take(memory, path, ended=True))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with opened(home) as memory:
        assert sum(done.new for done in results) == 12
        sound(memory, 12)


def test_a_memory_that_was_archived_does_not_come_back_with_its_file(memory, path, monkeypatch):
    path.write_bytes(Session().ask().ask().text)
    done = take(memory, path, ended=True)
    memory.inbox.index_pending()
    memory.forget([done.ids[0]])
    memory.catalog.transcripts.forget([str(path)])
    again = take(memory, path, ended=True)
    assert (again.archived, again.unchanged) == (1, 1)
    sound(memory, 1)


def test_an_exchange_belongs_to_the_project_it_was_held_in(memory, home, path):
    project = home / "repos" / "tideline"
    project.mkdir(parents=True)
    (project / ".ragmem.toml").write_text("")
    path.write_bytes(Session(cwd=str(project)).ask().text)
    done = take(memory, path, ended=True)
    assert done.project.startswith("tideline-")
    assert memory.projects.at(project)[0] == done.project


@pytest.mark.parametrize(
    ("folder", "inside", "name"),
    [
        (
            "C:\\Users\\sam\\repos\\tideline",
            "c:\\Users\\sam\\repos\\tideline\\src",
            "c--users-sam-repos-tideline-",
        ),
        ("D:/work/tideline", "D:/work/tideline/src", "d--work-tideline-"),
        ("\\\\server\\share", "\\\\server\\share\\src", "server-share-"),
    ],
)
def test_a_folder_of_windows_is_a_project(memory, path, folder, inside, name):
    session = Session(cwd=folder).ask()
    session.cwd = inside
    path.write_bytes(session.ask().text)
    project = take(memory, path, ended=True).project
    assert project.startswith(name)
    assert {item.scope.project for item in memory.catalog.memories.each()} == {project}


@pytest.mark.parametrize("folder", ["C:\\", "C:\\Users\\sam", "C:", "tideline"])
def test_a_drive_and_a_home_of_windows_are_no_project(memory, path, folder):
    path.write_bytes(Session(cwd=folder).ask().text)
    assert take(memory, path, ended=True).project == USER


def test_a_folder_of_windows_is_the_repository_of_the_same_place_below_this_home(memory, home, path):
    _repository(home / "repos" / "tideline")
    path.write_bytes(Session(cwd="C:\\Users\\sam\\repos\\tideline").ask().text)
    project = take(memory, path, ended=True).project
    assert memory.projects.at(home / "repos" / "tideline")[0] == project


def _repository(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "Begin"]):
        identity = ["-c", "user.name=Sam", "-c", "user.email=sam@example.org"]
        subprocess.run(["git", "-C", str(folder), *identity, *words], check=True)


@pytest.mark.parametrize("is_repository", [False, True])
def test_a_folder_that_is_there_again_is_the_project_of_what_was_held_in_it(
    memory, path, tmp_path, is_repository
):
    folder = tmp_path / "srv" / "tide-line"
    session = Session(cwd=str(folder)).ask()
    session.cwd = str(folder / "src")
    path.write_bytes(session.ask().text)
    project = take(memory, path, ended=True).project
    assert {item.scope.project for item in memory.catalog.memories.each()} == {project}
    assert memory.projects.at(folder)[0] == project
    if is_repository:
        _repository(folder)
    (folder / "notes").mkdir(parents=True)
    (folder / ".ragmem.toml").write_text("")
    assert memory.projects.at(folder / "src")[0] == project
    note = folder / "notes" / "queue.md"
    note.write_text("# Queue\n\nWe bound the queue because the memory ran out.\n")
    handed = memory.ingestion.draft([note], DraftOptions())
    memory.ingest(handed.drafts)
    remember_projects(memory.catalog, handed.projects)
    assert {item.scope.project for item in memory.catalog.memories.each()} == {project}
    moved = folder.rename(tmp_path / "elsewhere")
    assert (memory.projects.at(moved)[:1] == (project,)) is is_repository


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_however_a_file_grows_and_is_read_its_exchanges_are_there_once(tmp_path_factory, data):
    home = tmp_path_factory.mktemp("grown") / "home"
    home.mkdir()
    session = Session()
    for _ in range(data.draw(st.integers(1, 5), "exchanges")):
        session.ask()
    whole = session.text
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=4), "cuts"))
    path = home / "s.jsonl"
    with opened(home) as memory:
        for cut in [*cuts, len(whole)]:
            path.write_bytes(whole[:cut])
            take(memory, path, ended=data.draw(st.booleans(), "ended"))
        take(memory, path, ended=True)
        sound(memory, session.exchanges)


KILLED = """
import os
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path
from ragmem.api.memory import Ragmem
from ragmem.services.transcripts import transcripts

transcripts.BATCH = 2
transcripts.PACKET = 1
left = int(sys.argv[2])
from ragmem.storage.activity.transcripts import Transcripts

def counted(self, transcript, *, keep=Transcripts.keep):
    global left
    left -= 1
    if left == 0 and sys.argv[3] == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    keep(self, transcript)
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)

Transcripts.keep = counted
with Ragmem.open() as memory:
    transcripts.capture(memory.catalog, memory.settings, Path(sys.argv[1]), home=memory.home,
                        now=datetime.now(tz=UTC), ended=True)
"""


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_kill_between_memories_and_position_loses_and_doubles_nothing(home, path, moment):
    session = Session()
    for _ in range(6):
        session.ask()
    path.write_bytes(session.text)
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "RAGMEM_HOME": str(home.parent / "ragmem"),
    } | FAKE
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(path), "2", moment], env=environ, cwd=home, check=False, timeout=60
    )
    assert killed.returncode == -signal.SIGKILL
    with opened(home) as memory:
        assert len(stored(memory)) == 2
        take(memory, path, ended=True)
        sound(memory, 6)


def test_a_file_that_grows_while_it_is_read_is_read_to_its_end_in_time(memory, path, monkeypatch):
    monkeypatch.setattr(transcripts, "BATCH", 1)
    monkeypatch.setattr(transcripts, "PACKET", 1)
    session = Session().ask().ask()
    path.write_bytes(session.text)
    keep = type(memory.catalog.transcripts).keep
    grown = []

    def grow(self, transcript):
        keep(self, transcript)
        if not grown:
            grown.append(session.ask())
            path.write_bytes(session.text)

    monkeypatch.setattr(type(memory.catalog.transcripts), "keep", grow)
    take(memory, path, ended=True)
    take(memory, path, ended=True)
    sound(memory, 3)


def test_a_small_addition_costs_a_warm_process_few_milliseconds(memory, path):
    session = Session()
    for _ in range(40):
        session.ask()
    path.write_bytes(session.text)
    take(memory, path)
    spent = []
    for _ in range(5):
        path.write_bytes(session.ask().text)
        began = time.process_time()
        take(memory, path)
        spent.append(time.process_time() - began)
    assert min(spent) < 0.05


def test_memories_outlive_their_transcript(memory, path, home):
    path.write_bytes(Session().ask().text)
    take(memory, path, ended=True)
    shutil.rmtree(home / ".claude")
    from ragmem.services.lifecycle.upkeep import find_missing_memories

    assert find_missing_memories(memory.catalog, memory.settings, home=home) == set()


def test_what_somebody_wants_in_passing_protects_no_exchange_and_a_decision_does(memory, path):
    session = Session()
    session.ask("I want to see all options, and we need to keep it short.", "Here are all of them.")
    session.ask("From now on we always rebase.", "ADR-12: rebasing is accepted, no merge commits on main.")
    path.write_bytes(session.text)
    take(memory, path, ended=True)
    protected = {one.metadata["asked"][:6]: one.protected for one in memory.catalog.memories.each()}
    assert protected == {"I want": False, "From n": True}
