"""A text that a rule, the database or the model rejects stops no other, is named, and gives exit code 3."""

import errno
import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transcript_sessions import Session

from ragmem import inbox
from ragmem.api.memory import Ragmem
from ragmem.backends.fake import FakeEmbedder, FakeStore
from ragmem.domain.model import State
from ragmem.errors import BackendError, RejectionError, StorageError
from ragmem.inbox import put
from ragmem.inbox.buffer import Request, accept
from ragmem.readers.failures import isolate_failures
from ragmem.services.ingestion import ingest as ingesting
from ragmem.services.ingestion.options import DraftOptions
from ragmem.services.processes.refusals import Refusal
from ragmem.services.seeding.report import SeedReport

FAKE = {"RAGMEM_MODELS_BACKEND": "fake", "RAGMEM_STORE_BACKEND": "fake"}
WORDS = ("harbour", "poisoned", "lantern", "quarry", "meadow")
GOOD = [word for word in WORDS if word != "poisoned"]
TRIGGER = (
    "CREATE TRIGGER reject BEFORE INSERT ON memories WHEN instr(NEW.text, 'poisoned')"
    " BEGIN SELECT RAISE(ABORT, 'this one is rejected'); END"
)


def text(word: str) -> str:
    return f"We decided that the {word} crane is painted red because the old paint of {word} came off."


