"""A repository that came from somebody else is read, and no program that its configuration names is run."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from claude_sessions import Session
from hook_calls import Hooks
from hostile_repositories import HostileRepository, git

ANSWER = "We decided to bound the queue at 700 entries, because the unbounded one exhausted the memory."


def partial_by_upload_pack(hostile):
    hostile.be_partial(str(hostile.folder), uploadpack=hostile.program("upload-pack"))


def partial_by_file_address(hostile):
    hostile.be_partial(f"file://{hostile.folder}", uploadpack=hostile.program("upload-pack"))


def partial_by_ext(hostile):
    hostile.be_partial(f"ext::{hostile.program('ext')}")
    hostile.configure(protocol__ext__allow="always", protocol__allow="always")


def partial_by_ssh(hostile):
    hostile.be_partial("ssh://sam@tideline.example/x.git")
    hostile.configure(core__sshCommand=hostile.program("ssh"))


def partial_by_git_proxy(hostile):
    hostile.be_partial("git://tideline.example/x.git")
    hostile.configure(core__gitProxy=hostile.program("proxy"))


def partial_by_rewritten_address(hostile):
    hostile.be_partial("https://tideline.example/x.git", uploadpack=hostile.program("upload-pack"))
    git(hostile.folder, "config", f"url.{hostile.folder}.insteadOf", "https://tideline.example/x.git")


def partial_by_included_configuration(hostile):
    hostile.be_partial(str(hostile.folder))
    program = hostile.program("upload-pack")
    (hostile.folder / "more.config").write_text(f'[remote "origin"]\n\tuploadpack = {program}\n')
    hostile.configure(include__path="../more.config")


def programs_everywhere(hostile):
    hostile.name_programs_everywhere()


TRAPS = [
    partial_by_upload_pack,
    partial_by_file_address,
    partial_by_ext,
    partial_by_ssh,
    partial_by_git_proxy,
    partial_by_rewritten_address,
    partial_by_included_configuration,
    programs_everywhere,
]


@pytest.fixture(scope="module", params=TRAPS, ids=lambda trap: trap.__name__)
def trapped(request, tmp_path_factory):
    made = HostileRepository(tmp_path_factory.mktemp("person") / "repos" / "hostile")
    request.param(made)
    return made


@pytest.fixture
def hostile(trapped):
    """Return a repository that many tests read; none of them has run a program of it yet."""
    trapped.forget_what_ran()
    return trapped


def test_git_runs_a_program_of_such_a_repository_where_nothing_holds_it_back(hostile):
    environ = {**os.environ, "GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_NOSYSTEM": "1"}
    for asked in (("status",), ("rev-list", "--max-parents=0", "HEAD")):
        subprocess.run(["git", *asked], cwd=hostile.folder, env=environ, capture_output=True, check=False)

    assert hostile.ran


def test_ingesting_a_file_of_a_repository_runs_no_program_of_it(hostile, ragmem):
    done = ragmem("ingest", str(hostile.folder / "notes.md"))

    assert done.returncode == 0, done.stderr
    assert hostile.ran == []


def test_ingesting_the_folder_of_a_repository_runs_no_program_of_it(hostile, ragmem):
    done = ragmem("ingest", str(hostile.folder))

    assert done.returncode == 0, done.stderr
    assert hostile.ran == []


def test_a_seed_runs_no_program_of_a_repository_that_it_reads(hostile, ragmem):
    done = ragmem("seed", "--json", HOME=str(hostile.folder.parents[1]))

    assert done.returncode == 0, done.stderr
    assert hostile.folder.name in ragmem("inspect", "memories", "--json").stdout
    assert hostile.ran == []


def test_ingesting_the_code_of_a_repository_runs_no_program_of_it(hostile, ragmem):
    for _ in range(2):
        done = ragmem("ingest", "--code", str(hostile.folder), "--json")
        assert done.returncode == 0, done.stderr

    (code,) = json.loads(done.stdout)["code"]
    assert code["languages"] == {"python": 1}
    assert hostile.ran == []


def test_a_session_that_was_held_in_a_repository_runs_no_program_of_it(hostile, tmp_path):
    hooks = Hooks(tmp_path)
    hooks.project = hostile.folder
    Session(hooks.transcript, name="s1", cwd=hostile.folder).turn("Why does the queue fail?", ANSWER)
    with hooks.hold_drain():
        assert hooks.call("stop").code == 0
    done = subprocess.run(
        [sys.executable, "-m", "ragmem", "ingest", "--drain"],
        env=hooks.environ,
        capture_output=True,
        text=True,
        check=False,
    )

    assert "processed 1 event" in done.stdout, done.stderr
    assert hostile.ran == []


def test_a_program_called_git_in_a_repository_is_not_run_by_a_relative_path(tmp_path, monkeypatch, ragmem):
    made = HostileRepository(tmp_path / "repository")
    Path(made.program("git")).rename(made.folder / "git")
    monkeypatch.chdir(made.folder)
    done = ragmem("ingest", "notes.md", PATH=f".:{os.environ['PATH']}")

    assert done.returncode == 0, done.stderr
    assert made.ran == []
