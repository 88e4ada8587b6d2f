"""A kill at any moment loses nothing: the next run goes on and ends where an undisturbed one does."""

import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from ragmem.api.memory import Ragmem
from ragmem.domain.model import State
from ragmem.storage.maintenance.invariants import violations

pytestmark = pytest.mark.slow

EXAMPLE = Path(__file__).parents[1] / "examples" / "home"
# The real store, and models that cost nothing: what is tested is what survives, not how near it lies.
BACKENDS = {"RAGMEM_MODELS_BACKEND": "fake", "RAGMEM_STORE_BACKEND": "lightrag"}
KILLS = 3
SEED = 20260601
GENERATED = 120


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The example home with some more notes, so that a run has several batches."""
    root = tmp_path / "home"
    shutil.copytree(EXAMPLE, root)
    folder = root / ".claude" / "projects" / "-home-sam-repos-tideline" / "memory"
    for number in range(GENERATED):
        (folder / f"generated-{number}.md").write_text(
            f"# Worker {number}\n\nWe decided that Worker{number} uses PostgreSQL because the error of"
            f" Queue{number % 7} came from a stale lock. The fix was in `worker_{number}.py`.\n"
        )
    return root


def environ(home: Path, place: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(home), "RAGMEM_HOME": str(place), **BACKENDS}


def start(home: Path, place: Path, *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "ragmem", *arguments],
        env=environ(home, place),
        cwd=home,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def seed(home: Path, place: Path) -> float:
    """Seed to the end and return how long it took."""
    began = time.monotonic()
    with start(home, place, "seed", "--quiet") as process:
        _, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (0, "")
    return time.monotonic() - began


def opened(home: Path, place: Path) -> Ragmem:
    return Ragmem.open(environ=environ(home, place), home=home, cwd=home)


def held(home: Path, place: Path) -> dict[str, str]:
    with opened(home, place) as memory:
        return {item.id: item.text for item in memory.catalog.memories.each()}


def acknowledged(place: Path) -> dict[str, str]:
    """Return what a killed run left, by a look that changes nothing and recovers nothing."""
    path = place / "data" / "memory.db"
    if not path.exists():
        return {}
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
        try:
            return dict(connection.execute("SELECT id, text FROM memories"))
        except sqlite3.OperationalError as error:
            # Killed before the first transaction.
            assert "no such table" in str(error)  # noqa: PT017 - any other error fails the test
            return {}


def assert_in_order(home: Path, place: Path) -> None:
    """Check that catalog, full text and store hold the same, and that all of it is finished."""
    with opened(home, place) as memory:
        assert memory.catalog.memories.ids(states=[State.PENDING]) == set()
        assert memory.catalog.memories.ids(states=[State.INDEXED]) == memory.store.memory_ids()
        swept = memory.store.sweep(dry_run=True)
        assert not any(swept.values()), swept
        assert violations(memory.catalog, deep=True) == []
        with memory.catalog.database.read() as connection:
            chunks = connection.execute(
                "SELECT c.id FROM chunks c JOIN memories m ON m.n = c.memory WHERE m.state = 'indexed'"
            ).fetchall()
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        statistics = memory.store.statistics()
        assert statistics["chunks"] == len(chunks)
        report = memory.seed()
        assert not report.would_change
        assert sum(tally.unchanged for tally in report.tallies) == sum(t.found for t in report.tallies)


def kill_after(moment: float, home: Path, place: Path) -> bool:
    """Seed and kill the run at a moment; return whether it was still running."""
    with start(home, place, "seed", "--quiet") as process:
        try:
            process.wait(moment)
        except subprocess.TimeoutExpired:
            process.kill()
    return process.returncode == -signal.SIGKILL


def test_a_seeding_killed_at_any_moment_ends_like_an_undisturbed_one(home: Path, tmp_path: Path):
    calm, stormy = tmp_path / "calm", tmp_path / "stormy"
    duration = seed(home, calm)
    expected = held(home, calm)
    assert len(expected) > GENERATED
    chance = random.Random(SEED)
    # One moment in each fifth of the run, so that start, middle and end are all met.
    moments = [duration * (part + chance.random()) / KILLS for part in range(KILLS)]
    print(
        f"seed {SEED}: {duration:.2f} s undisturbed, killed after", *(f"{moment:.2f}" for moment in moments)
    )
    killed = []
    before: dict[str, str] = {}
    for number, moment in enumerate(moments):
        # Each moment on a home of its own, and all of them on one that never gets to its end.
        fresh = tmp_path / f"killed-{number}"
        killed.append(kill_after(moment, home, fresh))
        assert acknowledged(fresh).items() <= expected.items()
        seed(home, fresh)
        assert held(home, fresh) == expected
        assert_in_order(home, fresh)
        kill_after(moment, home, stormy)
        now = acknowledged(stormy)
        assert before.items() <= now.items() <= expected.items()
        before = now
    # The last moment may lie behind the end, where the machine has become faster meanwhile.
    assert sum(killed) >= KILLS - 2
    seed(home, stormy)
    assert held(home, stormy) == expected
    assert_in_order(home, stormy)


def test_a_kill_between_acknowledgement_and_index_is_made_good(home: Path, tmp_path: Path):
    place = tmp_path / "place"
    with start(home, place, "seed", "--quiet") as process:
        deadline = time.monotonic() + 60
        while not acknowledged(place) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.002)
        process.kill()
    assert process.returncode == -signal.SIGKILL
    left = acknowledged(place)
    assert left
    seed(home, place)
    assert left.items() <= held(home, place).items()
    assert_in_order(home, place)


def test_an_ingest_that_printed_an_id_has_stored_it(home: Path, tmp_path: Path):
    place = tmp_path / "place"
    note = tmp_path / "note.md"
    note.write_text("# Driver\n\nWe decided to pin the driver because version 3 has an error.\n")
    # With its output in a file that is looked at, the kill comes as early as anybody could act on the id.
    with start(home, place, "ingest", str(note)) as process:
        assert process.stdout is not None
        identifier = process.stdout.readline().strip()
        process.kill()
    assert len(identifier) == 12
    (full,) = acknowledged(place)
    assert full.startswith(identifier)
    with opened(home, place) as memory:
        assert (
            memory.memory(identifier).text
            == "# Driver\n\nWe decided to pin the driver because version 3 has an error."
        )
        assert [match.memory.id for match in memory.query("pin the driver").matches] == [full]
        assert memory.store.memory_ids() == {full}


def test_what_an_agent_was_told_is_stored_still_waits_for_approval_after_a_kill(home: Path, tmp_path: Path):
    place = tmp_path / "place"
    texts = [f"We decided that Quay {number} closes at noon, because of the tide." for number in range(30)]
    (place / "config").mkdir(parents=True)
    (place / "config" / "config.toml").write_text("[approval]\nenabled = true\n")
    kept = 0
    with start(home, place, "mcp") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for number, text in enumerate(texts):
            call = {"name": "remember", "arguments": {"text": text}}
            request = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": call}
            process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        while kept < len(texts) // 2:
            kept += "result" in json.loads(process.stdout.readline())
        process.kill()
    assert process.returncode == -signal.SIGKILL
    stored = acknowledged(place)
    assert len(stored) >= kept
    with opened(home, place) as memory:
        assert set(memory.catalog.approvals.withheld_ids()) == stored.keys()
        assert len(memory.approvals.accept(stored)) == len(stored)
        assert memory.catalog.approvals.withheld_ids() == []
