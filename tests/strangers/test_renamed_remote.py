"""A changed remote must not make what is remembered of a repository vanish: real git, the real command."""

import os
import subprocess
import sys
from pathlib import Path

TEXT = "We decided to use port 8443 because the proxy of the harbour office blocks the others."


def run(*words: str, cwd: Path, home: Path) -> str:
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), "RAGMEM_HOME": str(home / ".ragmem"),
               "RAGMEM_MODELS_BACKEND": "fake"}  # fmt: skip
    command = [sys.executable, "-m", "ragmem", *words] if words[0] != "git" else list(words)
    done = subprocess.run(command, cwd=cwd, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def begin(home: Path, place: str) -> Path:
    folder = home / place
    folder.mkdir(parents=True)
    run("git", "init", "-q", cwd=folder, home=home)
    return folder


def commit(folder: Path, home: Path) -> None:
    (folder / "note.md").write_text(TEXT)
    run("git", "add", ".", cwd=folder, home=home)
    who = ("-c", "user.name=Sam", "-c", "user.email=sam@example.org")
    run("git", *who, "commit", "-qm", "begin", cwd=folder, home=home)


def test_memories_are_found_after_set_url_and_the_next_write_founds_no_second_project(tmp_path: Path) -> None:
    folder = begin(tmp_path, "repos/kiln")
    commit(folder, tmp_path)
    run("git", "remote", "add", "origin", "https://git.example/sam/kiln.git", cwd=folder, home=tmp_path)
    stored = run("ingest", "note.md", cwd=folder, home=tmp_path)
    for change in (("set-url", "origin", "git@git.example:works/oven.git"), ("remove", "origin")):
        run("git", "remote", *change, cwd=folder, home=tmp_path)
        assert run("query", "which port", "--ids", cwd=folder, home=tmp_path) in stored
        assert run("ingest", "note.md", cwd=folder, home=tmp_path).split()[0] == stored.split()[0]
    listed = run("projects", "list", "--json", cwd=folder, home=tmp_path)
    assert listed.count('"folders"') == 1
    assert '"git.example/sam/kiln"' in listed
    assert '"git.example/works/oven"' in listed
