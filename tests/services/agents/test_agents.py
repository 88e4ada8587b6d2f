"""Agents over one operational.db: what is accepted, what waits, what is void, who counts as silent."""

import json
import os
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from ragmem.__main__ import run
from ragmem.api.memory import Ragmem
from ragmem.config.settings import AgentsSettings
from ragmem.domain.sessions.agents import SUPERSEDES, MessageType
from ragmem.errors import ConflictError, LimitReachedError, NotFoundError, StoreDamagedError, UsageError
from ragmem.services.agents.agents import Agents
from ragmem.storage.operational import OPERATIONAL_NAME
from ragmem.storage.operational.file import OperationalFile
from ragmem.storage.sql.backups import FOLDER

EXAMPLE = Path(__file__).parents[3] / "examples" / "agent.sh"
START = datetime(2026, 3, 1, 12, tzinfo=UTC)
KEY = "sk-ant-api03-" + "abcdefghijklmnopqrstuvwxyz0123456789"


class Clock:
    def __init__(self):
        self.now = START

    def __call__(self):
        return self.now

    def pass_by(self, **span):
        self.now += timedelta(**span)


def in_thread(work):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def open_agents(tmp_path, clock):
    """Open the agents of this test's home, perhaps with other settings; each is like another process."""
    opened = []

    def opener(**limits):
        opened.append(Agents(OperationalFile(tmp_path), AgentsSettings(**limits), now=clock))
        return opened[-1]

    yield opener
    for one in opened:
        one.close()


@pytest.fixture
def agents(open_agents):
    return open_agents()


def texts(agents, name, **wanted):
    return [letter.text for letter in agents.messages(name, **wanted)]


def happened(agents, **wanted):
    return [event.type for event in agents.events(after=0, **wanted).events]


def test_nothing_is_created_until_an_agent_checks_in_and_what_is_is_private(agents, tmp_path):
    assert agents.agents() == []
    assert agents.events().events == ()
    assert agents.send("", "to nobody").accepted == {}
    assert list(tmp_path.iterdir()) == []
    agents.heartbeat("one")
    assert stat.S_IMODE((tmp_path / OPERATIONAL_NAME).stat().st_mode) == 0o600


def test_agents_work_in_a_home_without_memories(tmp_path):
    with Ragmem.open(environ={"RAGMEM_HOME": str(tmp_path)}, home=tmp_path, cwd=tmp_path) as memory:
        memory.agents.heartbeat("one", status="working")
        assert [agent.status for agent in memory.agents.agents()] == ["working"]
        assert not memory.catalog.exists()


def test_a_message_waits_until_it_is_acknowledged_by_the_agent_that_it_is_for(agents):
    agents.heartbeat("one")
    agents.heartbeat("two")
    number = agents.send("one", "hello", sender="two", data={"n": 1}).accepted["one"]
    (letter,) = agents.messages("one")
    assert (letter.text, letter.sender, letter.data, letter.delivered) == ("hello", "two", {"n": 1}, None)
    assert agents.messages("one")[0].delivered == START
    assert agents.acknowledge("two", [number]).unknown == (number,)
    assert agents.require("one").waiting == 1
    assert agents.acknowledge("one", [number, number]).acknowledged == (number,)
    assert agents.acknowledge("one", [number]).already == (number,)
    assert agents.messages("one") == []


def test_a_heartbeat_changes_what_it_says_and_nothing_else(agents):
    agents.heartbeat("one", status="working", current_task="tides", progress=20, project_path="/p")
    found = agents.heartbeat("one", progress=30)
    assert (found.status, found.current_task, found.progress, found.project_path) == (
        "working",
        "tides",
        30,
        "/p",
    )
    agents.heartbeat("one")
    assert happened(agents) == ["agent_joined", "agent_status"]


def test_what_is_sent_to_all_reaches_who_is_known_then_but_not_the_sender_nor_who_has_ended(agents):
    for name in ("one", "two", "three"):
        agents.heartbeat(name)
    agents.heartbeat("three", status="stopped")
    sent = agents.signal("stop", to="all", sender="two", reason="enough")
    assert list(sent.accepted) == ["one"]
    assert list(sent.refused) == ["three"]
    assert agents.require("one").stop_reason == "enough"
    assert not agents.require("two").should_stop
    # Who comes later, or begins anew, was not meant.
    assert not agents.heartbeat("four").should_stop
    assert not agents.heartbeat("three", status="starting").should_stop
    assert texts(agents, "three") == texts(agents, "four") == []


