"""The processes in which the tools run: one command, or a worker that answers, each with a time-out."""

import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

POLL = 0.002
SAMPLE = 0.1
"""Seconds between two looks at the memory of all processes of a command."""

AFTERWARDS = 60
"""Seconds in which what a command leaves running may end by itself."""

TAIL = 400


class Failed(Exception):  # noqa: N818
    """A tool did not do what it was asked for; the text says why."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a worker answered, and what it spent since the answer before, its ended children included."""

    value: Any
    seconds: float
    cpu_seconds: float


@dataclass(frozen=True, slots=True)
class Finished:
    """A process that ended well: what it took, its children included; the peak is that of all together."""

    seconds: float
    cpu_seconds: float
    peak_mb: float
    output: str


def run(
    command: Sequence[str],
    *,
    environ: Mapping[str, str],
    folder: Path,
    timeout: float,
    request: Mapping[str, Any] | None = None,
    good: Collection[int] = (0,),
) -> Finished:
    """Run a command to its end; `request` is the one line that it reads, `good` the codes of a good end.

    Raise Failed when it takes too long, ends with an error, or answers with one.
    """
    output, errors = folder / "out.txt", folder / "err.txt"
    asked = f"{json.dumps(request)}\n" if request else ""
    (folder / "in.txt").write_text(asked, encoding="utf-8")
    with (folder / "in.txt").open() as given, output.open("wb") as out, errors.open("wb") as err:
        started = time.perf_counter()
        process = subprocess.Popen(
            command, env=environ, cwd=folder, stdin=given, stdout=out, stderr=err, start_new_session=True
        )
        pid, largest, looked = 0, 0.0, started
        try:
            while not pid:
                pid, status, usage = os.wait4(process.pid, os.WNOHANG)
                if not pid and time.perf_counter() - started > timeout:
                    raise Failed(f"not done after {timeout:,.0f} s")
                now = time.perf_counter()
                if not pid and now - looked > SAMPLE:
                    largest, looked = max(largest, memory_mb(process.pid)), now
                time.sleep(POLL)
        finally:
            if not pid:
                os.killpg(process.pid, signal.SIGKILL)
                os.wait4(process.pid, 0)
        later = _spent_afterwards(process.pid)
        seconds = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    said = output.read_text(encoding="utf-8", errors="replace")
    if process.returncode not in good:
        raise Failed(f"ended with {process.returncode}: {last_words(errors, said)}")
    for line in said.splitlines():
        if line.startswith('{"error"'):
            raise Failed(json.loads(line)["error"])
    peak = usage.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
    return Finished(seconds, usage.ru_utime + usage.ru_stime + later, max(peak, largest), said)


def _spent_afterwards(session: int) -> float:
    """Wait for the processes that a command has left, end them when they stay; return what they spent."""
    spent: dict[int, float] = {}
    until = time.perf_counter() + AFTERWARDS
    while left := _members(session):
        spent |= left
        if time.perf_counter() > until:
            with suppress(ProcessLookupError):
                os.killpg(session, signal.SIGKILL)
            break
        time.sleep(SAMPLE)
    return sum(spent.values())


def _members(session: int) -> dict[int, float]:
    """Return the processor seconds of each living process of a session; nothing where nobody tells."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        # One that has just ended has no session, or no such file.
        with suppress(OSError):
            if os.getsid(int(folder.name)) != session:
                continue
            state, *fields = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
            if state != "Z":
                # user and system, its own and those of its ended children: fields 14 to 17 of proc(5)
                found[int(folder.name)] = sum(map(int, fields[10:14])) / os.sysconf("SC_CLK_TCK")
    return found


def memory_mb(session: int) -> float:
    """Return what the processes of a session have in memory now, what they share once; 0: nobody tells."""
    total = 0
    for process in _members(session):
        # One that has just ended has no pages.
        with suppress(OSError):
            pages = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii")
            total += sum(map(int, re.findall(r"^Pss:\s*(\d+)", pages, re.MULTILINE)))
    return total / 1024


def last_words(errors: Path, said: str = "") -> str:
    """Return the end of what a process wrote to standard error, else to standard output."""
    text = errors.read_text(encoding="utf-8", errors="replace").strip() or said.strip()
    return " ".join(text[-TAIL:].split())


class Worker:
    """A tool that stays open in a process of its own and answers one request after the other."""

    def __init__(self, command: Sequence[str], *, environ: Mapping[str, str], folder: Path) -> None:
        self._errors = folder / "worker-err.txt"
        with self._errors.open("ab") as err:
            self._process = subprocess.Popen(
                command,
                env=environ,
                cwd=folder,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=err,
                text=True,
                encoding="utf-8",
                start_new_session=True,
            )
        self._lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            # Some tools write to what was standard output when they were imported.
            if line.startswith(('{"value"', '{"error"')):
                self._lines.put(line)
        self._lines.put(None)

    def ask(self, timeout: float, **request: Any) -> Answer:
        """Return the tool's answer; raise Failed."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            line = self._lines.get(timeout=timeout)
        except queue.Empty:
            self.kill()
            raise Failed(f"no answer within {timeout:,.0f} s") from None
        except BrokenPipeError:
            line = None
        if line is None:
            raise Failed(f"the worker ended: {last_words(self._errors)}")
        answer = json.loads(line)
        if "error" in answer:
            raise Failed(answer["error"])
        return Answer(answer["value"], answer["seconds"], answer["cpu_seconds"])

    def memory_mb(self) -> float:
        """Return what it has in memory now, its children included."""
        return memory_mb(self._process.pid)

    def kill(self) -> None:
        """End it as a power cut would."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def close(self, timeout: float = 30) -> None:
        """Let it close its store; kill it when that takes too long."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.close()
            self._process.wait(timeout)
        except (subprocess.TimeoutExpired, BrokenPipeError):
            self.kill()
