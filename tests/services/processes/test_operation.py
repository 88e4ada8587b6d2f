"""What a long operation writes about its progress, and who sees it."""

import os
import signal
import subprocess
import sys

import pytest

from ragmem.services.processes.operation import FILE, SharedProgress, operation
from ragmem.services.processes.progress import Silent

KILLED = """
import sys, time
from pathlib import Path
from ragmem.services.processes.operation import SharedProgress
from ragmem.services.processes.progress import Silent
with SharedProgress(Path(sys.argv[1]), "seed", Silent()) as shared:
    shared.begin("seed", 7)
    print("begun", flush=True)
    time.sleep(60)
"""


def test_the_steps_of_an_operation_are_seen_until_it_ends(tmp_path):
    moments = iter((0.0, 0.1, 9.0, 9.0))
    with SharedProgress(tmp_path, "setup", Silent(), clock=lambda: next(moments)) as shared:
        assert operation(tmp_path) is None
        shared.begin("seed", 10, unit="bytes")
        shared.advance(2)
        # Half a second has not passed: what is told is a little old, and the work is not slowed down.
        assert operation(tmp_path).done == 0
        shared.advance(3, told="4 exchanges")
        seen = operation(tmp_path)
    assert (seen.name, seen.phase, seen.done, seen.total, seen.unit) == ("setup", "seed", 5, 10, "bytes")
    assert seen.detail == "4 exchanges"
    assert operation(tmp_path) is None


def test_of_two_operations_the_first_is_shown_and_then_the_other(tmp_path):
    with SharedProgress(tmp_path, "seed", Silent()) as second:
        with SharedProgress(tmp_path, "setup", Silent()) as first:
            first.begin("connect", 1)
            second.begin("seed", 2)
            assert operation(tmp_path).name == "setup"
        second.begin("vectors", 3)
        assert operation(tmp_path).phase == "vectors"


def test_a_killed_operation_is_not_shown(tmp_path):
    running = subprocess.Popen([sys.executable, "-c", KILLED, tmp_path], stdout=subprocess.PIPE)
    assert running.stdout.readline() == b"begun\n"
    assert operation(tmp_path).total == 7
    running.send_signal(signal.SIGKILL)
    running.communicate()
    assert operation(tmp_path) is None


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"phase": 1, "unknown": 2}'])
def test_a_file_that_says_nothing_shows_nothing(content, tmp_path):
    with SharedProgress(tmp_path, "seed", Silent()) as shared:
        shared.begin("seed", 1)
        (tmp_path / FILE).write_bytes(content)
        assert operation(tmp_path) is None


def test_an_operation_goes_on_where_its_progress_cannot_be_written(tmp_path):
    (tmp_path / "state").write_text("no folder")
    told = []

    class Telling(Silent):
        def advance(self, steps=1, *, told_now=told, told=""):
            told_now.append((steps, told))

    with SharedProgress(tmp_path / "state", "seed", Telling()) as shared:
        shared.begin("seed", 2)
        shared.advance(2, told="both")
    assert told == [(2, "both")]
    assert not os.path.lexists(tmp_path / "state" / FILE)
