"""Plain command lines are read without Typer: to the same values, or not at all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragmem.cli.app import load_command
from ragmem.cli.query import app

NAMES = sorted(
    name for parameter in load_command("query").params for name in parameter.opts if name[0] == "-"
)

WORDS = st.one_of(
    st.sampled_from(
        [
            *NAMES,
            "--",
            "-",
            "",
            "-h",
            "--limit=3",
            "-n3",
            "-aq",
            "--lim",
            "0",
            "3",
            "٣",
            "10001",
            "error",
            "x",
        ]
    ),
    st.text(max_size=4),
)


def read_by_typer(arguments):
    with load_command("query").make_context("query", list(arguments)) as context:
        return context.params


@given(st.lists(WORDS, max_size=5))
def test_what_is_read_without_typer_is_what_typer_reads(arguments):
    values = app.read(arguments)

    if values is not None:
        assert read_by_typer(arguments) == read_by_typer(["x"]) | values


@pytest.mark.parametrize(
    ("arguments", "values"),
    [
        (["why this driver"], {"text": "why this driver"}),
        (["--json", "-n", "20", "--", "--why"], {"as_json": True, "limit": 20, "text": "--why"}),
        (["x", "--since", "7d", "--since", "3w"], {"text": "x", "since": "3w"}),
    ],
)  # fmt: skip
def test_a_plain_command_line_is_read_without_typer(arguments, values):
    assert app.read(arguments) == values


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["a", "b"],
        ["x", "--nonsense"],
        ["x", "-n"],
        ["x", "-n", "0"],
        ["x", "-k", "error"],
        ["x", "--since", "-q"],
    ],
)
def test_what_is_not_plain_is_left_to_typer(arguments):
    assert app.read(arguments) is None


def test_an_option_from_the_environment_is_left_to_typer(monkeypatch):
    monkeypatch.setenv("RAGMEM_SESSION", "of-an-assistant")

    assert app.read(["x"]) is None


def test_a_command_line_is_read_as_before_once_typer_knows_the_command():
    load_command.cache_clear()
    load_command("query")

    assert app.read(["--json", "x"]) == {"as_json": True, "text": "x"}