def test_a_signal_takes_the_place_of_those_that_it_makes_void(agents):
    agents.heartbeat("one")
    agents.send("one", "first")
    agents.signal("pause", to="one", reason="lunch")
    assert agents.require("one").pause_reason == "lunch"
    agents.signal("stop", to="one", reason="enough")
    assert texts(agents, "one") == ["first", "enough"]
    assert agents.require("one").paused
    agents.signal("resume", to="one", reason="go on")
    found = agents.require("one")
    assert (found.should_stop, found.paused) == (False, False)
    assert texts(agents, "one") == ["first", "go on"]


def test_a_stop_holds_until_the_agent_says_that_it_has_stopped(agents):
    agents.heartbeat("one", status="working", pid=10)
    number = agents.signal("stop", to="one").accepted["one"]
    agents.acknowledge("one", [number])
    assert agents.heartbeat("one", status="tidying").should_stop
    assert not agents.heartbeat("one", status="stopped").should_stop
    with pytest.raises(UsageError, match="has ended"):
        agents.signal("stop", to="one")
    agents.send("one", "for the next life")
    assert not agents.heartbeat("one", status="starting").should_stop
    assert texts(agents, "one") == ["for the next life"]


def test_another_process_under_the_same_id_begins_a_new_life_even_in_the_middle_of_starting(agents):
    agents.heartbeat("one", status="starting", pid=10)
    agents.signal("stop", to="one")
    assert agents.heartbeat("one", status="starting", pid=10).should_stop
    assert not agents.heartbeat("one", status="starting", pid=11).should_stop


def test_a_silent_agent_becomes_stale_once_and_is_back_when_it_beats_again(agents, clock):
    agents.heartbeat("one")
    agents.heartbeat("ended", status="stopped")
    clock.pass_by(seconds=89)
    agents.heartbeat("two")
    assert not any(agent.stale for agent in agents.agents())
    clock.pass_by(seconds=2)
    assert {agent.id for agent in agents.agents() if agent.stale} == {"one"}
    assert agents.mark_stale() == []
    assert not agents.heartbeat("one").stale
    assert happened(agents, types=["agent_stale", "agent_back"]) == ["agent_stale", "agent_back"]


def test_a_full_inbox_refuses_the_sender_and_loses_nothing(open_agents):
    agents = open_agents(inbox=2)
    agents.heartbeat("one")
    agents.heartbeat("two")
    agents.send("one", "a")
    agents.send("one", "b")
    with pytest.raises(LimitReachedError, match='the inbox of "one" is full'):
        agents.send("one", "c")
    sent = agents.send("all", "d")
    assert (list(sent.accepted), list(sent.refused)) == (["two"], ["one"])
    # A signal comes through whatever waits.
    agents.signal("stop", to="one", reason="enough")
    assert texts(agents, "one") == ["a", "b", "enough"]
    agents.acknowledge("one", [agents.messages("one")[0].id])
    agents.send("one", "c")
    assert texts(agents, "one") == ["b", "enough", "c"]


def test_too_many_agents_make_room_only_where_nothing_is_lost(open_agents, clock):
    agents = open_agents(most=2)
    agents.heartbeat("one")
    agents.heartbeat("two")
    with pytest.raises(LimitReachedError):
        agents.heartbeat("three")
    agents.send("one", "waits")
    clock.pass_by(hours=1)
    agents.mark_stale()
    agents.heartbeat("three")
    assert {agent.id for agent in agents.agents()} == {"one", "three"}
    agents.forget("one")
    with pytest.raises(NotFoundError):
        agents.messages("one")


@pytest.mark.parametrize("name", ["", "all", "a b", "../x", "x" * 129, "-x", "a\n", "é"])
def test_what_cannot_be_an_id_is_refused(agents, name):
    with pytest.raises(UsageError, match="cannot be the id"):
        agents.heartbeat(name)


def test_secrets_are_covered_before_anything_is_stored(agents, tmp_path):
    agents.heartbeat("one", current_task=f"use {KEY}")
    agents.send("one", f"the key is {KEY}", data={"env": {"ANTHROPIC_API_KEY": KEY}})
    agents.signal("pause", to="one", reason=KEY)
    agents.publish("build_done", data={"log": [f"export K={KEY}"]})
    agents.close()
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir() if path.is_file())
    assert b"build_done" in stored
    assert KEY.encode() not in stored


