"""What several processes do together is what one does alone."""

import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta

import pytest

from ragmem.domain.lifecycle.connections import Scale
from ragmem.domain.model import Draft, Scope
from ragmem.services.doctor.invariants import violations
from ragmem.services.ingestion import entities
from ragmem.services.lifecycle import plan, undo
from ragmem.services.processes.worker_pool import WorkerPool

START = datetime(2026, 1, 1, tzinfo=UTC)
TEXTS = [
    "The importer lives in tools/import.py and reads the nightly dump.",
    "The importer moved from tools/import.py to scripts/load.py, which reads the nightly dump.",
    "The mailer gives up after 3 attempts because the relay bans us for an hour.",
    "The mailer waits for 20 minutes between two attempts, or the relay bans us.",
    "The relay bans the mailer for an hour after 4 attempts within one minute.",
    *(f"Backup run {n} of the cellar volume took {n} minutes and left no errors behind." for n in range(6)),
    "Perfect! Now let me check the output:",
    "Great! Let me look at the result now:",
    "Postgres refuses the migration because the role may not create extensions.",
    "A slow queue keeps its rows until a worker says so.",
    "Lint fails on generated files, so they are left out by pyproject.toml.",
]

SAID = (" ".join(TEXTS[2:5]), " ".join(TEXTS[2:4]), " ".join(TEXTS[3:5]))
"""What a session says whole, and parts of it once more."""


@pytest.fixture
def projects(open_memory, store):
    """Return a memory with two projects."""
    memory = open_memory(RAGMEM_STORE_BACKEND=store, RAGMEM_LIFECYCLE_AGE_AFTER="2")
    memory.prepare()
    for project, texts in (("kitchen", TEXTS[:9]), ("pantry", TEXTS)):
        at = [START + timedelta(hours=number) for number in range(len(texts))]
        drafts = [
            Draft("notes", f"/{project}/{number}", text, event_time=at[number], scope=Scope(project))
            for number, text in enumerate(texts)
        ]
        drafts += [
            Draft(
                "transcripts",
                f"/{project}/said/{number}",
                text,
                event_time=START,
                scope=Scope(project),
                metadata={"session": project},
            )
            for number, text in enumerate(SAID)
        ]
        memory.ingest(drafts, rule="off")
    memory.catalog.connections.keep_scale("fake-hash", Scale(0.1, 0.6, 30, 100), now=START, anew=False)
    return memory


@pytest.mark.parametrize(
    ("store", "large"),
    [("lightrag", 100), ("lightrag", len(TEXTS) + 3), ("fake", 100)],
    ids=["all small", "one large", "nobody else can read"],
)
def test_several_processes_plan_what_one_does(projects, monkeypatch, large):
    alone = projects.gc.plan()
    monkeypatch.setattr(plan, "LARGE", large)

    assert projects.gc.plan(workers=2) == alone
    assert {"fold", "cold", "alone"} <= {one.rule for one in alone.items}
    assert [one.project for one in alone.items] == ["kitchen"] * 12 + ["pantry"] * (len(TEXTS) + 3)


@pytest.mark.parametrize("store", ["lightrag"])
def test_other_processes_read_the_texts_that_come_back(projects, monkeypatch):
    done = projects.gc.apply(projects.gc.plan(), allow_large=True)
    assert done.archived > 0
    monkeypatch.setattr(entities, "extract", None)
    monkeypatch.setattr(undo, "MANY", 1)
    monkeypatch.setattr(entities, "_cache", {})
    assert projects.gc.undo(workers=2).restored == done.archived
    assert len(projects.store.memory_ids()) == len(TEXTS) + 15
    assert violations(projects.catalog, projects.store, deep=True) == []


def test_what_is_spread_comes_in_order_and_from_another_process():
    with WorkerPool(2) as processes:
        assert list(processes.map(abs, range(-600, 0))) == list(range(600, 0, -1))
        assert os.getpid() not in processes.map(_process, range(3))


def _process(_):
    return os.getpid()


WAITING = """
import os, time
from ragmem.services.doctor.invariants import violations
from ragmem.services.processes.worker_pool import WorkerPool

def work(number):
    print(os.getpid(), flush=True)
    time.sleep(600)

if __name__ == "__main__":
    with WorkerPool(2) as processes:
        list(processes.each(work, range(2)))
"""


def test_no_process_outlives_the_one_that_was_killed(tmp_path):
    script = tmp_path / "waiting.py"
    script.write_text(WAITING)
    main = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True)
    workers = [int(main.stdout.readline()) for _ in range(2)]
    os.kill(main.pid, signal.SIGKILL)
    main.wait()
    main.stdout.close()
    until = time.monotonic() + 20
    while any(map(_runs, workers)) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(map(_runs, workers))


def _runs(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
