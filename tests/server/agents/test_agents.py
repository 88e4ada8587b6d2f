"""Agents over HTTP: real client processes, killed and resumed, and a server that is killed too."""

import asyncio
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from ragmem.api.memory import Ragmem
from ragmem.server.agents import agents
from ragmem.server.uvicorn_server import GRACE, bind
from tests.server.conftest import TOKEN, client_of, environment

CLIENT = Path(__file__).parents[2] / "support" / "agent_client.py"


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """An application in this process whose inboxes hold two messages, and its memory."""
    home = tmp_path_factory.mktemp("small")
    environ = environment(home, RAGMEM_AGENTS_INBOX="2")
    with Ragmem.open(environ=environ, home=home, cwd=home) as memory, client_of(memory) as client:
        yield client, memory


@pytest.fixture(scope="module")
def http(server):
    with httpx.Client(base_url=server.url, headers=server.headers, timeout=60) as client:
        yield client


def beat(http, name, **said):
    return http.post("/heartbeat", json={"agent_id": name, **said}).json()


def send(http, to, text, **more):
    sent = http.post("/signal", json={"to": to, "type": "message", "text": text, **more})
    assert sent.status_code == 200, sent.text
    return sent.json()


def streamed(http, name, *, enough, after="", seconds=60):
    """Return the first messages of a stream of an agent."""
    found = []
    headers = {"Last-Event-ID": after} if after else {}
    with http.stream(
        "GET", "/messages", params={"agent_id": name, "seconds": seconds}, headers=headers
    ) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        for line in answer.iter_lines():
            if line.startswith("data: "):
                found.append(json.loads(line[6:]))
                if len(found) == enough:
                    break
    return found


def until(holds, seconds=60):
    limit = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < limit, "it did not come about"
        time.sleep(0.02)


def lines(path):
    return path.read_text().split("\n")[:-1] if path.exists() else []