class Place:
    """A person's home with notes, a transcript and writes of which one is rejected."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.ragmem = root / "ragmem"
        self.notes = root / "notes"
        self.notes.mkdir()
        for word in WORDS:
            (self.notes / f"{word}.md").write_text(f"# {word}\n\n{text(word)}\n")
        session = Session("s-1")
        # The last one: what follows an exchange may repeat words of it.
        for word in (*GOOD, "poisoned"):
            session.ask(f"Why does the {word} crane fail?", text(word))
        transcripts = self.home / ".claude" / "projects" / "-work"
        transcripts.mkdir(parents=True)
        (transcripts / "s-1.jsonl").write_bytes(session.text)
        os.utime(transcripts / "s-1.jsonl", (1_700_000_000, 1_700_000_000))
        self.sources = self.ragmem / "config" / "sources.toml"
        self.sources.parent.mkdir(parents=True)
        self.sources.write_text(
            f'[sources.wiki]\nglob = "{self.notes}/*.md"\n'
            f'[sources.transcripts]\nglob = "{transcripts}/*.jsonl"\nreader = "transcripts"\n'
        )

    def opened(self) -> Ragmem:
        environ = {"RAGMEM_HOME": str(self.ragmem), **FAKE}
        return Ragmem.open(environ=environ, home=self.home, cwd=self.home, sources_file=self.sources)

    def reject(self) -> None:
        """Let the database reject a text from now on."""
        with self.opened() as memory:
            memory.catalog.prepare()
        with closing(sqlite3.connect(self.ragmem / "data" / "memory.db")) as connection:
            connection.execute(TRIGGER)

    def accept(self) -> None:
        with closing(sqlite3.connect(self.ragmem / "data" / "memory.db")) as connection:
            connection.execute("DROP TRIGGER reject")

    def wait(self) -> None:
        """Put a write of each word into the inbox."""
        for number, word in enumerate(WORDS):
            put(self.ragmem / "data", text(word), folder=self.home, at_ns=1_700_000_000_000_000_000 + number)

    def words(self, *states: State) -> list[str]:
        """Return the words of the memories, in these states."""
        with self.opened() as memory:
            kept = [one for one in memory.catalog.memories.each() if one.state in states or not states]
        found = " ".join(one.text for one in kept)
        return [word for word in WORDS if word in found]

    @property
    def environ(self) -> dict[str, str]:
        return {"RAGMEM_HOME": str(self.ragmem), "HOME": str(self.home)}


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


def failed(report: SeedReport) -> list[tuple[str, str]]:
    return [(Path(one.place).name, one.reason) for one in report.problems if one.level == "failed"]


@given(st.sets(st.integers(0, 40)), st.integers(0, 40))
def test_each_good_item_is_worked_on_once_and_in_order_and_each_bad_one_is_named(bad, count):
    done = []

    def work(items):
        if rejected := bad.intersection(items):
            raise ValueError(f"rejected: {min(rejected)}")
        done.extend(items)

    items = list(range(count))
    assert isolate_failures(items, work) == [
        (one, f"ValueError: rejected: {one}") for one in items if one in bad
    ]
    assert done == [one for one in items if one not in bad]


ENDING = [BackendError("down"), StorageError("full"), MemoryError(), KeyboardInterrupt()]


@pytest.mark.parametrize("error", ENDING, ids=lambda one: type(one).__name__)
def test_what_is_no_fault_of_a_text_ends_the_work(error):
    def work(items):
        if 3 in items:
            raise error

    with pytest.raises(type(error)):
        isolate_failures(list(range(8)), work)


def test_a_folder_is_handed_in_but_for_the_text_that_the_database_rejects(place):
    place.reject()
    rejected: list[Refusal] = []
    with place.opened() as memory:
        drafts = memory.ingestion.draft([place.notes], DraftOptions()).drafts
        stored = memory.ingest(drafts, refusals=rejected)
        assert {one.memory.state for one in stored} == {State.INDEXED}
    assert place.words(State.INDEXED) == GOOD
    assert [Path(one.uri).name for one in rejected] == ["poisoned.md"]
    assert "this one is rejected" in rejected[0].message


def test_without_a_list_a_rejected_text_is_an_error_once_the_others_are_stored(place):
    place.reject()
    with place.opened() as memory:
        drafts = memory.ingestion.draft([place.notes], DraftOptions()).drafts
        with pytest.raises(RejectionError, match=r"poisoned\.md"):
            memory.ingest(drafts)
    assert place.words(State.INDEXED) == GOOD


def test_a_text_on_which_a_rule_fails_stops_no_other(place, monkeypatch):
    real = ingesting.classify_draft

    def broken(draft, **named):
        if "poisoned" in draft.text:
            raise IndexError("out of range")
        return real(draft, **named)

    monkeypatch.setattr(ingesting, "classify_draft", broken)
    rejected: list[Refusal] = []
    with place.opened() as memory:
        memory.ingest(memory.ingestion.draft([place.notes], DraftOptions()).drafts, refusals=rejected)
    assert place.words() == GOOD
    assert [one.reason for one in rejected] == ["IndexError: out of range"]


def test_a_seed_stores_the_files_but_for_the_one_that_the_database_rejects_and_tries_that_again(place):
    place.reject()
    with place.opened() as memory:
        report = memory.seed(sources=["wiki"])
        assert report.failed == 1
        assert [name for name, _ in failed(report)] == ["poisoned.md"]
        (tally,) = report.tallies
        assert (tally.new, tally.found, tally.failed) == (4, 4, 1)
    assert place.words(State.INDEXED) == GOOD
    with place.opened() as memory:
        again = memory.seed(sources=["wiki"])
        assert [name for name, _ in failed(again)] == ["poisoned.md"]
        assert again.tallies[0].unchanged == 4
    place.accept()
    with place.opened() as memory:
        assert memory.seed(sources=["wiki"]).tallies[0].new == 1
    assert place.words(State.INDEXED) == list(WORDS)


def test_a_transcript_is_taken_in_but_for_the_exchange_that_the_database_rejects(place):
    place.reject()
    with place.opened() as memory:
        report = memory.seed(sources=["transcripts"])
        assert report.failed == 1
        assert "this one is rejected" in failed(report)[0][1]
        assert memory.seed(sources=["transcripts"]).failed == 0
    assert place.words(State.INDEXED) == GOOD


def test_another_release_reads_a_transcript_anew_of_which_an_exchange_was_rejected(place, monkeypatch):
    place.reject()
    with place.opened() as memory:
        memory.seed(sources=["transcripts"])
    place.accept()
    with place.opened() as memory:
        assert memory.seed(sources=["transcripts"]).tallies[0].new == 0
    for module in ("transcripts", "writer"):
        monkeypatch.setattr(f"ragmem.services.transcripts.{module}.REJECTED", "!another release")
    with place.opened() as memory:
        assert memory.seed(sources=["transcripts"]).tallies[0].new == 1
    assert place.words() == list(WORDS)


def test_a_transcript_is_taken_in_but_for_the_exchange_on_which_a_rule_fails(place, monkeypatch):
    from ragmem.services.transcripts import transcripts

    real = transcripts.classify_draft

    def broken(draft, **named):
        if "poisoned" in draft.text:
            raise IndexError("out of range")
        return real(draft, **named)

    monkeypatch.setattr(transcripts, "classify_draft", broken)
    with place.opened() as memory:
        report = memory.seed(sources=["transcripts"])
        assert report.failed == 1
        assert "IndexError: out of range" in failed(report)[0][1]
    assert place.words() == GOOD


def test_the_inbox_is_taken_in_but_for_the_write_that_the_database_rejects(place):
    place.reject()
    place.wait()
    with place.opened() as memory:
        done = memory.inbox.drain()
        assert (len(done.ids), done.aside, done.left) == (4, 1, 0)
        [reason] = done.rejected.values()
        assert "this one is rejected" in reason
        [(path, _)] = memory.inbox.status().aside
    assert place.words() == GOOD
    assert "poisoned" in path.read_text()


@pytest.fixture
def embedder(monkeypatch):
    """Let the embedder fail on one text, as a tokenizer with a bug does; return how to mend it."""
    real = FakeEmbedder.embed

    def broken(self, texts, *, role):
        if any("poisoned" in one for one in texts):
            raise OverflowError("too many\ntokens")
        return real(self, texts, role=role)

    monkeypatch.setattr(FakeEmbedder, "embed", broken)
    return lambda: monkeypatch.setattr(FakeEmbedder, "embed", real)


def test_a_folder_gets_its_vectors_but_for_the_text_that_the_model_rejects(place, embedder):
    rejected: list[Refusal] = []
    with place.opened() as memory:
        drafts = memory.ingestion.draft([place.notes], DraftOptions()).drafts
        stored = memory.ingest(drafts, refusals=rejected)
        assert len(stored) == 5
        assert [one.note for one in stored if one.note] == [one.message for one in rejected]
    assert place.words(State.INDEXED) == GOOD
    assert place.words(State.PENDING) == ["poisoned"]
    assert "is stored" in rejected[0].message
    assert "OverflowError: too many tokens" in rejected[0].message
    embedder()
    with place.opened() as memory:
        assert memory.inbox.index_pending() == ""
    assert place.words(State.PENDING) == []


@pytest.mark.parametrize("source", ["wiki", "transcripts"])
def test_a_seed_makes_the_vectors_but_for_the_text_that_the_model_rejects(place, embedder, source):
    for _ in range(2):
        with place.opened() as memory:
            report = memory.seed(sources=[source])
            assert report.failed == 1
            assert "OverflowError: too many tokens" in failed(report)[0][1]
            assert not report.note
        assert place.words(State.INDEXED) == GOOD
        assert "poisoned" in place.words(State.PENDING)
    embedder()
    with place.opened() as memory:
        assert memory.seed(sources=[source]).failed == 0
    assert place.words(State.INDEXED) == list(WORDS)


def test_a_text_is_told_to_be_stored_where_only_its_vectors_cannot_be_written(place, monkeypatch):
    def full(*_, **__):
        raise StorageError('cannot write the vector files in "x": no space left on device')

    monkeypatch.setattr(FakeStore, "put", full)
    with place.opened() as memory:
        stored = memory.ingest(memory.ingestion.draft([place.notes], DraftOptions()).drafts)
        assert len(stored) == 5
        assert all("no space left" in one.note for one in stored)
    assert place.words(State.PENDING) == list(WORDS)


def test_what_is_stored_before_the_disk_fills_up_is_told_with_the_error(place, monkeypatch):
    monkeypatch.setattr(ingesting, "BATCH", 2)
    real, calls = ingesting.collect_names, []

    def full(catalog, items):
        calls.append(items)
        if len(calls) == 2:
            raise StorageError('cannot write "x": database or disk is full')
        return real(catalog, items)

    monkeypatch.setattr(ingesting, "collect_names", full)
    with place.opened() as memory, pytest.raises(StorageError, match="2 of 5 texts were stored before"):
        memory.ingest(memory.ingestion.draft([place.notes], DraftOptions()).drafts)
    assert len(place.words()) == 2


def test_a_write_that_is_kept_but_not_synced_is_not_told_to_be_lost(place, monkeypatch):
    place.wait()

    def failing(_):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(inbox, "sync", failing)
    with pytest.raises(StorageError, match="the text is there"):
        put(place.ragmem / "data", text("glacier"), folder=place.home, at_ns=1_700_000_000_000_000_000)
    monkeypatch.undo()
    with place.opened() as memory:
        memory.inbox.drain()
        assert "glacier" in " ".join(one.text for one in memory.catalog.memories.each())


def test_a_write_that_is_not_kept_is_told_to_be_lost(place, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(inbox, "_name", full)
    with pytest.raises(StorageError, match=r"cannot write in .*: no space left on device"):
        put(place.ragmem / "data", text("glacier"), folder=place.home, at_ns=1_700_000_000_000_000_000)


def test_what_was_accepted_before_the_disk_filled_up_is_told_with_the_error(place, monkeypatch):
    real, calls = inbox._name, []

    def full(*given):
        calls.append(given)
        if len(calls) == 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(*given)

    monkeypatch.setattr(inbox, "_name", full)
    request = Request(texts=[text(word) for word in WORDS], as_json=True)
    environ = {"RAGMEM_HOME": str(place.ragmem)}
    with pytest.raises(StorageError, match="2 of 5 texts were accepted before"):
        accept(request, environ=environ, home=str(place.home), cwd=str(place.home))


def test_the_command_names_what_the_database_rejects_with_exit_code_3(place, ragmem):
    place.reject()
    done = ragmem("ingest", str(place.notes), "--json", **place.environ)
    assert done.returncode == 3, done.stderr
    told = json.loads(done.stdout)
    assert len(told["memories"]) == 4
    assert len(told["problems"]) == 1
    assert "poisoned.md" in told["problems"][0]
    done = ragmem("ingest", str(place.notes), **place.environ)
    assert done.returncode == 3
    assert "\nfailed: cannot store " in done.stderr
    done = ragmem("seed", "--source", "wiki", "--json", **place.environ)
    assert done.returncode == 3
    told = json.loads(done.stdout)
    assert [(one["failed"], one["found"]) for one in told["sources"]] == [(1, 4)]
    assert [Path(one["place"]).name for one in told["problems"]] == ["poisoned.md"]
    place.wait()
    done = ragmem("ingest", "--drain", "--json", **place.environ)
    assert done.returncode == 3
    told = json.loads(done.stdout)
    assert (told["aside"], told["left"]) == (1, 0)
    assert "this one is rejected" in "".join(told["rejected"].values())


PARSER = """
import sys
from ragmem.services.code import on_disk as code_on_disk
real = code_on_disk.read_code
def broken(path, text):
    if "bad" in path:
        raise KeyError("scope")
    return real(path, text)
