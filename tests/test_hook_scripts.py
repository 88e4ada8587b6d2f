"""hooks/*.sh: for those who wire by hand; an assistant is never disturbed, whatever ragmem does."""

import os
import subprocess
from pathlib import Path

import pytest

from ragmem.assistants.claude_code import ASSISTANT

FOLDER = Path(__file__).resolve().parents[1] / "hooks"
SCRIPTS = sorted(FOLDER.glob("*.sh"))


def call(script, *arguments, path):
    return subprocess.run(
        ["/bin/sh", script, *arguments],
        input='{"session_id": "s"}',
        capture_output=True,
        text=True,
        env={"PATH": f"{path}:/usr/bin:/bin", "HOME": os.environ["HOME"]},
        check=False,
    )


@pytest.fixture
def program(tmp_path):
    """Return a function that puts a `ragmem` on the path of this test which does what it says."""

    def put(does):
        path = tmp_path / "ragmem"
        path.write_text(f"#!/bin/sh\n{does}\n")
        path.chmod(0o755)
        return tmp_path

    return put


@pytest.mark.parametrize("script", SCRIPTS, ids=[script.name for script in SCRIPTS])
def test_a_script_hands_on_its_input_and_the_answer(script, program):
    told = call(script, path=program('echo "$*: $(cat)"; echo noise >&2; exit 3'))

    words = told.stdout.partition(":")[0].split()
    assert (told.returncode, told.stderr) == (0, "")
    assert (words[0], words[2:]) == ("hook", ["--for", "claude-code"])
    assert words[1] in ASSISTANT.events
    assert told.stdout.endswith(': {"session_id": "s"}\n')
    assert os.access(script, os.X_OK)


def test_every_event_that_is_wired_has_its_script(program):
    folder = program('echo "$2"')

    called = {call(script, path=folder).stdout.strip() for script in SCRIPTS}

    assert called == set(ASSISTANT.events) - {"SubagentStop"}


def test_a_script_can_be_for_another_assistant(program):
    told = call(FOLDER / "session-start.sh", "gemini", path=program('echo "$*"'))

    assert told.stdout == "hook SessionStart --for gemini\n"


@pytest.mark.parametrize("script", SCRIPTS, ids=[script.name for script in SCRIPTS])
def test_without_ragmem_a_script_says_nothing(script, tmp_path):
    told = call(script, path=tmp_path)

    assert (told.returncode, told.stdout, told.stderr) == (0, "", "")


def test_a_script_does_not_wait_for_ever(program):
    told = call(FOLDER / "session-end.sh", path=program("exec sleep 60"))

    assert (told.returncode, told.stdout) == (0, "")
