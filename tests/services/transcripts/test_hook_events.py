"""What hooks have left becomes memories: each once, whoever is killed, and nothing absurd is followed."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from claude_sessions import Session

from ragmem.api.memory import Ragmem
from ragmem.hooks import spool
from ragmem.inbox import ASIDE
from ragmem.services.transcripts import hook_events
from tests.readers.transcript_files import opencode

FAKE = {"RAGMEM_MODELS_BACKEND": "fake", "RAGMEM_STORE_BACKEND": "fake"}

PRD = """---
task: Queue with an upper bound
phase: complete
---
# Queue

We decided to bound the harbour queue at 700 entries because the unbounded one exhausted the memory.
Root cause: no limit in queue.py. The fix rejects what comes after that with status 429.
"""

REFLECTION = {
    "timestamp": "2026-05-01T10:00:00Z",
    "task_description": "Bounded the queue",
    "reflection_q1": "Should have measured the memory before choosing the limit of 700 entries in queue.py.",
    "reflection_q2": "A smarter way: derive the limit from the free memory at start-up.",
}


class Home:
    """A person's home with what hooks leave, and the memory that takes it up."""

    def __init__(self, folder):
        self.home = folder / "person"
        self.project = self.home / "work"
        self.project.mkdir(parents=True)
        self.ragmem = folder / "ragmem"
        self.data = self.ragmem / "data"
        self.environ = {**FAKE, "RAGMEM_HOME": str(self.ragmem)}

    def session(self, name="s1"):
        path = self.home / ".claude" / "projects" / "-work" / f"{name}.jsonl"
        return Session(path, name=name, cwd=self.project)

    def leave(self, event="session-end", *, at=None, **fields):
        moment = time.time() if at is None else at
        said = {"assistant": "claude-code", "event": event, "session": "s1", "cwd": str(self.project)}
        spool.put(self.data, {**said, "at": int(moment * 1e9), **fields})

    def open(self):
        return Ragmem.open(environ=self.environ, home=self.home, cwd=self.home)

    def take(self, **options):
        with self.open() as memory:
            return memory.inbox.drain_events(**options)

    def texts(self, source=None):
        with self.open() as memory:
            found = memory.catalog.memories.get(memory.catalog.memories.ids())
            return {one.id: one.text for one in found.values() if source in (None, one.source)}


@pytest.fixture
def home(tmp_path):
    """A home with the shipped sources, where nothing was ever stored."""
    return Home(tmp_path)


def decided(number):
    told = (
        f"We decided to bound the queue of harbour service {number} at {number * 70} entries, because the "
        f"unbounded one exhausted the memory. Root cause: no limit in queue_{number}.py."
    )
    return f"Why does harbour service {number} fail?", told


def test_a_session_that_ended_is_remembered_once(home):
    session = home.session().turn(*decided(1)).turn(*decided(2))
    home.leave(transcript=str(session.path), reason="other")

    taken = home.take()

    assert (taken.events, taken.exchanges, taken.left) == (1, 2, [])
    assert spool.is_empty(home.data)
    home.leave("stop", transcript=str(session.path))
    home.leave(transcript=str(session.path), at=time.time() + 1)
    assert home.take().exchanges == 0
    assert len(home.texts("transcripts")) == 2


def test_a_session_is_remembered_while_it_goes_on(home):
    session = home.session().turn(*decided(1))
    home.leave("stop", transcript=str(session.path))
    home.take()
    session.turn(*decided(2))
    home.leave("stop", transcript=str(session.path))
    home.leave("pre-compact", transcript=str(session.path), trigger="auto")
    session.turn(*decided(3))
    home.leave(transcript=str(session.path))

    taken = home.take()

    assert taken.events == 3
    assert all(any(f"queue_{number}.py" in text for text in home.texts().values()) for number in (1, 2, 3))


def test_the_summary_of_a_compaction_is_a_memory_of_its_session(home):
    session = home.session().turn(*decided(1))
    summary = "The harbour queue is bounded at 700 entries, and what comes after that is rejected. " * 4
    record = {"type": "user", "uuid": "u9", "sessionId": "s1", "isCompactSummary": True, "cwd": session.cwd}
    with session.path.open("a") as file:
        file.write(json.dumps({**record, "message": {"role": "user", "content": summary}}) + "\n")
    home.leave("post-compact", transcript=str(session.path), trigger="auto")

    home.take()

    assert summary.strip() in [text.strip() for text in home.texts("transcripts").values()]


def test_the_sessions_in_a_database_are_read_when_a_turn_ends(home):
    path = home.home / ".local" / "share" / "opencode" / "opencode.db"
    path.parent.mkdir(parents=True)
    asked, answered = decided(1)
    messages = [
        {"id": "m1", "session": "ses_a", "role": "user", "at": 1, "parts": [{"type": "text", "text": asked}]},
        {
            "id": "m2",
            "session": "ses_a",
            "role": "assistant",
            "at": 2,
            "parts": [{"type": "text", "text": answered}],
        },
    ]
    opencode(path, [{"id": "ses_a", "at": 1}], messages)
    home.leave("stop", assistant="opencode", session="ses_a", transcript=str(path))

    taken = home.take()

    assert (taken.exchanges, taken.problems) == (1, [])
    assert any("queue_1.py" in text for text in home.texts("transcripts").values())