code_on_disk.read_code = broken
from ragmem.__main__ import run
sys.exit(run(sys.argv[1:]))
"""


def with_broken_parser(place: Place, *arguments: str):
    return subprocess.run(
        [sys.executable, "-c", PARSER, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, **FAKE, **place.environ},
    )


@pytest.fixture
def code(tmp_path):
    root = tmp_path / "code"
    (root / ".git").mkdir(parents=True)
    (root / "bad.py").write_text("x = 1\n")
    (root / "good.py").write_text("def f():\n    return 1\n")
    return root


def test_code_with_one_file_that_fails_is_stored_but_for_it_with_exit_code_3(place, code):
    done = with_broken_parser(place, "ingest", "--code", str(code), "--json")
    assert done.returncode == 3, done.stderr
    (report,) = json.loads(done.stdout)["code"]
    assert report["new"] == 1
    assert "KeyError: 'scope'" in json.dumps(report["failed"])
    done = with_broken_parser(place, "ingest", "--code", str(code))
    assert done.returncode == 3
    assert "failed: bad.py: KeyError: 'scope'" in done.stderr
    assert with_broken_parser(place, "ingest", "--code", str(code), "--dry-run").returncode == 3


def test_the_traceback_of_what_failed_is_kept_for_a_report_and_its_place_is_told(place, code):
    done = with_broken_parser(place, "ingest", "--code", str(code))
    log = place.ragmem / "state" / "failures.log"
    assert done.stderr.splitlines()[-1] == f"note: the traceback is in {log}"
    assert log.stat().st_mode & 0o077 == 0
    content = log.read_text()
    assert content.count("Traceback (most recent call last)") == 1
    assert "in broken" in content
    assert "KeyError: 'scope'" in content


def test_without_a_failure_there_is_no_log_and_no_note(place, ragmem):
    done = ragmem("ingest", str(place.notes), **place.environ)
    assert done.returncode == 0
    assert "failed" not in done.stderr
    assert not (place.ragmem / "state" / "failures.log").exists()


def test_a_later_command_of_the_process_does_not_name_the_log_of_an_earlier_one(tmp_path):
    code = (
        "import sys\n"
        "from ragmem.__main__ import run\n"
        "from ragmem.readers import failures\n"
        "failures.LOG.written = sys.argv[1]\n"
        "sys.exit(run(['inspect', 'config', '--json']))\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "failures.log")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