@pytest.mark.parametrize(
    ("text", "data", "told"),
    [
        ("", None, "empty"),
        ("x" * 70_000, None, "70,000 characters"),
        ("\ud800", None, "not text"),
        ("x", {"n": "y" * 70_000}, "bytes as JSON"),
        ("x", {"n": 2**70}, "not a JSON object"),
    ],
)
def test_what_is_too_large_or_no_text_is_refused(agents, text, data, told):
    agents.heartbeat("one")
    with pytest.raises(UsageError, match=told):
        agents.send("one", text, data=data)
    assert agents.messages("one") == []


def test_events_wait_for_who_asks_and_are_told_once(open_agents):
    agents, other = open_agents(), open_agents()
    agents.heartbeat("one")
    agents.publish("build_done", agent="one", data={"commit": "1f3870b"})
    first = other.events(["build_done"], agent="one")
    assert [event.data for event in first.events] == [{"commit": "1f3870b"}]
    assert other.events(agent="one").events == ()
    # The cursor that was given reads it once more, whoever asks.
    assert len(agents.events(["build_done"], after=0, agent="one").events) == 1
    # An agent is told of what came while nobody asked.
    agents.publish("build_done")
    assert len(other.events(agent="one").events) == 1
    with pytest.raises(UsageError, match="only ragmem writes"):
        agents.publish("agent_joined")


def test_who_waits_hears_of_another_process_within_half_a_second(open_agents):
    agents, other = open_agents(), open_agents()
    agents.heartbeat("one")
    took = []
    # The quickest counts: the machine may do something else meanwhile.
    while len(took) < 8 and not any(seconds < 0.5 for seconds in took):
        cursor = agents.events().cursor
        began = []

        def publish(began=began):
            began.append(time.monotonic())
            other.publish("build_done")

        timer = threading.Timer(0.3, publish)
        timer.start()
        found = agents.events(["build_done"], after=cursor, timeout=20)
        took.append(time.monotonic() - began[0])
        timer.join()
        assert [event.type for event in found.events] == ["build_done"]
    assert min(took) < 0.5
    began_waiting = time.monotonic()
    assert agents.events(["build_done"], after=found.cursor, timeout=0.3).events == ()
    assert 0.25 < time.monotonic() - began_waiting < 5


def test_a_number_from_before_the_file_was_removed_hides_nothing(open_agents, tmp_path):
    agents = open_agents()
    agents.heartbeat("one")
    last = max(agents.send("one", str(number)).accepted["one"] for number in range(5))
    cursor = agents.events().cursor
    agents.close()
    for path in tmp_path.glob(f"{OPERATIONAL_NAME}*"):
        path.unlink()
    agents = open_agents()
    agents.heartbeat("one")
    agents.send("one", "anew")
    assert texts(agents, "one", after=last) == ["anew"]
    found = agents.events(["message"], after=cursor)
    assert ([event.data["head"] for event in found.events], found.missed) == (["anew"], True)
    assert agents.events(after=found.cursor).events == ()


def test_that_events_were_missed_is_told_even_if_none_of_the_wanted_came(open_agents):
    agents = open_agents(keep=5)
    for _ in range(64):
        agents.publish("tick")
    assert agents.events(["other"], after=0, timeout=0.2).missed


def test_events_and_acknowledged_messages_are_bounded_and_what_waits_is_kept(open_agents, clock):
    agents = open_agents(keep=5, keep_days=1, inbox=10)
    agents.heartbeat("one")
    agents.send("one", "waits")
    done = [agents.send("one", str(number)).accepted["one"] for number in range(9)]
    agents.acknowledge("one", done)
    for _ in range(64):
        agents.publish("tick")
    found = agents.events(after=0)
    assert len(found.events) <= 5 + 64
    assert found.missed
    assert len(agents.acknowledge("one", done).already) <= 6
    assert texts(agents, "one") == ["waits"]
    clock.pass_by(days=2)
    for _ in range(64):
        agents.publish("tick")
    assert agents.acknowledge("one", done).already == ()
    assert texts(agents, "one") == ["waits"]


