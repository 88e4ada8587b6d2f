"""gc in the warm process: when nobody asks, within limits, and never in anybody's way."""

import asyncio
import re
import threading
import time
from dataclasses import replace

import httpx
import pytest

from ragmem.api.gc import Gc
from ragmem.api.memory import now
from ragmem.domain.lifecycle.connections import Scale
from ragmem.domain.model import Draft, Scope
from ragmem.server.http import idle_gc
from ragmem.server.http.activity import Activity
from ragmem.server.http.idle_gc import EVERY, UNDONE, IdleProgress, NotIdleError, run_gc, run_gc_when_idle
from ragmem.server.http.workers import Workers
from ragmem.services.connections.connect import ConnectionReport
from ragmem.services.doctor.invariants import violations
from ragmem.storage.lifecycle.idle_mark import mark_of

FACTS = (
    "The tide importer times out because `TideClient.fetch` retries five times; retry it once.",
    "Root cause of the empty board: the cache key of `board.py` lacked the harbour, so all shared one entry.",
    "The nightly backup failed with exit code 23, since rsync met a socket in /srv/tides/run; exclude it.",
)
DECISIONS = (
    "We decided to keep the lamp on pier 4 lit all winter.",
    "Use tabs in `harbour.mk`; make(1) refuses anything else.",
    "Invoices go out on Mondays, since the bank closes early on Fridays.",
    "The dredger is chartered from Oslo, because our own one sinks.",
    "Passwords of the gauges are rotated by hand in March.",
    "I want the chart in blue; red reads as an alarm.",
    "We chose Zig for the bootloader over C for its errors.",
    "Gulls are counted twice a day and never at noon.",
    "The ferry's timetable wins where two of them disagree.",
)
IDLE = {"RAGMEM_LIFECYCLE_IDLE_MINUTES": "0.005", "RAGMEM_LIFECYCLE_AUTOMATIC": "yes"}


@pytest.fixture
def open_memory(open_memory, monkeypatch):
    """Open memories in which idle gc is on, unless a test says otherwise."""
    monkeypatch.setenv("RAGMEM_LIFECYCLE_AUTOMATIC", "yes")
    return lambda **environ: open_memory(**{"RAGMEM_LIFECYCLE_AUTOMATIC": "yes"} | environ)


def fill(memory, name, count=1):
    """Store facts twice each, `count` times: half of them is what gc removes, and little enough of it all."""
    texts = [f"{name} {number}: {fact}" for number in range(count) for fact in FACTS]
    rest = [f"{name}: {decision}" for decision in DECISIONS]
    memory.ingest(
        [
            Draft("notes", f"/n/{name}/{place}", text, scope=Scope("p-one"))
            for place, text in enumerate([*texts, *texts, *rest])
        ],
        rule="off",
    )
    # Nothing is near to anything else.
    memory.catalog.connections.keep_scale("fake-hash", Scale(0.98, 0.99, 25, 100), now=now(), anew=False)


def runs(memory):
    return memory.catalog.gc_runs.latest()


def wait_for(what, seconds=60.0):
    until = time.monotonic() + seconds
    while not (found := what()) and time.monotonic() < until:
        time.sleep(0.05)
    return found


@pytest.fixture
def quiet():
    """An activity in which nobody has asked for a minute."""
    clock = iter(float(second) for second in range(60, 10**6, 60))
    return Activity(clock=lambda: next(clock))


def test_a_request_counts_as_activity_until_it_is_answered():
    moment = [0.0]
    activity = Activity(clock=lambda: moment[0])
    moment[0] = 5.0
    assert activity.idle_seconds() == 5.0
    activity.start_request()
    moment[0] = 9.0
    assert activity.idle_seconds() == 0.0
    activity.finish_request()
    moment[0] = 11.0
    assert activity.idle_seconds() == 2.0
    activity.end()
    assert activity.idle_seconds() == 0.0


