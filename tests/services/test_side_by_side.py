"""What several processes do together is what one does alone."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from known_likeness import Compared

from ragmem.config import ChunkingSettings
from ragmem.domain.lifecycle import Connection, Entry, LifecyclePolicy
from ragmem.domain.model import Draft, Scope, State
from ragmem.services import gc_workers
from ragmem.services.gc_workers import Job, fates
from ragmem.services.judge import judge
from ragmem.services.side_by_side import SideBySide

START = datetime(2026, 1, 1, tzinfo=UTC)
TEXTS = [
    "The importer lives in tools/import.py and reads the nightly dump.",
    "The importer moved from tools/import.py to scripts/load.py, which reads the nightly dump.",
    "The mailer gives up after 3 attempts because the relay bans us for an hour.",
    "The mailer waits for 20 minutes between two attempts, or the relay bans us.",
    "The relay bans the mailer for an hour after 4 attempts within one minute.",
    *(f"Backup {n} of volume {n * 7} took {n} minutes and left no errors behind." for n in range(6)),
    "Okay, let us go on with the part about tea then, please.",
    "Sure, I will have a look at all of that later in the day.",
    "Postgres refuses the migration because the role may not create extensions.",
    "A slow queue keeps its rows until a worker says so.",
    "Lint fails on generated files, so they are left out by pyproject.toml.",
]
MAILER = (2, 3, 4)


def entry(number, text):
    at = START + timedelta(hours=number)
    draft = Draft("ingest", f"/handed/{number}", text, event_time=at, scope=Scope("kitchen"))
    memory = judge(draft, now=START, sizes=ChunkingSettings(), rule="off").memory
    return Entry(replace(memory, state=State.INDEXED), number)


@pytest.fixture
def job():
    entries = [entry(number, text) for number, text in enumerate(TEXTS)]
    ids = sorted(entries[number].id for number in MAILER)
    linked = [Connection(low, high, 0.8, 0.8, 0.8) for low in ids for high in ids if low < high]
    policy = LifecyclePolicy(age_after=2)
    return Job(entries, entries, linked, [Compared(linked)], policy, compared=True, settled=frozenset())


def test_processes_that_work_on_one_project_together_decide_as_one_does(job, monkeypatch):
    monkeypatch.setattr(gc_workers, "LARGE", 1)

    ((_, alone),) = fates([job], workers=1)
    ((_, together),) = fates([job], workers=2)

    rules = {decision.rule for decision in alone.decisions.values()}
    assert {"template", "moved", "cluster", "no-substance", "substance"} <= rules
    assert (together.decisions, together.clusters) == (alone.decisions, alone.clusters)


def test_large_and_small_projects_come_in_the_order_of_the_jobs(job, monkeypatch):
    monkeypatch.setattr(gc_workers, "LARGE", len(TEXTS))
    small = replace(job, entries=job.entries[:3], staying=job.staying[:3])
    jobs = [small, job, small, small, job]

    assert [done for done, _ in fates(jobs, workers=2)] == jobs


def test_what_is_spread_comes_in_order_and_from_another_process():
    with SideBySide(2) as processes:
        assert list(processes.spread(abs, range(-600, 0))) == list(range(600, 0, -1))
        assert os.getpid() not in processes.spread(_process, range(3))


def _process(_):
    return os.getpid()


WAITING = """
import os, time
from ragmem.services.side_by_side import SideBySide

def work(number):
    print(os.getpid(), flush=True)
    time.sleep(600)

if __name__ == "__main__":
    with SideBySide(2) as processes:
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
