"""The help from the generated file: the same as that of Typer, which a second `--help` asks for."""

import os
import re
from pathlib import Path

import pytest
from quick_commands import COMMANDS as PROCESSES

COMMANDS = ["", "query", "ingest", "inspect", "inspect graph", "projects", "models use", "agents publish"]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("columns", ["20", "53", "56", "67", "80", "99", "100", "240", "0", "many"])
def test_a_help_is_the_one_that_typer_renders(ragmem, command, columns):
    stored = ragmem(*command.split(), "--help", COLUMNS=columns)
    rendered = ragmem(*command.split(), "--help", "--help", COLUMNS=columns)

    assert stored.stdout.startswith(f"Usage: ragmem {command}".strip())
    assert (stored.stdout, stored.stderr, stored.returncode) == (rendered.stdout, "", 0)


def shown(*arguments, **environ):
    return PROCESSES.on_terminal(
        arguments, environ={**os.environ, "TERM": "xterm", **environ}, cwd=Path.cwd()
    )


@pytest.mark.parametrize("environ", [{"NO_COLOR": "1"}, {"NO_COLOR": "1", "COLUMNS": "60"}, {"TERM": "dumb"}])
def test_a_help_on_a_plain_terminal_is_the_one_that_typer_renders(environ):
    assert shown("query", "-h", **environ) == shown("query", "-h", "-h", **environ)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("columns", [53, 60, 80, 140])
def test_a_help_on_a_terminal_has_the_same_words_in_panels_that_fit(ragmem, command, columns):
    code, written = shown(*command.split(), "-h", COLUMNS=str(columns))

    text = re.sub(r"\x1b\[[0-9;]*m", "", written.decode()).replace("\r", "")
    assert code == 0
    assert max(map(len, text.splitlines())) <= columns
    framed = [line for line in text.splitlines() if line.startswith(("╭", "│", "╰"))]
    assert len({len(line) for line in framed}) == 1
    assert framed[0].startswith("╭─ ")
    assert framed[-1].startswith("╰─")
    plain = ragmem(*command.split(), "-h").stdout
    titles = re.sub(r"^( {0,2}[A-Z][a-z ]+):$", r"\1", plain, flags=re.MULTILINE)
    # A long word is broken where it must be.
    assert "".join(re.sub(r"[╭╮╰╯│─]", " ", text).split()) == "".join(titles.split())


def test_a_terminal_without_the_characters_of_lines_has_panels_of_ascii():
    _, written = shown("query", "-h", LC_ALL="C")

    assert written.decode().isascii()
    assert b"+-\x1b[0m \x1b[1mOptions" in written


def test_the_program_alone_shows_its_help(ragmem):
    assert ragmem().stdout == ragmem("--help").stdout


@pytest.mark.parametrize("words", [["inspect graph"], [""], ["nonsense"], ["inspect", "nonsense"]])
def test_what_is_no_command_has_no_help(ragmem, words):
    refused = ragmem(*words, "--help")

    assert (refused.stdout, refused.returncode) == ("", 2)
