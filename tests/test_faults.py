"""What a machine does to a memory: full disks, stopped and dead processes, wrong clocks, files replaced."""

import math
import os
import resource
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ragmem.api.memory import Ragmem
from ragmem.services.doctor.invariants import violations
from ragmem.services.ingestion.options import DraftOptions

# The real store, and models that cost nothing.
BACKENDS = {"RAGMEM_MODELS_BACKEND": "fake", "RAGMEM_STORE_BACKEND": "lightrag"}
LIMIT = 60
NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)

# Ingests inside of a transaction that stays open until a line comes in, then says what it has stored.
HOLDER = """
import sys
from pathlib import Path
from ragmem.api.memory import Ragmem
from ragmem.services.ingestion.options import DraftOptions

with Ragmem.open() as memory:
    handed = memory.ingestion.draft([Path(sys.argv[1])], DraftOptions())
    with memory.catalog.database.write():
        (stored,) = memory.ingest(handed.drafts, projects=handed.projects)
        print("holding", flush=True)
        sys.stdin.readline()
    print(stored.id, flush=True)
"""

# Puts a file in the place of a database, in its turn.
RESTORER = """
import sys
from pathlib import Path
from ragmem.storage.sql.fair_lock import turn

backup, database = Path(sys.argv[1]), Path(sys.argv[2])
with turn(database.with_name("write.lock"), timeout=30):
    for suffix in ("-wal", "-shm"):
        database.with_name(database.name + suffix).unlink(missing_ok=True)
    backup.replace(database)
"""


