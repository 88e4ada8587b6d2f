"""gc in the warm process: when nobody asks, within limits, and never in anybody's way."""

import asyncio
import time

import httpx
import pytest

from ragmem.catalog.idle_mark import mark_of, signature
from ragmem.domain.model import Draft, Scope
from ragmem.memory import Ragmem
from ragmem.serve.activity import Activity
from ragmem.serve.tending import EVERY, NotIdleError, WhileIdle, tend, tend_when_idle
from ragmem.serve.workers import Workers
from ragmem.services.invariants import violations

FACTS = (
    "The tide importer times out because `TideClient.fetch` retries five times; retry it once.",
    "Root cause of the empty board: the cache key of `board.py` lacked the harbour, so all shared one entry.",
    "The nightly backup failed with exit code 23, since rsync met a socket in /srv/tides/run; exclude it.",
)
IDLE = {"RAGMEM_LIFECYCLE_IDLE_MINUTES": "0.005"}


def fill(memory, name, count=1):
    """Store facts twice each, `count` times: half of them is what gc removes, and little enough of it all."""
    texts = [f"{name} {number}: {fact}" for number in range(count) for fact in FACTS]
    rest = [
        f"We decided on {name} {number}, because the quay is {number * 7919:x} m long." for number in range(9)
    ]
    memory.ingest(
        [
            Draft("notes", f"/n/{name}/{place}", text, scope=Scope("p-one"))
            for place, text in enumerate([*texts, *texts, *rest])
        ],
        rule="off",
    )


def runs(memory):
    return memory.catalog.gc_runs.latest()


def wait_for(what, seconds=20.0):
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
    assert activity.idle_since() == 5.0
    activity.began()
    moment[0] = 9.0
    assert activity.idle_since() == 0.0
    activity.ended()
    moment[0] = 11.0
    assert activity.idle_since() == 2.0
    activity.end()
    assert activity.idle_since() == 0.0


def test_tending_runs_gc_as_idle_and_not_again_before_anything_changed(open_memory, quiet):
    memory = open_memory()
    fill(memory, "one")
    said = []
    tend(memory, quiet, said.append)
    [run] = runs(memory)
    assert (run.caller, said) == ("idle", [])
    assert run.ended is not None
    kept = mark_of(memory.catalog.database)
    assert kept.signature == signature(memory.catalog.database)
    fill(memory, "two")
    tend(memory, quiet, said.append)
    assert len(runs(memory)) == 1
    assert signature(memory.catalog.database) != kept.signature


def test_after_some_hours_what_changed_is_tended_and_what_did_not_is_left(open_memory, quiet, monkeypatch):
    memory = open_memory()
    fill(memory, "one")
    tend(memory, quiet, lambda _: None)
    later = mark_of(memory.catalog.database).at + EVERY
    monkeypatch.setattr("ragmem.serve.tending.now", lambda: later)
    planned = []
    monkeypatch.setattr(
        Ragmem, "plan_gc", lambda self, **more: planned.append(more) or pytest.fail("planned")
    )
    tend(memory, quiet, lambda _: None)
    assert planned == []
    monkeypatch.undo()
    monkeypatch.setattr("ragmem.serve.tending.now", lambda: later)
    fill(memory, "two")
    tend(memory, quiet, lambda _: None)
    assert [run.caller for run in runs(memory)] == ["idle", "idle"]


@pytest.mark.parametrize("looks", [1, 2, 3, 4])
def test_a_request_ends_a_run_between_two_steps_and_the_next_one_goes_on(open_memory, quiet, looks):
    memory = open_memory()
    fill(memory, "one")
    left = set(memory.catalog.memories.ids())

    class Asked(Activity):
        """Somebody asks after some looks."""

        looked = 0

        def idle_since(self):
            self.looked += 1
            return 60.0 if self.looked < looks else 0.0

    said = []
    tend(memory, Asked(), said.append)
    assert (said, mark_of(memory.catalog.database)) == ([], None)
    assert violations(memory.catalog, memory.store) == []
    assert memory.catalog.memories.ids() <= left
    tend(memory, quiet, said.append)
    assert len(memory.catalog.memories.ids()) == len(left) - len(FACTS)
    assert mark_of(memory.catalog.database) is not None


def test_a_progress_raises_as_soon_as_somebody_asks(quiet):
    watched = WhileIdle(quiet)
    watched.begin("x", 3)
    watched.advance()
    quiet.began()
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
        tend(memory, quiet, said.append)
    assert all(line.startswith("the memory was not tended: ") for line in said)
    tend(open_memory(RAGMEM_HOME=str(memory.home / "nothing")), quiet, said.append)
    assert not (memory.home / "nothing").exists()


def test_a_server_tends_while_nobody_asks_and_goes_on_answering(tmp_path, open_memory, start):
    memory = open_memory()
    fill(memory, "one")
    with start(tmp_path, **IDLE) as server:
        slowest = 0.0

        def ask():
            began = time.monotonic()
            answer = httpx.post(
                f"{server.url}/query",
                json={"query": "why does the tide importer time out"},
                headers=server.headers,
            )
            assert answer.status_code == 200
            return time.monotonic() - began

        slowest = max(ask() for _ in range(3))
        found = wait_for(lambda: [run for run in runs(memory) if run.ended])
        slowest = max(slowest, *(ask() for _ in range(3)))
        assert [run.caller for run in found] == ["idle"]
        assert slowest < 5.0
        assert server.end() == 0


@pytest.mark.parametrize(
    "off", [{"RAGMEM_LIFECYCLE_IDLE_MINUTES": "0"}, IDLE | {"RAGMEM_LIFECYCLE_AUTOMATIC": "no"}]
)
def test_nothing_is_tended_where_the_settings_say_so(open_memory, quiet, off):
    memory = open_memory(**off)
    # Else it would look again and again, until it is cancelled.
    asyncio.run(asyncio.wait_for(tend_when_idle(memory, quiet, Workers(1), pytest.fail), 10))


def test_a_server_that_is_told_to_end_while_it_tends_ends_soon(tmp_path, open_memory, start):
    memory = open_memory()
    fill(memory, "one", count=8)
    with start(tmp_path, **IDLE) as server:
        wait_for(lambda: runs(memory), seconds=10)
        began = time.monotonic()
        assert server.end() == 0
        assert time.monotonic() - began < 15
