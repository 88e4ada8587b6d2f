"""The benchmark of other tools: what it counts, and a run of it on a few notes with ragmem alone."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
sys.path.append(str(BENCHMARKS))

from peer_tools.process import run  # noqa: E402
from peer_tools.tools import OURS, PEERS, Place  # noqa: E402
from peer_workers.peer_embeddings import ADDRESS, embed  # noqa: E402

NOTES = {
    "pool": "The `Quay` service ran out of connections: PostgreSQL closed those that were idle.",
    "cache": "We moved sessions from Memcached to `Redis`, because Memcached lost them at each restart.",
    "lock": "The `Ferry` scheduler skipped a run: a stale lock file stayed after a crash.",
}


@pytest.fixture
def corpus(tmp_path: Path) -> list[str]:
    """Return the options that make benchmarks read a few notes, each with a question."""
    for name, text in NOTES.items():
        path = tmp_path / "corpus" / "memory" / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# What became of {name}\n\n{text}\n")
    asked = {"pool": "why did Quay run out of connections", "cache": "where are sessions kept"}
    rows = [{"query": text, "gold": [f"memory/{name}.md"]} for name, text in asked.items()]
    rows.append({"query": "who waters the plants", "gold": []})
    questions = tmp_path / "eval" / "questions"
    questions.mkdir(parents=True)
    (questions / "dev.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return ["--data", str(tmp_path / "corpus"), "--sets", str(tmp_path / "eval")]


def benchmark(script: str, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(BENCHMARKS / script), *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)


def test_what_a_command_leaves_running_counts_as_the_command(tmp_path: Path):
    spin = "import time\nwhile time.process_time() < 1: pass"
    leave = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {spin!r}])"
    for text in (spin, leave):
        done = run([sys.executable, "-c", text], environ=dict(os.environ), folder=tmp_path, timeout=60)
        assert done.cpu_seconds > 0.5


def test_a_tool_that_asks_an_address_gets_the_vectors_from_its_own_process(tmp_path: Path):
    script = tmp_path / "tool.py"
    script.write_text(
        "import json, os, sys, urllib.request\n"
        "data = json.dumps({'input': sys.argv[1:]}).encode()\n"
        "with urllib.request.urlopen(os.environ['WHERE'] + '/embeddings', data) as answer:\n"
        "    rows = json.load(answer)['data']\n"
        "print(json.dumps([[row['embedding'] for row in rows], 'onnxruntime' in sys.modules]))\n"
    )
    environ = {**OURS.environment(Place(tmp_path)), "WHERE": ADDRESS}
    command = [
        sys.executable,
        str(BENCHMARKS / "peer_workers/peer_embeddings.py"),
        str(script),
        "one text",
        "another",
    ]
    done = run(command, environ=environ, folder=tmp_path, timeout=60)
    vectors, loaded = json.loads(done.output)
    assert loaded
    assert abs(vectors - embed(["one text", "another"])).max() < 0.2
    served = {peer.name for peer in PEERS if ADDRESS in str(peer.environment(Place(tmp_path)))}
    assert served == {peer.name for peer in PEERS if peer.served}


@pytest.mark.slow
def test_a_run_with_ragmem_alone_fills_every_column(corpus: list[str], tmp_path: Path):
    figures, page = tmp_path / "figures.json", tmp_path / "page.md"
    options = [
        "--only",
        "ragmem",
        "--quick",
        "--rounds",
        "2",
        "--json",
        str(figures),
        "--markdown",
        str(page),
    ]
    done = benchmark("peers.py", *corpus, *options)
    assert done.returncode == 0, done.stderr
    (ours,) = json.loads(figures.read_text())["corpora"][0]["tools"]
    assert not ours["failed"]
    assert len(ours["rounds"]) == 2
    assert ours["quality"]["hit@1"] == ours["by_words"]["hit@5"] == 1
    assert ours["kept"] == 6
    (row,) = [line for line in page.read_text().splitlines() if line.startswith("| ragmem")]
    assert " - " not in row.replace("ragmem", "")


@pytest.mark.slow
def test_every_byte_of_a_home_is_in_one_part(corpus: list[str], tmp_path: Path):
    figures = tmp_path / "figures.json"
    done = benchmark("disk.py", *corpus, "--json", str(figures))
    assert done.returncode == 0, done.stderr
    document = json.loads(figures.read_text())
    assert document["text_bytes"] == sum(path.stat().st_size for path in tmp_path.glob("corpus/*/*.md"))
    assert document["parts"]["memories"]["rows"] > 0
    sizes = [part["rows"] + part["indexes"] for part in document["parts"].values()]
    assert sum(sizes) == document["home_bytes"]