class Place:
    """A person's folder with a home of ragmem in it, used by processes of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ragmem = folder / "ragmem"
        self.data = self.ragmem / "data"
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "RAGMEM_HOME": str(self.ragmem),
            **BACKENDS,
        }

    def note(self, name: str, text: str = "") -> Path:
        path = self.folder / f"{name}.md"
        path.write_text(text or f"# {name}\n\nWe decided to pin {name} because version 3 has an error.\n")
        return path

    def start(self, *arguments: str, **variables: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, *arguments],
            env=self.environ | variables,
            cwd=self.folder,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def run(self, *arguments: str, limit: tuple[int, int] | None = None, **variables: str):
        first = f"import resource; resource.setrlimit({limit[0]}, ({limit[1]},) * 2)\n" if limit else ""
        code = f"{first}import sys; from ragmem.__main__ import run; sys.exit(run(sys.argv[1:]))"
        with self.start("-c", code, *arguments, **variables) as process:
            out, err = process.communicate(timeout=LIMIT)
        return process.returncode, out, err

    def ingest(self, path: Path, **options) -> str:
        code, out, err = self.run("ingest", str(path), **options)
        assert (code, err) == (0, "")
        return out.strip()

    def keep(self, name: str) -> str:
        """Ingest a note in this process, which is quicker, and return its id."""
        with self.opened() as memory:
            return ingest(memory, self.note(name))

    def opened(self) -> Ragmem:
        return Ragmem.open(environ=self.environ, home=self.folder, cwd=self.folder)

    def assert_sound(self, *acknowledged: str) -> None:
        """Check that every invariant holds and that what was acknowledged is there, and can be found."""
        with self.opened() as memory:
            assert violations(memory.catalog, memory.store, deep=True) == []
            assert {memory.memory(identifier).id[:12] for identifier in acknowledged} == set(acknowledged)
            assert {identifier[:12] for identifier in memory.store.memory_ids()} >= set(acknowledged)


def ingest(memory: Ragmem, path: Path) -> str:
    handed = memory.ingestion.draft([path], DraftOptions())
    (stored,) = memory.ingest(handed.drafts, projects=handed.projects)
    return stored.id[:12]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def refused(outcome: tuple[int, str, str], code: int) -> str:
    """Return the one line and the hint of a command that was refused."""
    returned, out, err = outcome
    assert (returned, out) == (code, ""), err
    said = [line for line in err.splitlines() if line]
    assert [line.partition(":")[0] for line in said] == ["ragmem", "hint"], err
    return " ".join(said)


@contextmanager
def holding(place: Place, path: Path) -> Iterator["subprocess.Popen[str]"]:
    """Start a writer that has stored a note and holds its transaction open."""
    with place.start("-c", HOLDER, str(path)) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line == "holding\n", process.communicate()[1]
            yield process
        finally:
            process.send_signal(signal.SIGCONT)
            process.kill()


def finish(process: "subprocess.Popen[str]") -> str:
    """Let a holder go on, and return the id that it acknowledges."""
    out, err = process.communicate("\n", timeout=LIMIT)
    assert (process.returncode, err) == (0, "")
    return out.strip()[:12]


def test_a_stopped_writer_makes_others_give_up_in_time_and_loses_nothing(place: Place):
    first = place.keep("Postgres")
    with holding(place, place.note("Redis")) as holder:
        holder.send_signal(signal.SIGSTOP)
        began = time.monotonic()
        outcome = place.run("ingest", str(place.note("Kafka")), RAGMEM_WRITE_BUSY_TIMEOUT_S="0.5")
        took = time.monotonic() - began
        said = refused(outcome, 5)
        assert "another process has been writing for 0.5 s" in said
        if Path("/proc/locks").exists():
            assert f"kill -CONT {holder.pid}" in said
        assert 0.5 <= took < 20
        code, out, _ = place.run("query", "pin Postgres")
        assert (code, "Postgres" in out, "Redis" in out) == (0, True, False)
        holder.send_signal(signal.SIGCONT)
        second = finish(holder)
    third = place.keep("Kafka")
    place.assert_sound(first, second, third)


def test_a_question_does_not_wait_while_a_writer_holds_its_transaction_open(place: Place):
    place.keep("Postgres")
    with place.opened() as reader:
        assert reader.query("pin Postgres").matches
        with holding(place, place.note("Redis")) as holder:
            waits = []
            for _ in range(20):
                began = time.perf_counter()
                matches = reader.query("why did we pin it").matches
                waits.append(time.perf_counter() - began)
                assert [match.memory.title for match in matches] == ["Postgres"]
            assert holder.poll() is None
            finish(holder)
        assert {match.memory.title for match in reader.query("why did we pin it").matches} == {
            "Postgres",
            "Redis",
        }
    # Some milliseconds as a rule; one that waited would have given up after many seconds.
    assert statistics.median(waits) < 1, waits
    assert max(waits) < 10, waits


def test_what_dead_processes_leave_behind_does_not_matter(place: Place):
    first = place.keep("Postgres")
    with holding(place, place.note("Redis")) as holder:
        holder.kill()
        holder.communicate()
    # A lock file as other tools leave it, and the tickets of two that were killed while they waited.
    (place.data / "write.lock").write_text(f"{holder.pid}\n")
    (place.data / "write.queue").mkdir(exist_ok=True)
    for number in (7, 99):
        (place.data / "write.queue" / str(number)).touch()
    began = time.monotonic()
    second = place.ingest(place.note("Kafka"), RAGMEM_WRITE_BUSY_TIMEOUT_S="5")
    assert time.monotonic() - began < 20
    assert [path.name for path in (place.data / "write.queue").iterdir()] == ["counter"]
    place.assert_sound(first, second)
    with place.opened() as memory:
        assert {found.title for found in memory.catalog.memories.each()} == {"Postgres", "Kafka"}


def test_a_disk_that_fills_up_in_the_middle_keeps_what_was_acknowledged(place: Place, small_disk: Path):
    place.environ["RAGMEM_HOME"] = str(small_disk)
    place.data = small_disk / "data"
    first = place.keep("Postgres")
    notes = place.folder / "notes"
    notes.mkdir()
    for number in range(120):
        text = " ".join(f"Worker{number} wrote row{number * row} into Queue{row}." for row in range(60))
        (notes / f"{number}.md").write_text(f"# Worker {number}\n\nWe decided on this. {text}\n")
    said = refused(place.run("ingest", str(notes), "--quiet"), 3)
    assert f'cannot write "{place.data}/memory.db": database or disk is full' in said
    assert "hint: check free space" in said
    with place.opened() as memory:
        assert memory.memory(first).title == "Postgres"
        before = memory.catalog.memories.ids()
    subprocess.run(["mount", "-o", "remount,size=60m", str(small_disk)], check=True)
    code, out, err = place.run("ingest", str(notes), "--quiet")
    assert (code, err) == (0, "")
    with place.opened() as memory:
        assert before < memory.catalog.memories.ids()
    place.assert_sound(first, *out.split())


@pytest.fixture
def small_disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("disk")
    mounted = shutil.which("mount") and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if not mounted or mounted.returncode:
        pytest.skip("this user may not mount a small disk")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_without_descriptors_a_command_is_refused_or_done_and_nothing_between(place: Place):
    acknowledged = [place.keep("Postgres")]
    refusals = 0
    for limit in (7, 9):
        note = place.note(f"Driver{limit}")
        code, out, err = place.run("ingest", str(note), limit=(resource.RLIMIT_NOFILE, limit))
        if code == 0:
            acknowledged.append(out.strip())
        else:
            refusals += 1
            assert code == 3, err
            assert out == ""
            assert "too many open files" in err.splitlines()[0], err
    assert refusals
    place.assert_sound(*acknowledged, place.keep("Kafka"))


def test_a_process_that_stays_notices_that_a_backup_was_put_back(place: Place):
    first = place.keep("Postgres")
    backup = place.folder / "backup.db"
    with closing(sqlite3.connect(place.data / "memory.db")) as source, closing(sqlite3.connect(backup)) as to:
        source.backup(to)
    with place.opened() as stays:

        def found(question: str) -> set[str]:
            return {match.memory.title for match in stays.query(question).matches}

        def nearest(text: str) -> list[str]:
            return [hit.memory_id[:12] for hit in stays.store.search(text, limit=1)]

        for name in ("Redis", "Kafka"):
            ingest(stays, place.note(name))
        assert found("why did we pin it") == {"Postgres", "Redis", "Kafka"}
        with place.start("-c", RESTORER, str(backup), str(place.data / "memory.db")) as restorer:
            _, err = restorer.communicate(timeout=LIMIT)
        assert (restorer.returncode, err) == (0, "")
        assert found("why did we pin it") == {"Postgres"}
        # Its vectors get the numbers that those of Redis had.
        second = ingest(stays, place.note("Airflow"))
        assert found("why did we pin it") == {"Postgres", "Airflow"}
        assert nearest("We decided to pin Airflow because version 3 has an error.") == [second]
    place.assert_sound(first, second)
    with place.opened() as fresh:
        assert {one.title for one in fresh.catalog.memories.each()} == {"Postgres", "Airflow"}


# --- clocks


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[datetime], None]:
    """Set the time that the package reads."""

    def set_to(moment: datetime) -> None:
        monkeypatch.setattr("ragmem.api.memory.now", lambda: moment)

    return set_to


@pytest.fixture
def notes(place: Place, tmp_path: Path) -> Iterator[Callable[[], Ragmem]]:
    """Open the memory of a folder of notes, each time as a new process would."""
    folder = tmp_path / "notes"
    folder.mkdir()
    for name in ("Postgres", "Redis", "Kafka"):
        (folder / f"{name}.md").write_text(f"# {name}\n\nWe decided to pin {name} because of an error.\n")
    sources = tmp_path / "sources.toml"
    sources.write_text('[sources.notes]\nglob = "~/notes/**/*.md"\nkind = "auto"\n')
    memories: list[Ragmem] = []

    def opener() -> Ragmem:
        environ = place.environ | {"RAGMEM_STORE_BACKEND": "fake"}
        memories.append(Ragmem.open(environ=environ, home=tmp_path, cwd=tmp_path, sources_file=sources))
        return memories[-1]

    yield opener
    for memory in memories:
        memory.close()


# A clock that lost its battery, one that was an hour ahead in the first run, one that was years ahead.
BACKWARDS = [datetime(1970, 1, 1, tzinfo=UTC), NOW - timedelta(hours=1), NOW - timedelta(days=3650)]


@pytest.mark.parametrize("earlier", BACKWARDS)
def test_when_the_clock_goes_backwards_nothing_is_lost_or_read_twice(notes, clock, earlier: datetime):
    clock(NOW)
    with notes() as memory:
        memory.seed()
        ids = memory.catalog.memories.ids()
    clock(earlier)
    with notes() as memory:
        matches = memory.query("why did we pin Redis").matches
        assert "Redis" in {match.memory.title for match in matches}
        assert all(math.isfinite(match.score) and 0 <= match.score <= 1 for match in matches)
        assert not memory.seed().would_change
        assert memory.gc.plan().empty
        assert memory.catalog.memories.ids() == ids


@pytest.mark.parametrize("earlier", BACKWARDS)
def test_what_is_removed_under_a_wrong_clock_comes_back_under_the_right_one(notes, clock, earlier: datetime):
    clock(NOW)
    with notes() as memory:
        memory.seed()
        ids = memory.catalog.memories.ids()
        redis, kafka = (
            next(one.id for one in memory.catalog.memories.each() if one.title == title)
            for title in ("Redis", "Kafka")
        )
        memory.forget([redis])
    clock(earlier)
    with notes() as memory:
        memory.forget([kafka])
        assert memory.gc.plan_purge().memories == memory.gc.purge().memories == 0
    clock(NOW + timedelta(days=1))
    with notes() as memory:
        assert memory.gc.plan_purge().memories == memory.gc.purge().memories == 0
        assert memory.gc.undo().restored == 1
        assert memory.catalog.memories.ids() == ids - {redis}
        assert memory.gc.undo().restored == 1
        assert memory.catalog.memories.ids() == ids
        assert violations(memory.catalog, memory.store, deep=True) == []
        assert not memory.seed().would_change