def test_a_transcript_that_lags_is_waited_for_and_given_up_after_an_hour(home):
    session = home.session()
    home.leave(transcript=str(session.path))
    assert len(home.take().left) == 1

    session.turn(*decided(1))
    assert home.take().exchanges == 1

    home.leave(transcript=str(session.path.with_name("never.jsonl")), at=time.time() - 4000)
    assert home.take().left == []
    assert spool.is_empty(home.data)


def test_what_is_no_transcript_of_the_person_is_not_followed(home, tmp_path):
    session = home.session().turn(*decided(1))
    named = tmp_path / "secrets.txt"
    named.write_text("root:x:0:0")
    os.mkfifo(tmp_path / "pipe.jsonl")
    foreign = tmp_path / "foreign.jsonl"
    foreign.write_text('{"some": "records"}\n')
    own = home.data / "own.jsonl"
    own.parent.mkdir(parents=True)
    own.write_bytes(session.path.read_bytes())
    (tmp_path / "circle.jsonl").symlink_to(tmp_path / "circle.jsonl")
    paths = [
        named,
        tmp_path / "pipe.jsonl",
        foreign,
        own,
        tmp_path,
        tmp_path / "circle.jsonl",
        "relative.jsonl",
    ]
    for number, path in enumerate(paths):
        home.leave(transcript=str(path), session=f"s{number}", at=time.time() - 4000)

    taken = home.take()

    assert taken.events == len(paths)
    assert len(taken.problems) == len(paths)
    assert home.texts() == {}


