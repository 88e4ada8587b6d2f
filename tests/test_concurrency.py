"""A server, four writers and a reader on one home at once; the benchmark of that, made short."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "concurrency.py"

pytestmark = pytest.mark.slow


def test_side_by_side_nothing_is_lost_and_no_reader_waits(tmp_path: Path):
    figures = tmp_path / "figures.json"
    words = ["--quick", "--seconds", "3", "--size", "60", "--models", "fake", "--json", str(figures)]
    run = subprocess.run(
        [sys.executable, str(SCRIPT), *words], capture_output=True, text=True, timeout=240, check=False
    )
    assert run.returncode == 0, run.stderr
    found = json.loads(figures.read_text())
    assert found["errors"] == []
    assert found["violations"] == []
    assert found["lost"] == 0
    assert found["acknowledged"] >= 8
    assert found["memories"] == 60 + found["acknowledged"]
    waits = found["figures"]["reader: open the home and read a snapshot"]["busy"]
    assert waits["n"] > 0
    # Milliseconds as a rule, also on a machine that is busy; behind a writer it would be its whole turn.
    assert waits["p50"] < 1
    # Each had its turn about as often as the others.
    assert max(found["per_writer"]) <= 2 * min(found["per_writer"]) + 3, found["per_writer"]
