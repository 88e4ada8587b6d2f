"""How a server ends: what streams are told, what a second signal does, and a start that fails."""

import http.client
import json
import signal
import time

import httpx

from ragmem.server.uvicorn_server import GRACE


def test_a_stream_is_ended_and_the_process_with_it(start, tmp_path):
    with start(tmp_path, "--log-format", "json", "--log-level", "info") as server:
        torn = {**server.headers, "Content-Type": "multipart/form-data; boundary=b"}
        assert (
            httpx.post(
                f"{server.url}/documents/upload", headers=torn, content=b"\xff", timeout=60
            ).status_code
            == 400
        )
        with httpx.stream("GET", f"{server.url}/agents/events", headers=server.headers, timeout=60) as stream:
            assert stream.status_code == 200
            server.process.send_signal(signal.SIGTERM)
            began = time.monotonic()
            for _ in stream.iter_bytes():
                pass
        said = server.process.communicate(timeout=60)[1]
        assert server.process.returncode == 0
        assert time.monotonic() - began < GRACE
    lines = [json.loads(line) for line in said.splitlines()]
    events = [line["event"] for line in lines]
    assert "ending" in events
    # A library's own words are lines of the same form.
    assert any(line["event"] == "server" and "boundary" in line["message"] for line in lines)
    [asked] = [line for line in lines if line["event"] == "request" and line["method"] == "GET"]
    assert (asked["route"], asked["status"]) == ("/agents/events", 200)


def test_a_second_signal_ends_it_at_once(start, tmp_path):
    with start(tmp_path) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        connection.putrequest("POST", "/query")
        for name, value in server.headers.items():
            connection.putheader(name, value)
        connection.putheader("Content-Type", "application/json")
        connection.putheader("Content-Length", "2")
        # It says so as soon as it reads the body.
        connection.putheader("Expect", "100-continue")
        connection.endheaders()
        assert connection.sock.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.send(b"{")
        server.process.send_signal(signal.SIGTERM)
        time.sleep(0.5)
        assert server.process.poll() is None
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(timeout=GRACE / 2) == 130
        connection.close()
        assert "ended at once" in server.process.stderr.read()
