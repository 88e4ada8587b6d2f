"""The server of the socket, in a process that lives on when it has ended."""

import gc
import socket
from pathlib import Path

from ragmem.daemon.server import Server


def _open_files():
    return sum(1 for _ in Path("/dev/fd").iterdir())


def test_a_server_that_has_ended_leaves_no_file_open_and_may_be_told_to_end_again(tmp_path):
    gc.collect()
    gc.disable()
    try:
        before = _open_files()
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listening.bind(str(tmp_path / "socket"))
        listening.listen()
        server = Server(listening, answer=lambda *_: {}, at_once=lambda _: {})

        assert server.serve(lambda: "enough", every=lambda: 1.0) == "enough"
        assert server.close(grace=1.0)
        server.release()
        server.end("once more")

        assert _open_files() == before
    finally:
        gc.enable()
