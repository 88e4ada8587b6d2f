"""`ragmem serve` in the place of the warm process: one process a home, whoever asks, however it ends."""

import os
import signal
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from warm_homes import wait_until

from ragmem import client
from ragmem.api.memory import Ragmem
from ragmem.client import runtime
from ragmem.daemon.embedded_server import EmbeddedServer

from .conftest import environment, fill

QUESTION = "why do we deploy PostgreSQL 16 with Kubernetes since the old host ran full"


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A filled home, of which this process is a client with the same settings."""
    with Ragmem.open(environ=environment(tmp_path), home=tmp_path, cwd=tmp_path) as memory:
        fill(tmp_path, memory)
    for name in list(os.environ):
        if name.startswith(("RAGMEM_", "XDG_")) or name.endswith("_API_KEY"):
            monkeypatch.delenv(name)
    for name, value in environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    yield tmp_path
    client.stop(data_of(tmp_path), deadline=time.monotonic() + 10)


def data_of(home):
    return str(home / "ragmem" / "data")


def ask(home, op="status", *, start=False, seconds=60.0, **more):
    return client.ask(data_of(home), {"op": op, **more}, deadline=time.monotonic() + seconds, start=start)


def ask_as_a_hook_does(home, session):
    return ask(
        home, "context", start=True, event="prompt", session=session, prompt=QUESTION, cwd=str(home / "notes")
    )


def holder(home):
    told = ask(home) or {}
    return told.get("process"), told.get("serves", False)


@contextmanager
def asking_on(home):
    """Let a client ask again and again, which starts a process wherever there is none."""
    over = threading.Event()

    def ask_on():
        while not over.wait(0.01):
            ask(home, "tool", start=True, name="status", arguments={})

    client = threading.Thread(target=ask_on)
    client.start()
    try:
        yield
    finally:
        over.set()
        client.join()


def test_serve_takes_the_place_at_the_first_try_and_whoever_follows_it_finds_it_free(home, start):
    before = ask_as_a_hook_does(home, "s1")
    warm, _ = holder(home)

    with start(home) as server:
        with asking_on(home):
            assert wait_until(lambda: holder(home) == (server.process.pid, True))
        log = (home / "ragmem" / "state" / "warm.log").read_text()
        by_serve = ask_as_a_hook_does(home, "s2")
        by_tool = ask(home, "tool", start=True, name="search", arguments={"query": QUESTION, "project": "*"})
        still = holder(home)
        server.process.send_signal(signal.SIGKILL)
        server.process.wait()
        after = ask_as_a_hook_does(home, "s3")
        last, serves = holder(home)

    assert log.count("ended: it was told to") == 1
    assert warm != still[0]
    assert still == (server.process.pid, True)
    assert before["ids"] == by_serve["ids"] == after["ids"] != []
    assert by_serve["rung"] == by_tool["rung"] == "warm"
    assert "Kubernetes" in by_tool["text"]
    assert last not in (None, warm, server.process.pid)
    assert not serves


def test_it_gives_the_place_up_when_it_ends_or_other_settings_ask(home, start, monkeypatch):
    with start(home) as server:
        assert wait_until(lambda: holder(home) == (server.process.pid, True))
        monkeypatch.setenv("RAGMEM_QUERY_LIMIT", "3")
        other = ask_as_a_hook_does(home, "s1")
        instead, serves = holder(home)
        assert client.stop(data_of(home), deadline=time.monotonic() + 10)
        assert server.process.poll() is None
        assert server.end() == 0

    assert other["ids"]
    assert instead not in (None, server.process.pid)
    assert not serves
    assert not runtime.is_running(data_of(home))


def test_where_there_is_to_be_no_warm_process_serve_is_none_either(home, monkeypatch):
    def holds_the_place(memory):
        guest = EmbeddedServer(memory, warn=pytest.fail)
        guest.begin()
        try:
            return any(thread.name == "socket" for thread in threading.enumerate()) and wait_until(
                lambda: holder(home) == (os.getpid(), True)
            )
        finally:
            guest.end()

    with Ragmem.open(home=home, cwd=home) as memory:
        assert holds_the_place(memory)
        monkeypatch.setenv("RAGMEM_WARM", "off")
        assert not holds_the_place(memory)

    assert not runtime.is_running(data_of(home))


def test_where_serve_cannot_listen_it_leaves_the_place_to_others(home):
    place = Path(runtime.runtime_folder(data_of(home)))
    in_the_way = place / runtime.SOCKET
    in_the_way.mkdir(parents=True, mode=0o700)
    for folder in (place, place.parent):
        folder.chmod(0o700)
    log = home / "ragmem" / "state" / "warm.log"
    try:
        with Ragmem.open(home=home, cwd=home) as memory:
            guest = EmbeddedServer(memory, warn=pytest.fail)
            guest.begin()
            assert wait_until(lambda: log.exists() and "serve does not answer hooks" in log.read_text())
            held = runtime.is_running(data_of(home))
            guest.end()
    finally:
        in_the_way.rmdir()

    assert not held
