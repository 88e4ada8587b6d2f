"""The benchmark of questions: what its stages count, and a run of it on a few notes."""

import json
import subprocess
import sys
import time
import types
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
sys.path.append(str(BENCHMARKS))

from measures.stages import watched  # noqa: E402

OUTER = """
from ragmem.made_inner import inner
def outer(spin):
    spin(0.05)
    inner(spin)
"""
INNER = """
def inner(spin):
    spin(0.1)
"""


def spin(seconds: float) -> None:
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    for name, text in (("ragmem.made_inner", INNER), ("ragmem.made_outer", OUTER)):
        module = types.ModuleType(name)
        monkeypatch.setitem(sys.modules, name, module)
        exec(text, vars(module))
    return module


def test_a_stage_has_the_seconds_of_its_package_without_those_of_the_packages_that_it_calls(made):
    with watched({"ragmem.made_outer": "outer", "ragmem.made_inner": "inner"}) as clock:
        made.outer(spin)
    assert 0.05 <= clock.spent["outer"] < clock.spent["inner"] < 1
    before = dict(clock.spent)
    made.outer(spin)
    assert clock.spent == before


def test_a_package_of_which_nothing_is_loaded_is_no_stage():
    with pytest.raises(LookupError, match="nowhere"), watched({"ragmem.nowhere": "x"}):
        pass


@pytest.mark.slow
def test_stages_and_rest_of_a_question_are_all_of_it(tmp_path: Path):
    notes, one_set = tmp_path / "corpus" / "memory", tmp_path / "eval" / "one"
    for folder in (notes, one_set, tmp_path / "eval" / "questions"):
        folder.mkdir(parents=True)
    for number in range(12):
        (notes / f"{number}.md").write_text(
            f"# Note {number}\n\nThe `Ferry{number}Service` was moved to Redis.\n"
        )
    (one_set / "docs.jsonl").write_text(json.dumps({"id": "a", "text": "Quay waits for `Redis`."}) + "\n")
    asked = [json.dumps({"query": f"where does Ferry number {number} live"}) + "\n" for number in range(20)]
    (one_set / "queries.jsonl").write_text("".join(asked[:10]))
    (tmp_path / "eval" / "questions" / "dev.jsonl").write_text("".join(asked[10:]))
    figures = tmp_path / "figures.json"
    command = [sys.executable, str(BENCHMARKS / "latency.py"), "--sizes", "10", "--json", str(figures)]
    folders = ["--data", str(tmp_path / "eval"), "--corpus", str(tmp_path / "corpus")]
    done = subprocess.run([*command, *folders], capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stderr
    (one,) = json.loads(figures.read_text())["sizes"].values()
    assert one["entities"] > 0
    for stage in ("embedding", "scan", "full text", "rows", "ranking", "rest"):
        assert max(one["warm"][stage]) > 0, stage
    assert len(one["cold"]) == 7
