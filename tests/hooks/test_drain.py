"""The drain that a hook starts: it outlives the hook, holds nothing of the assistant, and misses nothing."""

import fcntl
import json
import os
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from hook_calls import Hooks
from warm_homes import wait_until

from ragmem.config import hook_defaults
from ragmem.hooks import drain, spool
from ragmem.hooks import spawn as starting


@pytest.fixture
def free(tmp_path):
    """Return the hooks of a home in which drains are started as for a person."""
    hooks = Hooks(tmp_path)
    yield hooks
    assert wait_until(lambda: not is_draining(hooks), 60.0)


@contextmanager
def locked(hooks):
    """Lock the store, so that a drain that has begun does not end."""
    hooks.data.mkdir(parents=True)
    with closing(sqlite3.connect(hooks.data / "memory.db", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        yield


def is_draining(hooks):
    path = hooks.state / drain.LOCK
    if not path.exists():
        return False
    with path.open("rb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


def test_a_drain_takes_up_the_event_and_keeps_nothing_of_the_assistant_open(free):
    reading, writing = os.pipe()
    with locked(free):
        with subprocess.Popen(
            [sys.executable, "-m", "ragmem", "hook", "SessionEnd"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=free.environ,
            cwd=free.project,
            pass_fds=[writing],
        ) as process:
            os.close(writing)
            printed, _ = process.communicate(json.dumps(free.fields("SessionEnd")).encode(), timeout=30)
        with os.fdopen(reading, "rb") as pipe:
            assert (process.returncode, printed, pipe.read()) == (0, b"", b"")
        assert is_draining(free), "the pipe ended with the drain, or none was started"

    assert "a new drain" in free.log()


def test_many_hooks_at_once_start_one_drain(free):
    line = [sys.executable, "-m", "ragmem", "hook", "SessionEnd"]
    with locked(free):
        processes = [
            subprocess.Popen(line, stdin=subprocess.PIPE, env=free.environ, cwd=free.project)
            for _ in range(8)
        ]
        for number, process in enumerate(processes):
            process.communicate(json.dumps(free.fields("SessionEnd", session_id=f"s{number}")).encode())

    assert [process.returncode for process in processes] == [0] * 8
    assert free.log().count("a new drain") == 1
    # Their transcript is not there: each event is taken up, and waits for it.
    claimed = spool.CLAIMED
    assert wait_until(
        lambda: [path.endswith(claimed) for path in spool.list_events(free.data)] == [True] * 8, 30.0
    )


def test_what_comes_after_the_last_look_of_a_drain_is_taken_up_by_another(free):
    free.state.mkdir(parents=True)
    held = os.open(free.state / drain.LOCK, os.O_RDWR | os.O_CREAT)
    fcntl.flock(held, fcntl.LOCK_EX)
    free.call("SessionEnd", transcript_path="")
    assert "the running drain" in free.log()
    environ = {**free.environ, hook_defaults.LOCK: str(held)}

    drain.release(str(free.data), str(free.state), environ, left=[])

    assert wait_until(lambda: spool.is_empty(free.data), 30.0)


def test_what_a_drain_had_to_leave_starts_no_other(free):
    free.state.mkdir(parents=True)
    held = os.open(free.state / drain.LOCK, os.O_RDWR | os.O_CREAT)
    fcntl.flock(held, fcntl.LOCK_EX)
    free.call("SessionEnd")
    environ = {**free.environ, hook_defaults.LOCK: str(held)}

    drain.release(str(free.data), str(free.state), environ, left=spool.list_events(free.data))

    assert not is_draining(free)
    assert len(spool.list_events(free.data)) == 1


def test_turns_that_follow_each_other_closely_let_somebody_begin_once(free):
    free.call("Stop")
    free.call("Stop", session_id="s2")

    assert free.log().splitlines()[-1].split(" stored")[1].startswith(" ")
    assert free.log().count("to be ingested by") == 1


def test_where_no_session_of_its_own_can_be_had_a_process_is_started_nevertheless(free, monkeypatch):
    spawn = os.posix_spawn

    def old(*arguments, setsid=False, **options):
        if setsid:
            raise NotImplementedError
        return spawn(*arguments, **options)

    monkeypatch.setattr(os, "posix_spawn", old)
    free.data.mkdir(parents=True)

    starting.start(["check", "-", "--session", "s1"], free.environ, folder=str(free.data))

    assert wait_until(lambda: "check failed: there are no rules" in free.log(), 30.0)


def test_children_are_reaped_and_the_working_folder_is_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    environ = {**os.environ, "RAGMEM_HOME": str(tmp_path / "home")}
    start = os.posix_spawn

    def start_slowly(*given, **more):
        time.sleep(0.02)
        return start(*given, **more)

    monkeypatch.setattr(os, "posix_spawn", start_slowly)
    with ThreadPoolExecutor(8) as threads:
        children = list(threads.map(lambda _: starting.start(["--version"], environ, folder="/"), range(8)))

    assert Path.cwd() == tmp_path
    assert len(set(children)) == 8

    def are_reaped():
        starting.reap()
        return not starting._children

    assert wait_until(are_reaped)
    for child in children:
        with pytest.raises(ChildProcessError):
            os.waitpid(child, os.WNOHANG)
