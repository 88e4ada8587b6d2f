"""The man page tells of every command, exit code, variable and file, and man reads it without complaint."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from ragmem import errors
from ragmem.cli.app import COMMANDS
from ragmem.config.variables import NO_SETTINGS

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "ragmem.1"
PLAIN = PAGE.read_text(encoding="utf-8").replace("\\-", "-").replace("\\(dq", '"').replace("\\&", "")


def section(name):
    found = re.search(rf"^\.SH {name}\n(.*?)(?=^\.SH |\Z)", PLAIN, re.MULTILINE | re.DOTALL)
    assert found, name
    return found[1]


def terms(name):
    return re.findall(r"^\.TP\n\.B (.+)$", section(name), re.MULTILINE)


def test_it_tells_of_every_command_of_the_reference():
    reference = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    named = re.findall(r"^#{2,5} ragmem (.+)$", reference, re.MULTILINE)
    told = re.findall(r"^\.SS ragmem (.+?)(?: \[OPTIONS\].*)?$", section("COMMANDS"), re.MULTILINE)

    assert told == named
    assert terms("DESCRIPTION") == [f"ragmem {name}" for name in COMMANDS]


def test_it_tells_of_every_exit_code():
    codes = {str(value) for name, value in vars(errors).items() if name.startswith("EXIT_")}

    assert set(terms("EXIT STATUS")) == codes
    # Commands below others say it only where theirs differ.
    assert section("COMMANDS").count("\nExit status: ") >= len(COMMANDS)


def test_it_tells_of_every_variable_that_is_no_setting():
    told = {name for term in terms("ENVIRONMENT") for name in term.split(", ")}
    switches = NO_SETTINGS - {"RAGMEM_HOOK_DEPTH", "RAGMEM_HOOK_LOCK"}  # between processes of ours

    assert switches | {"NO_COLOR", "FORCE_COLOR", "RAGMEM_SECTION_KEY"} <= told


def test_the_files_that_it_names_are_those_that_are_written(ragmem):
    ragmem("ingest", "-", stdin="We decided to pin the driver because version 3 leaks.")
    ragmem("agents", "heartbeat", "builder")
    ragmem("backup")
    named = {Path(term).name for term in terms("FILES")}
    data = Path(os.environ["RAGMEM_HOME"]) / "data"

    written = {path.name for path in data.iterdir() if path.suffix not in {".lock", ".db-wal", ".db-shm"}}
    assert written - {"inbox", "machine-id"} <= named
    assert {"memory.db", "operational.db", "backups", "config.toml", ".ragmem.toml"} <= named


def test_its_examples_are_commands_that_there_are():
    lines = re.findall(r"(?:^|\| )ragmem (\S+)", section("EXAMPLES"), re.MULTILINE)

    assert len(lines) > 8
    assert set(lines) <= set(COMMANDS)


@pytest.mark.skipif(not shutil.which("mandoc"), reason="mandoc is not installed")
def test_mandoc_finds_nothing_wrong():
    done = subprocess.run(
        ["mandoc", "-T", "lint", "-W", "warning", PAGE], capture_output=True, text=True, check=False
    )

    # The page has no date, so that it is the same whenever it is written.
    left = [line for line in done.stdout.splitlines() if "missing date" not in line]
    assert left == []


@pytest.mark.skipif(not shutil.which("man"), reason="man is not installed")
def test_man_shows_it_without_a_warning():
    done = subprocess.run(
        ["man", "--warnings", "-l", "-P", "cat", PAGE],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "MANWIDTH": "100"},
    )

    if "unrecognized option" in done.stderr or "illegal option" in done.stderr:
        pytest.skip("this man knows no --warnings")
    assert (done.returncode, done.stderr) == (0, "")
    assert "ragmem completions install [OPTIONS] [SHELL]" in done.stdout
