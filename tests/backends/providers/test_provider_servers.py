"""The servers of these tests: silent where a client gives up, and not where they are wrong themselves."""

import socket
import struct
import time

from provider_protocols import OpenAI
from provider_servers import serving

HEAD = b"POST /v1/embeddings HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"


def send(server, raw, *, reset):
    host, port = server.root.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as client:
        client.sendall(raw)
        if reset:
            # Closed so, it sends a reset.
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        else:
            client.recv(1)


def test_a_client_that_resets_leaves_no_traceback_and_a_bug_does(capfd):
    with serving(OpenAI()) as server:
        server.ended = []
        shut, server._http.shutdown_request = (
            server._http.shutdown_request,
            lambda request: (shut(request), server.ended.append(request)),
        )
        send(server, HEAD % 100 + b"{", reset=True)
        wait_for(lambda: len(server.ended) == 1)
        assert capfd.readouterr().err == ""
        send(server, HEAD % 1 + b"{", reset=False)
        wait_for(lambda: len(server.ended) == 2)
    assert "JSONDecodeError" in capfd.readouterr().err


def wait_for(holds):
    until = time.monotonic() + 10
    while not holds() and time.monotonic() < until:
        time.sleep(0.005)
    assert holds()
