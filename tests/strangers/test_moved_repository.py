"""A repository that is renamed in a folder that is a project itself is found before anything is written."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TEXT = "We decided to use port 8443 because the proxy of the harbour office blocks the others."


def run(*words: str, cwd: Path, home: Path) -> str:
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), "RAGMEM_HOME": str(home / ".ragmem"),
               "RAGMEM_MODELS_BACKEND": "fake"}  # fmt: skip
    command = [sys.executable, "-m", "ragmem", *words] if words[0] != "git" else list(words)
    done = subprocess.run(command, cwd=cwd, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("with_commit", [True, False])
def test_a_renamed_repository_finds_its_memories_at_once(tmp_path: Path, *, with_commit: bool) -> None:
    above, folder = tmp_path / "repos", tmp_path / "repos" / "kiln"
    folder.mkdir(parents=True)
    (above / "CLAUDE.md").write_text("The rules of all repositories: write tests because they help.")
    run("ingest", "CLAUDE.md", cwd=above, home=tmp_path)
    run("git", "init", "-q", cwd=folder, home=tmp_path)
    (folder / "note.md").write_text(TEXT)
    if with_commit:
        run("git", "add", ".", cwd=folder, home=tmp_path)
        who = ("-c", "user.name=Sam", "-c", "user.email=sam@example.org")
        run("git", *who, "commit", "-qm", "begin", cwd=folder, home=tmp_path)
    run("ingest", "note.md", cwd=folder, home=tmp_path)
    before = run("query", "which port", "--ids", cwd=folder, home=tmp_path)
    folder.rename(above / "furnace")
    assert before
    assert run("query", "which port", "--ids", cwd=above / "furnace", home=tmp_path) == before
