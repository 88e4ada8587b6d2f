"""The help from the generated file: the same as that of Typer, which a second `--help` asks for."""

import os
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


@pytest.mark.parametrize("environ", [{}, {"NO_COLOR": "1"}, {"COLUMNS": "60"}, {"TERM": "dumb"}])
def test_a_help_on_a_terminal_is_the_one_that_typer_renders(environ):
    def shown(*arguments):
        return PROCESSES.on_terminal(arguments, environ={**os.environ, **environ}, cwd=Path.cwd())

    assert shown("query", "-h") == shown("query", "-h", "-h")


def test_the_program_alone_shows_its_help(ragmem):
    assert ragmem().stdout == ragmem("--help").stdout


@pytest.mark.parametrize("words", [["inspect graph"], [""], ["nonsense"], ["inspect", "nonsense"]])
def test_what_is_no_command_has_no_help(ragmem, words):
    refused = ragmem(*words, "--help")

    assert (refused.stdout, refused.returncode) == ("", 2)
