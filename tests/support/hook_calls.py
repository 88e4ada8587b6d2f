"""A hook as an assistant calls it: a process, JSON on its standard input, and a home of the test's own."""

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from ragmem.hooks import spool


@dataclass(frozen=True, slots=True)
class Called:
    """What became of a hook."""

    code: int
    stdout: bytes
    stderr: bytes
    seconds: float

    @property
    def said(self):
        """The JSON that it answered, None where it answered nothing."""
        return json.loads(self.stdout) if self.stdout else None

    @property
    def told(self):
        """The text that it brought."""
        said = self.said or {}
        return said.get("hookSpecificOutput", {}).get("additionalContext", "")


class Hooks:
    """The hooks of one home, by an assistant's contract; nothing that lives on is started unless asked."""

    def __init__(self, folder):
        self.home = folder / "home"
        self.project = folder / "project"
        self.project.mkdir()
        self.transcript = folder / "claude" / "s1.jsonl"
        self.environ = {
            **os.environ,
            "RAGMEM_HOME": str(self.home),
            "RAGMEM_MODELS_BACKEND": "fake",
            "RAGMEM_STORE_BACKEND": "fake",
            "RAGMEM_WARM": "off",
            # On a machine that is busy the event counts, not the time; tests of the deadline set it.
            "RAGMEM_HOOKS_WRITE_DEADLINE_S": "10",
            "RAGMEM_HOOKS_DRAIN_EVERY_S": "60",
        }

    def fields(self, event, **fields):
        common = {"session_id": "s1", "transcript_path": str(self.transcript), "cwd": str(self.project)}
        return {**common, "hook_event_name": event, **fields}

    def call(self, event, *arguments, raw=None, stdin=None, environ=None, **fields):
        """Run the hook of an event to its end."""
        given = raw if raw is not None else json.dumps(self.fields(event, **fields)).encode()
        began = time.monotonic()
        result = subprocess.run(
            [sys.executable, "-m", "ragmem", "hook", event, *arguments],
            **({"stdin": stdin} if stdin is not None else {"input": given}),
            capture_output=True,
            timeout=30,
            check=False,
            env={**self.environ, **(environ or {})},
            cwd=self.project,
        )
        return Called(result.returncode, result.stdout, result.stderr, time.monotonic() - began)

    @property
    def data(self):
        return self.home / "data"

    @property
    def state(self):
        return self.home / "state"

    def waiting(self):
        return [spool.read(path) for path in spool.list_events(self.data)]

    def log(self):
        path = self.state / "hooks.log"
        return path.read_text() if path.exists() else ""

    def hold_drain(self):
        """Let no drain be started: one runs already, as far as hooks can tell. Return what to close."""
        import fcntl

        self.state.mkdir(parents=True, exist_ok=True)
        lock = Path(self.state, "hooks.drain").open("a+b")  # noqa: SIM115 - the caller closes it
        fcntl.flock(lock, fcntl.LOCK_EX)
        return lock