def test_a_sender_that_is_killed_leaves_what_it_was_told_is_accepted(open_agents, tmp_path):
    agents = open_agents()
    agents.heartbeat("one")
    script = (
        "import sys\n"
        "from datetime import UTC, datetime\n"
        "from pathlib import Path\n"
        "from ragmem.storage.operational.file import OperationalFile\n"
        "from ragmem.config.settings import AgentsSettings\n"
        "from ragmem.services.agents.agents import Agents\n"
        "now = lambda: datetime.now(UTC)\n"
        "agents = Agents(OperationalFile(Path(sys.argv[1])), AgentsSettings(), now=now)\n"
        "for number in range(10_000):\n"
        "    print(agents.send('one', str(number)).accepted['one'], flush=True)\n"
    )
    sender = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    told = [int(sender.stdout.readline()) for _ in range(20)]
    os.kill(sender.pid, signal.SIGKILL)
    told += [int(line) for line in sender.stdout.read().split()]
    sender.wait()
    sender.stdout.close()
    waiting = [letter.id for letter in agents.messages("one", limit=1_000)]
    assert waiting[: len(told)] == told
    assert len(waiting) - len(told) <= 1
    assert texts(agents, "one", limit=1_000) == [str(number) for number in range(len(waiting))]


def test_what_a_sender_sends_again_with_the_same_key_is_stored_once(agents, open_agents, clock):
    for name in ("one", "two"):
        agents.heartbeat(name)
    first = agents.send("one", "do it", sender="boss", key="k1")
    assert open_agents().send("one", "do it", sender="boss", key="k1") == first
    assert agents.send("one", "do it", sender="other", key="k1").accepted["one"] != first.accepted["one"]
    assert texts(agents, "one") == ["do it", "do it"]
    assert happened(agents, types=("message",)) == ["message", "message"]

    # Of a broadcast that reached one of the two, the other one gets it, and nobody twice.
    agents.send("one", "all hands", sender="boss", key="k2")
    everyone = agents.send("all", "all hands", sender="boss", key="k2")
    assert everyone == agents.send("all", "all hands", sender="boss", key="k2")
    assert [texts(agents, name)[-1:] for name in ("one", "two")] == [["all hands"]] * 2
    assert len(texts(agents, "one")) == 3

    # Something else with the key is not taken for it, and so lost.
    with pytest.raises(ConflictError, match='something else was sent to "one" with this key'):
        agents.send("one", "do more", sender="boss", key="k1")
    assert agents.send("all", "do it", sender="boss", key="k2").accepted == {}

    # Also once it is acknowledged, and where the inbox has become full meanwhile.
    agents.acknowledge("one", [first.accepted["one"]])
    assert open_agents(inbox=1).send("one", "do it", sender="boss", key="k1") == first
    agents.signal("stop", to="one", sender="boss", key="k3")
    agents.signal("resume", to="one", sender="boss")
    agents.signal("stop", to="one", sender="boss", key="k3")
    assert not agents.require("one").should_stop
    with pytest.raises(UsageError, match="the key has 129 characters"):
        agents.send("one", "x", key="k" * 129)


def test_a_file_of_the_release_before_knows_keys_once_it_is_opened(agents, tmp_path, open_agents):
    agents.heartbeat("one")
    agents.send("one", "of before")
    agents.close()
    with closing(sqlite3.connect(tmp_path / OPERATIONAL_NAME)) as connection:
        connection.execute("DROP INDEX messages_by_key")
        connection.execute("ALTER TABLE messages DROP COLUMN key")
        connection.execute("DELETE FROM migrations WHERE component = 'operational' AND version = 2")
        connection.commit()
    later = open_agents()
    sent = later.send("one", "again", key="k")
    assert later.send("one", "again", key="k") == sent
    assert texts(later, "one") == ["of before", "again"]
    # Among the copies of the memory it would be one that cannot be restored.
    assert not (tmp_path / FOLDER).exists()


def test_a_file_that_is_deleted_under_open_agents_is_begun_anew(agents, tmp_path, open_agents):
    other = open_agents()
    agents.heartbeat("one")
    agents.send("one", "of the former file")
    assert in_thread(lambda: texts(other, "one")) == ["of the former file"]
    assert texts(other, "one") == ["of the former file"]
    (tmp_path / OPERATIONAL_NAME).unlink()  # its log stays, as after a careless `rm`
    assert agents.agents() == []
    with pytest.raises(NotFoundError, match="has checked in"):
        other.send("one", "nobody is known")
    agents.heartbeat("one")
    assert in_thread(lambda: other.send("one", "of the new one").accepted) == {"one": 1}
    for each in (agents, other):
        assert texts(each, "one") == in_thread(lambda each=each: texts(each, "one")) == ["of the new one"]
    (status,) = agents.file.database.connection().execute("PRAGMA integrity_check").fetchone()
    assert status == "ok"