def test_tending_runs_gc_as_idle_and_not_again_before_anything_changed(open_memory, quiet):
    memory = open_memory()
    fill(memory, "one")
    said = []
    run_gc(memory, quiet, said.append)
    [run] = runs(memory)
    assert (run.caller, said) == ("idle", [])
    assert run.ended is not None
    kept = mark_of(memory.catalog.database)
    fill(memory, "two")
    run_gc(memory, quiet, said.append)
    assert len(runs(memory)) == 1
    assert mark_of(memory.catalog.database) == kept


def states(memory):
    return {one.id: one for one in memory.catalog.memories.each()}, memory.catalog.lives.all()


def test_no_memory_is_changed_unless_idle_gc_was_switched_on(open_memory, quiet, run, monkeypatch):
    off = {"RAGMEM_LIFECYCLE_AUTOMATIC": ""}
    monkeypatch.delenv("RAGMEM_LIFECYCLE_AUTOMATIC")
    memory = open_memory(**off)
    fill(memory, "one")
    before = states(memory)
    # Neither a plan that was looked at nor a run is a word for what happens later.
    assert run("gc", "--dry-run", **off).returncode == 0
    assert run("gc", "--only", "cold", "--yes", **off).returncode == 0
    at = now()
    for hours in range(3):
        monkeypatch.setattr(idle_gc, "now", lambda hours=hours: at + hours * EVERY)
        run_gc(memory, quiet, pytest.fail)
    assert states(memory) == before
    assert [one for one in runs(memory) if one.caller == "idle"] == []

    said = run("gc", "--enable-idle", **off)
    assert (said.returncode, said.stdout.splitlines()[0][:14]) == (0, "idle gc is on:")
    assert memory.reports.lifecycle().automatic
    monkeypatch.setattr(idle_gc, "now", lambda: at + 4 * EVERY)
    run_gc(memory, quiet, pytest.fail)
    assert [one.caller for one in runs(memory)][:1] == ["idle"]

    assert run("gc", "--disable-idle", **off).stdout == "idle gc is off: gc runs only when you run it\n"
    fill(memory, "two")
    left = states(memory)
    monkeypatch.setattr(idle_gc, "now", lambda: at + 5 * EVERY)
    run_gc(memory, quiet, pytest.fail)
    assert states(memory) == left


def test_the_state_of_idle_gc_is_told(open_memory, run, monkeypatch):
    monkeypatch.delenv("RAGMEM_LIFECYCLE_AUTOMATIC")
    off = {"RAGMEM_LIFECYCLE_AUTOMATIC": ""}
    open_memory(**off).prepare()
    for switch, state in (("--disable-idle", "off"), ("--enable-idle", "on")):
        assert run("gc", switch, **off).returncode == 0
        told = run("inspect", "stats", **off).stdout.splitlines()[-1]
        assert told.split()[:3] == ["idle", "gc", *[f"{state}{':' if state == 'on' else ''}"]]
        assert f"idle gc is {state}" in " ".join(run("inspect", "lifecycle", "--all", **off).stdout.split())
        assert f"{state}:" in next(
            line for line in run("doctor", **off).stdout.splitlines() if "idle gc" in line
        )


def test_a_variable_that_says_otherwise_than_the_switch_is_named(open_memory, run):
    open_memory().prepare()
    done = run("gc", "--disable-idle", RAGMEM_LIFECYCLE_AUTOMATIC="yes")
    assert done.returncode == 2
    assert "RAGMEM_LIFECYCLE_AUTOMATIC overrides it" in done.stderr


