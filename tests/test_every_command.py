"""Every command of docs/cli.md runs in a test: by an example of its own, or by a call below."""

import os
import re
import shutil
from pathlib import Path

import pytest
from quick_commands import COMMANDS

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
NAMES = [tuple(heading.split()) for heading in re.findall(r"^#{2,5} ragmem (.+)$", REFERENCE, re.MULTILINE)]

CODE = '''"""Tides."""


def height(hour):
    """Return the height of the tide."""
    return hour * 2


def table():
    return [height(hour) for hour in range(24)]
'''

MERGED = (
    b"We decided that the gateway speaks HCP because HCP frames are small.",
    b"The root cause was Harbor Control Protocol (HCP): the Harbor Control Protocol is old.",
)

# What has no example of its own runs so, on a home that was lived in; `ID` is one of its memories.
CALLS = """
inspect stats
inspect sources
inspect memory ID
inspect memories
inspect connections
inspect history ID
inspect entity PostgreSQL
inspect entities Post
inspect path PostgreSQL Tideline
inspect communities
inspect timeline PostgreSQL
inspect merges
inspect graph
inspect records
inspect code height
inspect impact height
inspect lifecycle
inspect queue
inspect usage
inspect log
inspect config
inspect runs
projects join gullwing tideline --dry-run
projects rename tideline Tides --dry-run
projects assign ID --to tideline --dry-run
agents show
serve members
completions
"""
# These have nothing to say.
SILENT = """
agents acknowledge builder 1
agents forget leaver
"""
# The answer of these is no: nothing is there to be shown.
ANSWERED_NO = """
approve list
inspect injections
inspect transcripts
warm status
"""
# What needs more than a command line: the file that runs it.
ELSEWHERE = {
    "serve": "tests/server/http/test_rest.py",
    "inspect explore": "tests/explorer/test_terminal.py",
    "approve show": "tests/services/lifecycle/test_approve_command.py",
    "approve accept": "tests/services/lifecycle/test_approve_command.py",
    "approve reject": "tests/services/lifecycle/test_approve_command.py",
    **{
        f"share {name}": "tests/services/sharing/test_share_command.py"
        for name in ("status", "unmute", "conflicts", "review list")
    },
    "projects move": "tests/services/projects/test_projects_command.py",
    "projects split": "tests/services/projects/test_projects_command.py",
}


def named(line):
    """Return the words of the command that a line runs."""
    words = tuple(line[line.index("ragmem ") :].split()[1:])
    return max((name for name in NAMES if words[: len(name)] == name), key=len)


def by_an_example():
    """Return the commands that have an example; test_cli_contract.py runs them all."""
    blocks = re.findall(r"^```sh\n(.*?)^```", REFERENCE, re.MULTILINE | re.DOTALL)
    return {named(line) for block in blocks for line in block.splitlines()}


def lines(text):
    return [line for line in text.splitlines() if line]


def test_every_command_of_the_reference_runs_in_a_test():
    called = {named(f"ragmem {line}") for line in lines(CALLS + SILENT + ANSWERED_NO)}
    elsewhere = {tuple(name.split()) for name in ELSEWHERE}

    missing = set(NAMES) - by_an_example() - called - elsewhere
    assert not missing, f"give these an example in their epilog, or a line in CALLS: {sorted(missing)}"
    assert len(NAMES) > 50


def test_the_reference_names_every_command():
    # NAMES are read from it; what it leaves out would be missed here.
    from ragmem.cli.app import COMMANDS as TABLE
    from ragmem.cli.app import load_command

    def walk(path, command):
        yield path
        for name, below in getattr(command, "commands", {}).items():
            yield from walk((*path, name), below)

    assert set(NAMES) == {path for name in TABLE for path in walk((name,), load_command(name))}


@pytest.mark.parametrize(("name", "file"), ELSEWHERE.items())
def test_what_runs_elsewhere_is_there(name, file):
    assert name.split()[-1] in (ROOT / file).read_text()


@pytest.fixture(scope="module")
def lived(tmp_path_factory):
    """Return the environment of a home with memories of the example, code, records and an agent."""
    folder = tmp_path_factory.mktemp("lived")
    shutil.copytree(ROOT / "examples" / "home", folder / "home")
    (folder / "home" / "tides").mkdir()
    (folder / "home" / "tides" / "tides.py").write_text(CODE)
    environ = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("RAGMEM_", "XDG_"))},
        "HOME": str(folder / "home"),
        "RAGMEM_HOME": str(folder / "ragmem"),
    }
    for text in MERGED:
        words = ["ingest", "-", "--quiet"]
        assert COMMANDS.run(words, given=text, environ=environ, cwd=folder).returncode == 0
    for words in (
        ["seed", "--quiet"],
        ["ingest", "--code", "tides"],
        ["record", "gotcha", "The pump stops at low tide."],
        ["gc", "--yes"],
        ["agents", "heartbeat", "leaver"],
        ["agents", "heartbeat", "builder"],
        ["agents", "signal", "message", "builder", "the tests are green"],
    ):
        done = COMMANDS.run(words, environ=environ, cwd=folder / "home")
        assert done.returncode == 0, done.stderr.decode()
    return environ


def run(line, environ):
    return COMMANDS.run(line.split(), environ=environ, cwd=environ["HOME"])


@pytest.fixture(scope="module")
def identifier(lived):
    return run("query PostgreSQL --ids", lived).stdout.decode().split()[0]


@pytest.mark.parametrize("line", lines(CALLS))
def test_a_command_answers(line, lived, identifier):
    done = run(line.replace("ID", identifier), lived)

    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.strip()


@pytest.mark.parametrize("line", lines(SILENT))
def test_a_command_does_what_it_is_told(line, lived):
    done = run(line, lived)

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize("line", lines(ANSWERED_NO))
def test_a_command_answers_no(line, lived):
    done = run(line, lived)

    assert done.returncode == 1
    assert b"hint: " not in done.stderr
