"""A real server of OpenAI's shape, mlx-lm's or mlx-vlm's, with a model of random weights, on loopback."""

import os
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from urllib.error import URLError
from urllib.request import urlopen

STARTS_S = 60.0


@contextmanager
def language_server(model, hub, *, program="mlx_lm.server"):
    """Yield the address of a server of the model of a folder; `hub` is an empty folder.

    The server needs some seconds to start, and is ended with the context.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    line = [sys.executable, "-m", program, "--model", str(model), "--host", "127.0.0.1", "--port", str(port)]
    # Without this folder it drops the connection of whoever asks for its models.
    environ = {**os.environ, "MLX_DISABLE_COMPILE": "1", "HF_HUB_OFFLINE": "1", "HF_HUB_CACHE": str(hub)}
    process = subprocess.Popen(line, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + STARTS_S
        while True:
            assert process.poll() is None, "the server ended"
            assert time.monotonic() < deadline, "the server did not start"
            try:
                urlopen(f"http://127.0.0.1:{port}/health", timeout=1).close()
                break
            except (URLError, OSError):
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()
