"""Run a ragmem command in a new process, and return its costs."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import common

SAMPLE_S = 0.25
"""Seconds from one look at the memory to the next."""


@dataclass(frozen=True, slots=True)
class Run:
    """One process: its exit code, its document, which is empty where it was killed, and what it took.

    `peak_mb` is the most that it and its children had in memory together, `largest_mb` what one of them had.
    """

    code: int
    report: Mapping[str, Any]
    seconds: float
    cpu_seconds: float
    peak_mb: float
    largest_mb: float


def write_source(path: Path, folder: Path) -> Path:
    """Write a sources.toml with all Markdown files below a folder as one source, every one of them kept."""
    glob = json.dumps(f"{folder.as_posix()}/**/*.md")
    path.write_text(f'[sources.notes]\nglob = {glob}\nkind = "auto"\nsignal = "off"\n', encoding="utf-8")
    return path


def ragmem(home: Path, *words: str, person: Path, kill_after: float | None = None) -> Run:
    """Run a command; with `kill_after`, end it and its children so many seconds after its start.

    `person` is the folder that it takes for the user's and runs in: nothing of the user's own configuration
    may matter. What the command writes stands beside the home. Raises SystemExit where it ends with anything
    but 0 and 3 by itself.
    """
    output = home.parent / f"{home.name}.out"
    with output.open("wb") as stream, (home.parent / f"{home.name}.err").open("wb") as errors:
        started = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", "ragmem", *words, "--json", "--quiet"],
            env={**common.environment(home), "HOME": str(person)},
            cwd=person,
            stdout=stream,
            stderr=errors,
            start_new_session=True,
        )
        watch = Watch(process.pid)
        if kill_after is not None:
            timer = threading.Timer(kill_after, os.killpg, (process.pid, signal.SIGKILL))
            timer.start()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        if kill_after is not None:
            timer.cancel()
    code = process.returncode = os.waitstatus_to_exitcode(status)
    if code not in {0, 3} and kill_after is None:
        raise SystemExit(f"ragmem ended with {code}: {(home.parent / f'{home.name}.err').read_text()}")
    report = json.loads(output.read_bytes() or b"{}") if code in {0, 3} else {}
    largest = common.resident_mb(usage)
    return Run(code, report, seconds, usage.ru_utime + usage.ru_stime, watch.end(), largest)


class Watch:
    """Looks at the memory of a process and its children until they end."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._peak = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()

    def _look(self) -> None:
        while not self._over.wait(SAMPLE_S):
            self._peak = max(self._peak, sum(map(_resident, _family(self._pid))))

    def end(self) -> float:
        """Return the largest sum, in MB; 0 where the system does not tell."""
        self._over.set()
        self._thread.join()
        return self._peak / 2**20


def _family(pid: int) -> Iterator[int]:
    yield pid
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    except OSError:
        return
    for child in children:
        yield from _family(int(child))


def _resident(pid: int) -> int:
    """Return the bytes of a process that no other one shares, and its part of those that others do."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)
