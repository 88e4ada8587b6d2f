"""LightRAG's modes on the example home and a few notes, beside LightRAG itself; the benchmark made short."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "modes.py"
MODES = ("naive", "mix", "hybrid", "local", "global")

pytestmark = pytest.mark.slow


def test_modes_answer_what_the_default_answers_and_are_silent_where_lightrag_itself_is_not(tmp_path: Path):
    corpus, questions = tmp_path / "corpus", tmp_path / "eval" / "questions"
    corpus.mkdir()
    questions.mkdir(parents=True)
    notes = {
        "pool": "The `Quay` service exhausted its connection pool: PostgreSQL closed idle connections.",
        "cache": "We moved sessions from Memcached to `Redis`, because Memcached lost them at each restart.",
        "lock": "The `Ferry` scheduler skipped a run: a stale lock file stayed after a crash.",
    }
    for name, text in notes.items():
        (corpus / f"{name}.md").write_text(f"# What became of {name}\n\n{text}\n")
    asked = {
        "pool": "why did Quay run out of connections",
        "cache": "where are sessions kept and why not in Memcached",
    }
    (questions / "dev.jsonl").write_text(
        "".join(
            json.dumps({"id": name, "query": text, "gold": [f"{name}.md"]}) + "\n"
            for name, text in asked.items()
        )
    )
    figures, page = tmp_path / "figures.json", tmp_path / "page.md"
    words = ["--quick", "--data", str(questions.parent), "--cache", str(tmp_path / "cache")]
    run = subprocess.run(
        [sys.executable, str(SCRIPT), *words, "--json", str(figures), "--markdown", str(page)],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    sets = json.loads(figures.read_text())["sets"]
    assert sets.keys() == {"example", "questions"}
    for systems in sets.values():
        assert systems.keys() == {"default", *MODES, *(f"LightRAG, {mode}" for mode in MODES)}
        for name in ("default", "naive", "mix"):
            # One of three files may come sixth: the last bits of a vector depend on the processor.
            assert systems[name]["recall@5"] > 0.9
        for name in ("default", *MODES):
            assert all(silent for half in systems[name]["nonsense"].values() for silent in half), name
    # Its own order ranks, and knows of nothing that it is no answer.
    assert not any(sets["example"]["LightRAG, mix"]["nonsense"]["seen"])
    assert [sets[name]["default"]["questions"] for name in ("example", "questions")] == [8, 2]
    section = r"BEGIN modes[\s\S]*measured by benchmarks/modes.py of code \w{12}[\s\S]*END modes"
    assert re.search(section, page.read_text())