@contextmanager
def agent(server, name, folder, *arguments):
    """Run the agent of tests/support/agent_client.py as a process."""
    process = subprocess.Popen(
        [sys.executable, str(CLIENT), server.url, server.token, name, str(folder), *map(str, arguments)]
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


def test_two_processes_talk_and_one_that_is_killed_goes_on_where_it_was(server, http, tmp_path):
    count = 20
    beat(http, "pong")  # who is asked has to be known, even if it is not there yet
    with agent(server, "ping", tmp_path, count, "pong"):
        with agent(server, "pong", tmp_path) as killed:
            until(lambda: len(lines(tmp_path / "pong.got")) >= 5)
            killed.send_signal(signal.SIGKILL)
            killed.wait()
        assert len(lines(tmp_path / "pong.got")) < count
        with agent(server, "pong", tmp_path) as pong:
            until(lambda: set(lines(tmp_path / "ping.got")) >= {f"answer {one}" for one in range(count)})
            until(lambda: not beat(http, "pong")["has_messages"])
            got = lines(tmp_path / "pong.got")
            # In order; what was in hand when it was killed may have come twice.
            assert list(dict.fromkeys(got)) == [f"ask {one}" for one in range(count)]
            assert len(got) <= count + 1
            acknowledged = lines(tmp_path / "pong.acknowledged")
            assert len(acknowledged) == len(set(acknowledged))
            assert len(acknowledged) >= count - 1

            stop = http.post("/signal", json={"type": "stop", "reason": "enough"}).json()
            listening = {one["agent_id"]: one["listening"] for one in stop["accepted"]}
            assert listening["pong"] is True
            assert pong.wait(60) == 0
    until(lambda: not http.get("/agents").json()["listeners"])
    ended = {one["id"]: one["status"] for one in http.get("/agents").json()["agents"]}
    assert ended["pong"] == ended["ping"] == "stopped"


def test_a_server_that_is_killed_hands_out_again_what_nobody_acknowledged(start, tmp_path):
    with start(tmp_path) as killed:
        with httpx.Client(base_url=killed.url, headers=killed.headers, timeout=60) as http:
            beat(http, "one", status="working")
            for number in range(3):
                send(http, "one", f"message {number}")
            first, *_ = streamed(http, "one", enough=3)
            http.post("/messages/ack", json={"agent_id": "one", "ids": [first["id"]]})
            http.post("/signal", json={"to": "one", "type": "pause", "reason": "lunch"})
        killed.end(signal.SIGKILL)
    with (
        start(tmp_path) as again,
        httpx.Client(base_url=again.url, headers=again.headers, timeout=60) as http,
    ):
        assert beat(http, "one")["pause_reason"] == "lunch"
        assert [one["text"] for one in streamed(http, "one", enough=3)] == [
            "message 1",
            "message 2",
            "lunch",
        ]
        # Who says what it has is sent the rest.
        rest = streamed(http, "one", enough=1, after=str(first["id"] + 1))
        assert [one["text"] for one in rest] == ["message 2"]
        # An open stream does not hold up the end of the server.
        with http.stream("GET", "/messages", params={"agent_id": "one"}) as answer:
            pieces = answer.iter_lines()
            next(pieces)
            began = time.monotonic()
            again.process.send_signal(signal.SIGTERM)
            assert "data" in "".join(pieces)
        assert again.process.wait(60) == 0
        assert time.monotonic() - began < GRACE


def test_what_another_process_sends_reaches_a_stream_in_time(server, http):
    beat(http, "here")
    home = Path(server.said[0].partition("token in ")[2]).parents[2]
    took = []

    def send_from_elsewhere(number):
        took.append(time.monotonic())
        elsewhere.agents.send("here", f"from elsewhere {number}")

    with (
        Ragmem.open(environ={"RAGMEM_HOME": str(home / "ragmem")}, home=home, cwd=home) as elsewhere,
        http.stream("GET", "/messages", params={"agent_id": "here"}) as answer,
    ):
        pieces = answer.iter_lines()
        next(pieces)
        for number in range(3):
            time.sleep(0.15)
            sender = threading.Thread(target=send_from_elsewhere, args=(number,))
            sender.start()
            message = next(json.loads(line[6:]) for line in pieces if line.startswith("data: "))
            took[-1] = time.monotonic() - took[-1]
            sender.join()
            assert message["text"] == f"from elsewhere {number}"
    # The keep-alive comes after 15 seconds.
    assert sorted(took)[1] < 3


def test_long_polls_end_at_once_when_something_happens(server, http):
    beat(http, "poller")
    known = http.get("/events", params={"agent_id": "poller"}).json()["cursor"]

    async def all_three():
        async with httpx.AsyncClient(base_url=server.url, headers=server.headers, timeout=60) as many:
            pending = asyncio.create_task(
                many.get("/messages/pending", params={"agent_id": "poller", "wait": 20})
            )
            event = asyncio.create_task(
                many.get("/events", params={"types": ["build_done"], "after": known, "wait": 20})
            )
            await asyncio.sleep(0.2)
            await many.post("/signal", json={"to": "poller", "type": "message", "text": "now"})
            await many.post("/events", json={"type": "build_done", "agent_id": "poller", "data": {"n": 1}})
            return (await pending).json(), (await event).json()

    began = time.monotonic()
    pending, event = asyncio.run(all_three())
    assert time.monotonic() - began < 15
    assert [one["text"] for one in pending["messages"]] == ["now"]
    assert [(one["type"], one["data"]) for one in event["events"]] == [("build_done", {"n": 1})]
    assert event["cursor"] > known


def test_the_stream_for_the_page_tells_of_everything_from_a_cursor_on(http):
    cursor = http.get("/agents").json()["cursor"]
    beat(http, "shown", status="working", current_task="tides")
    http.post("/status", json={"agent_id": "shown", "status": "working", "progress": 50})
    send(http, "shown", "a long text " * 100)
    found = []
    with http.stream("GET", "/agents/events", params={"after": cursor, "seconds": 10}) as answer:
        for line in answer.iter_lines():
            # Those of other tests may become stale just now.
            if line.startswith("data: ") and (one := json.loads(line[6:]))["agent"] == "shown":
                found.append(one)
            if len(found) == 3:
                break
    assert [one["type"] for one in found] == ["agent_joined", "agent_status", "message"]
    assert found[1]["data"]["progress"] == 50
    assert len(found[2]["data"]["head"]) <= 120


@pytest.mark.parametrize("published", [True, False])
def test_the_field_names_of_the_published_design_are_understood(http, published):
    beat(http, "fields")
    http.post("/messages/ack", json={"agent_id": "fields", "ids": list(range(1, 500))})
    document = (
        {"from_agent_id": "b", "to_agent_id": "fields", "signal": "stop", "context": {"why": "x"}}
        if published
        else {"from": "b", "to": "fields", "type": "stop", "data": {"why": "x"}}
    )
    assert http.post("/signal", json=document).status_code == 200
    (message,) = http.get("/messages/pending", params={"agent_id": "fields"}).json()["messages"]
    assert (message["from"], message["type"], message["data"]) == ("b", "stop", {"why": "x"})
    answer = beat(http, "fields", config_name="c", project_path="/p", status="working", current_task="t")
    assert answer["ok"] is True
    assert answer["should_stop"] is True
    assert answer["message_count"] == 1
    assert http.get("/shutdown-check", params={"agent_id": "fields"}).json()["should_stop"] is True
    http.post("/signal", json={"to": "fields", "type": "resume"})


def test_a_signal_that_names_its_agent_otherwise_stops_nobody(http):
    beat(http, "named")
    refused = http.post("/signal", json={"agent_id": "named", "type": "stop"})
    assert (refused.status_code, refused.json()["detail"][0]["loc"]) == (422, ["body", "agent_id"])
    assert beat(http, "named")["should_stop"] is False


def test_what_cannot_be_done_is_refused_with_the_next_step(http):
    unknown = http.get("/messages", params={"agent_id": "nobody"})
    assert unknown.status_code == 404
    assert "heartbeat" in unknown.json()["hint"]
    assert http.post("/signal", json={"to": "nobody", "type": "stop"}).status_code == 404
    assert http.post("/heartbeat", json={"agent_id": "../x"}).status_code == 422
    assert http.post("/signal", json={"to": "a b", "type": "stop"}).status_code == 400
    assert http.post("/signal", json={"type": "explode"}).status_code == 422
    assert http.post("/events", json={"type": "agent_joined"}).status_code == 400
    beat(http, "short-lived")
    assert http.delete("/agents/short-lived").status_code == 204
    assert http.delete("/agents/short-lived").status_code == 404


def test_every_route_wants_the_token(server):
    paths = ("/agents", "/agents/events", "/messages?agent_id=one", "/messages/pending?agent_id=one")
    with httpx.Client(base_url=server.url, timeout=60) as stranger:
        for path in (*paths, "/shutdown-check?agent_id=one", "/events"):
            assert stranger.get(path).status_code == 401, path
        for path in ("/heartbeat", "/status", "/signal", "/messages/ack", "/events"):
            assert stranger.post(path, json={}).status_code == 401, path


def test_the_streams_of_a_browser_end_when_it_logs_out(server):
    with httpx.Client(base_url=server.url, timeout=60) as browser:
        csrf = browser.post("/session", json={"token": server.token}).json()["csrf_token"]
        with browser.stream("GET", "/agents/events", params={"seconds": 40}) as answer:
            pieces = answer.iter_lines()
            next(pieces)
            began = time.monotonic()
            browser.delete("/session", headers={"X-CSRF-Token": csrf}).raise_for_status()
            assert not any(piece.startswith("event") for piece in pieces)
        assert time.monotonic() - began < 30


def test_a_full_inbox_answers_429_and_tells_when_to_come_again(small):
    client, _ = small
    client.post("/heartbeat", agent_id="full")
    for text in ("a", "b"):
        assert client.post("/signal", to="full", type="message", text=text).status_code == 200
    full = client.post("/signal", to="full", type="message", text="c")
    assert full.status_code == 429
    assert int(full.headers["Retry-After"]) > 0
    everyone = client.post("/signal", to="all", type="message", text="d").json()
    assert [one["agent_id"] for one in everyone["refused"]] == ["full"]


def test_a_signal_that_is_sent_again_with_its_key_is_stored_once(http):
    beat(http, "keyed")
    sent = [send(http, "keyed", "do it", key="9f0c") for _ in range(2)]
    assert sent[0] == sent[1]
    pending = http.get("/messages/pending", params={"agent_id": "keyed"}).json()["messages"]
    assert [one["text"] for one in pending] == ["do it"]


def test_agents_go_on_when_their_file_was_deleted_under_the_server(small):
    client, memory = small
    for _ in range(4):  # until each of the threads has the file open
        client.post("/heartbeat", agent_id="gone")
    memory.agents.file.database.path.unlink()
    assert client.get("/agents").json()["agents"] == []
    assert client.post("/signal", to="gone", type="message", text="a").status_code == 404
    for _ in range(4):
        assert client.post("/heartbeat", agent_id="back").status_code == 200
    assert client.post("/signal", to="back", type="message", text="b").status_code == 200
    pending = client.get("/messages/pending", agent_id="back").json()["messages"]
    assert [one["text"] for one in pending] == ["b"]


def test_no_answer_waits_for_the_acknowledgement_of_its_head():
    # asyncio turns Nagle's algorithm off for sockets that say they are TCP; else it is 40 ms for each answer.
    with bind("127.0.0.1", 0) as listening:
        assert listening.proto == socket.IPPROTO_TCP


async def open_streams(server, names):
    """Return the connections of streams of messages, each after its first bytes."""
    opened = []
    for name in names:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(
            f"GET /messages?agent_id={name} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            f"X-API-Key: {server.token}\r\n\r\n".encode()
        )
        opened.append((reader, writer))
    for reader, _ in opened:
        await reader.readuntil(b": open\n\n")
    return opened


def test_three_hundred_streams_come_and_go_and_leave_nothing(server, http):
    beat(http, "many")

    async def come_and_go():
        for _ in range(3):
            opened = await open_streams(server, ["many"] * 100)
            assert http.get("/agents").json()["listeners"] >= 100
            for _, writer in opened:
                writer.transport.abort()

    asyncio.run(come_and_go())
    until(lambda: http.get("/agents").json()["listeners"] == 0)
    assert not any(one["listening"] for one in http.get("/agents").json()["agents"])


def test_a_broadcast_reaches_all_listeners_while_one_reads_nothing(server, http):
    names = [f"listener-{number}" for number in range(40)]
    for name in (*names, "slow"):
        beat(http, name)
    with socket.create_connection(("127.0.0.1", server.port)) as unread:
        unread.sendall(
            f"GET /messages?agent_id=slow HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            f"X-API-Key: {server.token}\r\n\r\n".encode()
        )
        for _ in range(20):
            send(http, "slow", "x" * 60_000)

        async def broadcast():
            opened = await open_streams(server, names)
            began = time.monotonic()
            sent = await asyncio.to_thread(send, http, "all", "to everyone")
            assert {one["agent_id"] for one in sent["accepted"]} >= set(names)
            for reader, writer in opened:
                assert b"to everyone" in await asyncio.wait_for(reader.readuntil(b"}\n\n"), 60)
                writer.transport.abort()
            return time.monotonic() - began

        assert asyncio.run(broadcast()) < 15


async def asked_in_process(app, path, query, until_sent, then=None):
    """Ask an application for a stream, leave once `until_sent` is in it; `then` is called once it is open."""
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query,
        "root_path": "",
        "headers": [(b"host", b"127.0.0.1:9622"), (b"x-api-key", TOKEN.encode())],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 9622),
    }
    sent = b""
    leaves = asyncio.Event()

    async def receive():
        await leaves.wait()
        return {"type": "http.disconnect"}

    async def send_piece(message):
        nonlocal sent
        sent += message.get("body", b"")
        if then is not None and message.get("body", b"").startswith(b"retry"):
            then()
        if until_sent in sent:
            leaves.set()

    async with asyncio.timeout(60):
        await app(scope, receive, send_piece)
    return sent


def test_a_quiet_stream_is_kept_alive_and_forgotten_when_its_reader_leaves(monkeypatch, small):
    client, _ = small
    monkeypatch.setattr(agents, "KEEP_ALIVE_S", 0.05)
    client.post("/heartbeat", agent_id="one")
    sent = client.runner.run(
        asked_in_process(client.app, "/messages", b"agent_id=one", b": keep-alive\n\n: keep-alive")
    )
    assert sent.startswith(b"retry: ")
    assert client.get("/agents").json()["listeners"] == 0


def test_the_stream_of_an_agent_that_is_forgotten_says_so_and_ends(monkeypatch, small):
    client, memory = small
    monkeypatch.setattr(agents, "KEEP_ALIVE_S", 0.05)
    client.post("/heartbeat", agent_id="one")
    sent = client.runner.run(
        asked_in_process(
            client.app, "/messages", b"agent_id=one", b"never", lambda: memory.agents.forget("one")
        )
    )
    assert b"event: refused" in sent
    assert b"has checked in" in sent
    assert client.get("/agents").json()["listeners"] == 0