def test_a_plan_that_takes_more_than_a_third_is_told_and_not_tried_again(open_memory, quiet, monkeypatch):
    monkeypatch.setattr("ragmem.services.lifecycle.items.LARGE_SHARE", 0.3)
    memory = open_memory()
    fill(memory, "one", count=8)
    before = memory.catalog.memories.ids()
    said = []
    run_gc(memory, quiet, said.append)
    assert (memory.catalog.memories.ids(), runs(memory)) == (before, [])
    assert re.fullmatch(
        r"idle gc does not run: \d+ of 57 memories would be archived, more than a third; .*", *said
    )
    assert memory.reports.lifecycle().tended.refused in said[0]
    later = now() + EVERY
    monkeypatch.setattr(idle_gc, "now", lambda: later)
    monkeypatch.setattr(Gc, "plan", lambda *_, **__: pytest.fail("planned"))
    run_gc(memory, quiet, said.append)
    assert len(said) == 1


def test_what_was_undone_is_told_and_left(open_memory, quiet, monkeypatch):
    memory = open_memory()
    fill(memory, "one")
    said = []
    run_gc(memory, quiet, said.append)
    memory.gc.undo()
    before = memory.catalog.memories.ids()
    later = now() + EVERY
    monkeypatch.setattr(idle_gc, "now", lambda: later)
    run_gc(memory, quiet, said.append)
    assert memory.catalog.memories.ids() == before
    assert said == [f"idle gc does not run: {UNDONE}"]


def test_where_time_was_up_while_memories_were_compared_the_next_run_goes_on(open_memory, quiet, monkeypatch):
    memory = open_memory()
    fill(memory, "one")
    done = iter(
        [ConnectionReport(new=9, waiting=6), ConnectionReport(new=0, waiting=6), ConnectionReport(new=6)]
    )
    monkeypatch.setattr("ragmem.services.connections.connect.connect", lambda *_, **__: next(done))
    run_gc(memory, quiet, pytest.fail)
    assert (mark_of(memory.catalog.database), runs(memory)) == (None, [])
    # Where nothing more could be compared, the rest is done; it waits some hours, though not for a change.
    for _ in range(2):
        run_gc(memory, quiet, pytest.fail)
    assert mark_of(memory.catalog.database) is not None
    assert len(runs(memory)) == 1
    fill(memory, "two")
    later = now() + EVERY
    monkeypatch.setattr(idle_gc, "now", lambda: later)
    run_gc(memory, quiet, pytest.fail)
    assert len(runs(memory)) == 2


def test_where_memories_cannot_be_compared_it_tries_again_though_nothing_changed(
    open_memory, quiet, monkeypatch
):
    memory = open_memory()
    fill(memory, "one")
    planned, asked = Gc.plan, []

    def lacking(self, **more):
        asked.append(1)
        return replace(planned(self, **more), items=(), uncompared=3)

    monkeypatch.setattr(Gc, "plan", lacking)
    for _ in range(2):
        run_gc(memory, quiet, pytest.fail)
    assert asked == [1]
    later = now() + EVERY
    monkeypatch.setattr(idle_gc, "now", lambda: later)
    run_gc(memory, quiet, pytest.fail)
    assert asked == [1, 1]


def test_after_some_hours_what_changed_is_tended_and_what_did_not_is_left(open_memory, quiet, monkeypatch):
    memory = open_memory()
    fill(memory, "one")
    run_gc(memory, quiet, lambda _: None)
    later = mark_of(memory.catalog.database).at + EVERY
    monkeypatch.setattr(idle_gc, "now", lambda: later)
    planned = []
    monkeypatch.setattr(Gc, "plan", lambda self, **more: planned.append(more) or pytest.fail("planned"))
    run_gc(memory, quiet, lambda _: None)
    assert planned == []
    monkeypatch.undo()
    monkeypatch.setattr(idle_gc, "now", lambda: later)
    fill(memory, "two")
    run_gc(memory, quiet, lambda _: None)
    assert [run.caller for run in runs(memory)] == ["idle", "idle"]