def test_another_process_begins_anew_where_only_the_index_of_the_log_was_left(agents, tmp_path):
    agents.heartbeat("one")
    for name in (OPERATIONAL_NAME, f"{OPERATIONAL_NAME}-wal"):
        (tmp_path / name).unlink()
    script = (
        "import sys; from datetime import UTC, datetime; from pathlib import Path\n"
        "from ragmem.storage.operational.file import OperationalFile\n"
        "from ragmem.config.settings import AgentsSettings\n"
        "from ragmem.services.agents.agents import Agents\n"
        "file = OperationalFile(Path(sys.argv[1]))\n"
        "Agents(file, AgentsSettings(), now=lambda: datetime.now(UTC)).heartbeat('two')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    agents.heartbeat("three")
    assert {one.id for one in agents.agents()} == {"two", "three"}


def test_a_file_of_a_newer_ragmem_is_left_alone(agents, tmp_path, open_agents):
    agents.heartbeat("one")
    agents.close()
    with closing(sqlite3.connect(tmp_path / OPERATIONAL_NAME)) as connection:
        connection.execute("INSERT INTO migrations VALUES ('operational', 99, 'later', 'x', 0)")
        connection.commit()
    with pytest.raises(StoreDamagedError, match="newer ragmem"):
        open_agents().agents()


def test_a_shell_script_is_an_agent(tmp_path):
    """examples/agent.sh answers a message, and ends when it is told to."""
    environ = {
        "HOME": str(tmp_path),
        "RAGMEM_HOME": str(tmp_path),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    agents = Agents(OperationalFile(tmp_path / "data"), AgentsSettings(), now=lambda: datetime.now(UTC))
    agents.heartbeat("asker")
    script = subprocess.Popen(["sh", str(EXAMPLE), "worker"], env=environ, cwd=tmp_path)
    try:
        joined = agents.events(["agent_joined"], after=1, timeout=60)
        assert [event.agent for event in joined.events] == ["worker"]
        agents.send("worker", "nobody can be told", sender="never-seen")
        agents.send("worker", "count the notes\n5  asker  message  of both lines", sender="asker")
        (answer,) = agents.messages("asker", timeout=60)
        assert (answer.sender, answer.text) == ("worker", "done: count the notes")
        agents.signal("stop", to="worker", reason="enough")
        assert script.wait(60) == 0
    finally:
        script.kill()
        script.wait()
    assert agents.require("worker").status == "stopped"
    assert agents.messages("worker") == []
    agents.close()


def test_a_variable_of_a_shell_that_is_empty_stops_nobody(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("RAGMEM_HOME", str(tmp_path))
    run(["agents", "heartbeat", "one"])
    capsys.readouterr()
    assert run(["agents", "signal", "stop", ""]) == 2
    assert '"all"' in capsys.readouterr().err
    assert run(["agents", "heartbeat", "one"]) == 0


@pytest.fixture
def doctor(monkeypatch, tmp_path, capsysbinary):
    """Return what `ragmem doctor` says of agents, as (status, detail, next step)."""
    monkeypatch.setenv("RAGMEM_HOME", str(tmp_path))
    monkeypatch.setenv("RAGMEM_MODELS_BACKEND", "fake")
    monkeypatch.setenv("RAGMEM_STORE_BACKEND", "fake")

    def said():
        run(["doctor", "--json"])
        checks = json.loads(capsysbinary.readouterr().out)["checks"]
        return [(one["status"], one["detail"], one["fix"]) for one in checks if one["name"] == "agents"]

    return said


def test_doctor_tells_of_full_inboxes_of_silent_agents_and_of_damage(doctor, tmp_path):
    assert doctor() == []
    path = tmp_path / "data" / OPERATIONAL_NAME
    file = OperationalFile(path.parent)
    now = datetime.now(UTC)
    clock = Clock()
    agents = Agents(file, AgentsSettings(inbox=1), now=clock)
    clock.now = now - timedelta(hours=1)
    agents.heartbeat("silent")
    agents.send("silent", "anybody there")
    clock.now = now
    agents.heartbeat("lives")
    agents.close()
    ((status, detail, fix),) = doctor()
    assert (status, detail) == ("warning", "messages for agents that are not running: 1, for silent")
    assert "ragmem agents forget" in fix
    agents.acknowledge("silent", [1])
    agents.close()
    assert doctor() == [("ok", "known: 2; waiting messages: 0", "")]
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP INDEX messages_waiting")
    ((status, detail, _),) = doctor()
    assert (status, "messages_waiting" in detail) == ("failed", True)
    with path.open("r+b") as damaged:
        damaged.seek(0)
        damaged.write(b"\0" * 8192)
    ((status, detail, fix),) = doctor()
    assert status == "failed"
    assert fix.startswith("move it aside: mv ")


NAMES = ("one", "two", "three")
names = st.sampled_from(NAMES)


@settings(max_examples=15, stateful_step_count=25)
class Conversations(RuleBasedStateMachine):
    """At least once, in order for each agent, never again once acknowledged: over reconnects and restarts."""

    def __init__(self):
        super().__init__()
        self.folder = TemporaryDirectory()
        self.clock = Clock()
        self.waiting = defaultdict(dict)
        self.settled = defaultdict(set)
        self.seen = defaultdict(set)
        self.cursor = defaultdict(int)
        self.known = set()
        self.highest = 0
        self.open()

    def open(self):
        self.agents = Agents(OperationalFile(Path(self.folder.name)), AgentsSettings(), now=self.clock)

    def teardown(self):
        self.agents.close()
        self.folder.cleanup()

    def accept(self, sort, sent):
        for name, number in sent.accepted.items():
            assert number > self.highest
            self.highest = number
            void = [one for one, kind in self.waiting[name].items() if kind in SUPERSEDES[sort]]
            for one in void:
                self.settled[name].add(one)
                del self.waiting[name][one]
            self.waiting[name][number] = sort

    @rule(name=names)
    def check_in(self, name):
        self.agents.heartbeat(name, status="working")
        self.known.add(name)

    @precondition(lambda self: self.known)
    @rule(name=names, everyone=st.booleans())
    def send(self, name, everyone):
        if everyone:
            sent = self.agents.send("all", "to all", sender=name)
            assert set(sent.accepted) == self.known - {name}
        elif name in self.known:
            sent = self.agents.send(name, "to one")
        else:
            with pytest.raises(NotFoundError):
                self.agents.send(name, "to one")
            return
        self.accept(MessageType.MESSAGE, sent)

    @precondition(lambda self: self.known)
    @rule(sort=st.sampled_from([MessageType.STOP, MessageType.PAUSE, MessageType.RESUME]))
    def signal(self, sort):
        self.accept(sort, self.agents.signal(sort.value))

    @precondition(lambda self: self.known)
    @rule(data=st.data(), limit=st.integers(1, 4))
    def receive_on(self, data, limit):
        name = data.draw(st.sampled_from(sorted(self.known)))
        found = [letter.id for letter in self.agents.messages(name, after=self.cursor[name], limit=limit)]
        rest = [one for one in sorted(self.waiting[name]) if one > self.cursor[name]]
        assert found == rest[:limit]
        self.seen[name] |= set(found)
        self.cursor[name] = max(found, default=self.cursor[name])

    @rule(name=names)
    def reconnect_without_a_cursor(self, name):
        self.cursor[name] = 0

    @precondition(lambda self: any(self.seen.values()))
    @rule(data=st.data())
    def acknowledge(self, data):
        name = data.draw(st.sampled_from(sorted(one for one in self.seen if self.seen[one])))
        ids = data.draw(st.lists(st.sampled_from(sorted(self.seen[name])), min_size=1, max_size=3))
        done = self.agents.acknowledge(name, ids)
        assert set(done.acknowledged) == set(ids) & set(self.waiting[name])
        assert set(done.already) == set(ids) - set(done.acknowledged)
        for one in done.acknowledged:
            self.settled[name].add(one)
            del self.waiting[name][one]

    @rule()
    def restart(self):
        self.agents.close()
        self.open()

    @invariant()
    def what_waits_is_what_was_accepted_and_not_settled(self):
        for name in self.known:
            found = [letter.id for letter in self.agents.messages(name, mark=False)]
            assert found == sorted(self.waiting[name])
            assert not set(found) & self.settled[name]


test_conversations = Conversations.TestCase