def test_cursor_s_transcript_is_found_by_the_conversation_alone(home):
    folder = home.home / ".cursor" / "projects" / "work" / "agent-transcripts" / "c-1"
    folder.mkdir(parents=True)
    said = "We decided to bound the harbour queue at 700 entries because the memory was exhausted."
    lines = [
        {"role": "user", "message": {"content": [{"type": "text", "text": "Why does the queue fail?"}]}},
        {"role": "assistant", "message": {"content": [{"type": "text", "text": said}]}},
    ]
    (folder / "c-1.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    home.leave(assistant="cursor", session="c-1")
    home.leave(assistant="cursor", session="../../../etc", at=time.time() + 1)

    taken = home.take()

    assert (taken.events, taken.exchanges) == (2, 1)


def test_a_finished_document_gets_the_memory_that_a_seed_gives_it(home):
    document = home.home / ".claude" / "MEMORY" / "WORK" / "queue" / "PRD.md"
    document.parent.mkdir(parents=True)
    document.write_text(PRD)
    home.leave("file-written", file=str(document))

    taken = home.take()

    assert list(home.texts("prds")) == taken.ids
    with home.open() as memory:
        memory.seed(sources=["prds"])
    assert list(home.texts()) == taken.ids


def test_a_finished_document_elsewhere_belongs_to_its_project_and_another_file_to_nobody(home):
    (home.project / ".git").mkdir()
    for name in ("PRD.md", "notes.md", "events.jsonl"):
        (home.project / name).write_text(PRD if name.endswith(".md") else json.dumps(REFLECTION))
        home.leave("file-written", file=str(home.project / name))
    home.leave("file-written", file=str(home.project / "gone.md"))

    taken = home.take()

    assert (taken.events, len(taken.ids), taken.problems) == (4, 1, [])


def test_reflections_and_the_newest_summary_are_taken_in_while_they_are_fresh(home):
    reflections = (
        home.home / ".claude" / "MEMORY" / "LEARNING" / "REFLECTIONS" / "algorithm-reflections.jsonl"
    )
    sessions = home.home / ".claude" / "History" / "Sessions" / "2026-05"
    for folder in (reflections.parent, sessions):
        folder.mkdir(parents=True)
    reflections.write_text(json.dumps(REFLECTION) + "\n")
    now = time.time()
    for name, age in (("old.md", 7200), ("first.md", 300), ("last.md", 20)):
        (sessions / name).write_text(f"# {name}\n\n" + PRD.partition("# Queue")[2])
        os.utime(sessions / name, (now - age, now - age))
    session = home.session().turn(*decided(1))

    home.leave("stop", transcript=str(session.path), at=now)
    home.take()
    assert (len(home.texts("reflections")), len(home.texts("sessions"))) == (1, 0)

    home.leave(transcript=str(session.path), at=now)
    home.take()
    assert len(home.texts("reflections")) == 1
    (summary,) = home.texts("sessions").values()
    assert "harbour queue" in summary

    reflections.write_text(json.dumps(REFLECTION | {"task_description": "Something else"}) + "\n")
    os.utime(reflections, (now - 500, now - 500))
    home.leave("stop", transcript=str(session.path), at=now)
    home.take()
    assert not any("Something else" in text for text in home.texts("reflections").values())


def test_what_is_no_event_is_set_aside_and_blocks_nothing(home):
    session = home.session().turn(*decided(1))
    home.leave(transcript=str(session.path))
    for name, content in (("torn.event", b'{"event":"st'), ("strange.event", b'{"event":"party","at":1}')):
        Path(spool.folder(home.data), name).write_bytes(content)

    taken = home.take()

    assert (taken.events, taken.exchanges, taken.aside) == (1, 1, 2)
    assert len(list(Path(spool.folder(home.data), ASIDE).iterdir())) == 2
    assert home.take().aside == 0


@pytest.mark.parametrize("field", ["transcript", "file"])
def test_a_path_that_the_system_refuses_blocks_nothing(field, home):
    session = home.session().turn(*decided(1))
    home.leave("stop", session="s0", **{field: f"/{'a' * 300}/PRD.md"}, at=time.time() - 9)
    home.leave(transcript=str(session.path))

    assert home.take().exchanges == 1


def test_an_event_that_breaks_its_taking_up_is_set_aside_and_blocks_nothing(home, monkeypatch):
    bad, good = home.session("bad").turn(*decided(1)), home.session("good").turn(*decided(2))
    home.leave(transcript=str(bad.path), session="bad", at=time.time() - 9)
    home.leave(transcript=str(good.path), session="good")
    capture = hook_events.capture

    def broken(catalog, settings, path, **options):
        if path.stem == "bad":
            raise KeyError("a record that nobody has thought of")
        return capture(catalog, settings, path, **options)

    monkeypatch.setattr(hook_events, "capture", broken)

    taken = home.take()

    assert (taken.events, taken.exchanges, taken.aside, taken.left) == (1, 1, 1, [])


def test_an_end_before_the_file_is_removed_doubles_nothing(home, monkeypatch):
    session = home.session().turn(*decided(1))
    home.leave(transcript=str(session.path))
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            home.take()
    before = home.texts()

    taken = home.take()

    assert (taken.events, taken.exchanges) == (1, 0)
    assert home.texts() == before


def test_a_drain_takes_a_little_at_a_time_and_all_in_the_end(home):
    for name in "abcdefgh":
        session = home.session(name).turn(*decided(ord(name)))
        home.leave(transcript=str(session.path), session=name)

    first = home.take(seconds=0.0)
    rest = home.take()

    assert len(first.left) > 0
    assert first.events + rest.events == 8
    assert len(home.texts()) == 8


@pytest.mark.slow
def test_killed_drains_lose_nothing_and_double_nothing(home):
    for name in "abcd":
        session = home.session(name)
        for number in range(4):
            session.turn(*decided(100 * ord(name) + number))
        home.leave(transcript=str(session.path), session=name)
    environ = {**os.environ, **home.environ, "HOME": str(home.home)}
    line = [sys.executable, "-m", "ragmem", "ingest", "--drain", "--quiet"]
    for seconds in (0.6, 1.0):
        with subprocess.Popen(line, env=environ, stdout=subprocess.DEVNULL) as process:
            time.sleep(seconds)
            process.send_signal(signal.SIGKILL)

    both = [subprocess.Popen(line, env=environ, stdout=subprocess.DEVNULL) for _ in range(2)]

    assert [process.wait(timeout=60) for process in both] == [0, 0]
    assert spool.is_empty(home.data)
    texts = home.texts().values()
    assert len(texts) == len(set(texts)) == 16


def test_doctor_tells_of_events_that_nobody_could_read_and_of_hooks_that_failed(home):
    folder = Path(spool.folder(home.data))
    folder.mkdir(parents=True)
    (folder / "torn.event").write_bytes(b'{"event":"st')
    home.take()
    home.leave(transcript=str(home.session().path))
    state = home.ragmem / "state"
    failed = "claude-code Stop s1 failed: OSError No space left on device"
    moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    with (state / "hooks.log").open("a") as log:
        log.write("2020-01-01T00:00:00Z claude-code Stop s0 failed: OSError long ago\n")
        log.write(f"{moment} {failed}\n")
        log.write(f"{moment} claude-code Stop s1 kept 3 ms\n")
    (state / "hooks.missed").write_text(f"3 {int(time.time())} 0\n")

    told = subprocess.run(
        [sys.executable, "-m", "ragmem", "doctor", "--json"],
        capture_output=True,
        check=False,
        env={**os.environ, **home.environ, "HOME": str(home.home)},
    )

    found = [one for one in json.loads(told.stdout)["checks"] if one["name"] == "hook events"]
    assert [(one["status"], one["detail"].partition(" since 2")[0]) for one in found] == [
        ("warning", "a rejected event: it is not JSON"),
        ("ok", "1 waits"),
        ("warning", "hooks do not query for 5 minutes, after too many missed deadlines"),
        ("warning", f"1 hook failed partly since yesterday; the last: {failed}"),
    ]