@pytest.mark.parametrize("looks", [1, 2, 3, 4])
def test_a_request_ends_a_run_between_two_steps_and_the_next_one_goes_on(open_memory, quiet, looks):
    memory = open_memory()
    fill(memory, "one")
    left = set(memory.catalog.memories.ids())

    class Asked(Activity):
        """Somebody asks after some looks."""

        looked = 0

        def idle_seconds(self):
            self.looked += 1
            return 60.0 if self.looked < looks else 0.0

    said = []
    run_gc(memory, Asked(), said.append)
    assert (said, mark_of(memory.catalog.database)) == ([], None)
    assert violations(memory.catalog, memory.store) == []
    assert memory.catalog.memories.ids() <= left
    run_gc(memory, quiet, said.append)
    assert len(memory.catalog.memories.ids()) == len(left) - len(FACTS)
    assert mark_of(memory.catalog.database) is not None


def test_a_progress_raises_as_soon_as_somebody_asks(quiet):
    watched = IdleProgress(quiet)
    watched.begin("x", 3)
    watched.advance()
    quiet.start_request()
    with pytest.raises(NotIdleError):
        watched.advance(2)


def test_what_goes_wrong_is_said_and_raises_nothing(open_memory, quiet, monkeypatch):
    memory = open_memory()
    fill(memory, "one")
    holder = open_memory()
    holder.prepare()
    monkeypatch.setattr(memory.catalog.database, "busy_timeout", 0.2)
    said = []
    with holder.catalog.database.write():
        run_gc(memory, quiet, said.append)
    assert all(line.startswith("gc failed on the idle server: ") for line in said)
    run_gc(open_memory(RAGMEM_HOME=str(memory.home / "nothing")), quiet, said.append)
    assert not (memory.home / "nothing").exists()


def test_a_server_tends_while_nobody_asks_and_goes_on_answering_until_it_is_told_to_end(
    tmp_path, open_memory, start
):
    memory = open_memory()
    fill(memory, "one")
    with start(tmp_path, **IDLE) as server:

        def ask():
            answer = httpx.post(
                f"{server.url}/query",
                json={"query": "why does the tide importer time out"},
                headers=server.headers,
                timeout=60,
            )
            assert answer.status_code == 200

        for _ in range(3):
            ask()
        found = wait_for(lambda: [run for run in runs(memory) if run.ended])
        for _ in range(3):
            ask()
        assert server.end() == 0
        # On a busy machine a run may fit between two questions.
        assert {run.caller for run in found} == {"idle"}, server.said


def test_nothing_is_tended_where_the_settings_say_so(open_memory, quiet):
    memory = open_memory(RAGMEM_LIFECYCLE_IDLE_MINUTES="0")
    # Else it would look again and again, until it is cancelled.
    asyncio.run(asyncio.wait_for(run_gc_when_idle(memory, quiet, Workers(1), pytest.fail), 10))


def test_a_server_that_is_told_to_end_while_it_tends_ends_soon(open_memory, connect, monkeypatch):
    memory = open_memory(**IDLE)
    fill(memory, "one")
    begun, told = threading.Event(), []

    def endless(self, *, budget_s, progress):
        """Take steps for as long as nobody minds."""
        begun.set()
        until = time.monotonic() + budget_s
        try:
            while time.monotonic() < until:
                progress.advance()
                time.sleep(0.01)
        except NotIdleError:
            told.append("ended")
            raise

    monkeypatch.setattr(Gc, "run_idle", endless)
    with connect(memory) as client:
        client.runner.run(asyncio.to_thread(begun.wait, 60))
        assert begun.is_set()
    # Else it would have used up its budget.
    assert told == ["ended"]


def test_a_bug_that_ends_the_tending_is_told_at_once(open_memory, connect, monkeypatch):
    memory = open_memory(**IDLE)
    fill(memory, "one")
    told = threading.Event()

    def broken(self, **_):
        raise ZeroDivisionError

    def serve():
        monkeypatch.setattr(Gc, "run_idle", broken)
        with connect(memory, warn=lambda line: told.set() if "ZeroDivisionError" in line else None) as client:
            client.runner.run(asyncio.to_thread(told.wait, 60))
            assert client.get("/health").status_code == 200

    with pytest.raises(ZeroDivisionError):
        serve()
    assert told.is_set()
