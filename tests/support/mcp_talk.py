"""A `ragmem mcp` of a test, and plain talk with it, line by line."""

import json
import os
import select
import subprocess
import sys
import time
from contextlib import suppress

from ragmem.api.memory import Ragmem
from ragmem.services.ingestion.options import DraftOptions

NOTES = {
    "deploy.md": "# Deploy\n\nWe decided to deploy PostgreSQL 16 with Kubernetes: the old host ran full.\n",
    "cache.md": "# Cache\n\nWe use Redis 7 for sessions because Memcached lost data after each restart.\n",
}
QUESTION = "why do we deploy PostgreSQL with Kubernetes"

BEGIN = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    },
}
"""What a client of MCP over HTTP sends first."""

ACCEPT = {"Accept": "application/json, text/event-stream"}


def environment(home, **variables):
    """Return the whole environment of a process with its own home and the fake backends."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "RAGMEM_HOME": str(home / "ragmem"),
        "RAGMEM_MODELS_BACKEND": "fake",
        "RAGMEM_STORE_BACKEND": "fake",
        "RAGMEM_WARM_IDLE_MINUTES": "1",
    } | variables


def fill(home):
    """Store the notes as a project of their own, and return its folder."""
    notes = home / "notes"
    notes.mkdir()
    (notes / ".ragmem.toml").touch()
    for name, text in NOTES.items():
        (notes / name).write_text(text)
    with Ragmem.open(environ=environment(home), home=home, cwd=home) as memory:
        handed = memory.ingestion.draft([notes], DraftOptions())
        memory.ingest(handed.drafts, projects=handed.projects)
    return notes


def request(method, number=1, **params):
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


class Talk:
    """A process that is spoken to; every line that it says must be JSON-RPC."""

    def __init__(self, home, *arguments, cwd=None, **variables):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "ragmem", "mcp", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment(home, **variables),
            cwd=cwd or home,
        )
        self._held = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            with suppress(BrokenPipeError):
                stream.close()

    def say(self, *lines):
        """Send messages, or bytes as they are, as lines."""
        data = b"".join(
            (one if isinstance(one, bytes) else json.dumps(one).encode()) + b"\n" for one in lines
        )
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def hear(self, seconds=60.0):
        """Return the next message; fails where none comes in time."""
        until = time.monotonic() + seconds
        while b"\n" not in self._held:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0.0, until - time.monotonic()))
            assert ready, "nothing was said"
            part = os.read(self.process.stdout.fileno(), 65536)
            assert part, "it has ended"
            self._held += part
        line, _, self._held = self._held.partition(b"\n")
        return checked(json.loads(line))

    def ask(self, method, number=1, **params):
        self.say(request(method, number, **params))
        return self.hear()

    def begin(self, version="2025-11-25", **capabilities):
        client = {"name": "test", "version": "1"}
        told = self.ask(
            "initialize", 0, protocolVersion=version, capabilities=capabilities, clientInfo=client
        )
        self.say({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return told["result"]

    def rest(self, seconds=60.0):
        """Close the input and return what is said until the end, and after how many seconds that came."""
        began = time.monotonic()
        self.process.stdin.close()
        said = self._held + self.process.stdout.read()
        self.process.wait(seconds)
        return [checked(json.loads(line)) for line in said.splitlines()], time.monotonic() - began


def checked(message):
    """Return a message, or an array of them, that JSON-RPC allows a server to send."""
    for one in message if isinstance(message, list) else [message]:
        assert one["jsonrpc"] == "2.0"
        assert ("result" in one) + ("error" in one) + ("method" in one) == 1, one
        if "error" in one:
            assert isinstance(one["error"]["code"], int)
            assert one["error"]["message"]
    return message
