"""A home of a test, and what can be asked of its warm process."""

import subprocess
import time
from pathlib import Path

from ragmem import client
from ragmem.client import runtime

NOTE = "# Deploy\n\nWe decided to deploy PostgreSQL 16 with Kubernetes because the old host ran full.\n"
QUESTION = "where do we deploy PostgreSQL since the old host ran full"


def processes(data):
    """Return the ids of the warm processes of a home."""
    ps = ["ps", "-ww", "-axo", "pid=,command="]
    listed = subprocess.run(ps, capture_output=True, text=True, check=True).stdout
    words = [line.split() for line in listed.splitlines()]
    return [
        int(each[0]) for each in words if str(data) in each and any("daemon/__main__" in one for one in each)
    ]


def wait_until(said, seconds=60.0):
    """Wait until something is so, and return whether it came to be."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if said():
            return True
        time.sleep(0.02)
    return False


class Warm:
    """A home, and what can be asked of its warm process."""

    def __init__(self, home):
        self.data = home / "data"
        self.config = home / "config"
        self.state = home / "state"
        for folder in (self.data, self.config):
            folder.mkdir(parents=True)

    @property
    def place(self):
        return Path(runtime.runtime_folder(str(self.data)))

    def ask(self, op="ping", *, seconds=60.0, start=True, **request):
        deadline = time.monotonic() + seconds
        return client.ask(str(self.data), {"op": op, **request}, deadline=deadline, start=start)

    def context(self, prompt=QUESTION, *, session="s1", cwd="/", **more):
        return self.ask("context", event="prompt", session=session, prompt=prompt, cwd=cwd, **more)

    def start(self):
        """Start the process and return its id, once it has loaded."""
        assert wait_until(lambda: (self.ask() or {}).get("ready"))
        return self.ask()["process"]

    def stop(self):
        assert client.stop(str(self.data), deadline=time.monotonic() + 5)

    def log(self):
        path = self.state / "warm.log"
        return path.read_text() if path.exists() else ""
