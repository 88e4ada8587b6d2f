"""The help of all commands as lines that `ragmem.cli.help` wraps, compared with what Typer renders."""

import re
import textwrap
from collections.abc import Sequence
from typing import Any

import typer
from typer._click import HelpFormatter

from generating.tree import PROGRAM, Command
from ragmem.cli.app import build, load_command
from ragmem.cli.help import BREAK, NARROWEST, WIDEST, render

LEAST = 78
"""Columns from which every help is stored: those of a pipe."""


class Recorder(HelpFormatter):
    """Records what a help consists of instead of wrapping it."""

    def __init__(self) -> None:
        super().__init__(width=WIDEST)
        self.records: list[str] = []

    def write(self, string: str) -> None:
        """Record text that stays as it is."""
        self.records += string.removesuffix("\n").split("\n")
        self.buffer = ["a paragraph follows"]

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """Record the synopsis."""
        self._record(f"{prefix or 'Usage: '}{prog} ", args)

    def write_text(self, text: str) -> None:
        """Record paragraphs; those that begin with a backspace are not wrapped."""
        indent = " " * self.current_indent
        for number, paragraph in enumerate(text.split("\n\n")):
            if number:
                self.write("\n")
            first, *lines = paragraph.strip("\n").split("\n")
            if first.strip() == "\b":
                self.write("\n".join(indent + line for line in lines))
            else:
                self._record(indent, " ".join([first, *lines]))

    def write_dl(self, rows: Sequence[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        """Record a table of terms and their texts."""
        column = min(max(len(term) for term, _ in rows), col_max) + col_spacing
        for term, text in rows:
            head = " " * self.current_indent + term
            beside = len(term) <= column - col_spacing
            if not beside or not text:
                self.write(head)
            if text:
                begin = self.current_indent + column
                self._record(head.ljust(begin) if beside else " " * begin, text, margin=column + 2)

    def _record(self, head: str, text: str, *, margin: int | None = None) -> None:
        pieces = textwrap.TextWrapper(width=10**6).wordsep_re.split(text)
        breakable = re.sub(f"{BREAK}( +){BREAK}", r"\1", BREAK.join(filter(None, pieces)))
        self.records.append(f"{len(head)}\t{len(head) if margin is None else margin}\t{head}\t{breakable}")
        self.buffer = ["a paragraph follows"]


def help_lines(tree: Command) -> str:
    """Return for each command its name, how many lines follow and from how many columns, then the lines."""
    return "".join(_stored(command.path) for command in tree.walk())


def help_context(path: Sequence[str]) -> typer.Context:
    """Return the context in which a command's help is rendered."""
    command: Any = build()
    context = typer.Context(command, info_name=PROGRAM, **command.context_settings)
    for depth, name in enumerate(path):
        command = command.commands[name] if depth else load_command(name)
        context = typer.Context(command, info_name=name, parent=context)
    return context


def typer_help(context: typer.Context, width: int) -> str:
    """Return the help of a context's command as Typer renders it for a width in columns."""
    formatter = HelpFormatter(width=width)
    context.command.format_help(context, formatter)
    return formatter.getvalue().rstrip("\n") + "\n"


def _stored(path: Sequence[str]) -> str:
    context = help_context(path)
    recorder = Recorder()
    context.command.format_help(context, recorder)
    least = WIDEST + 1
    while least > NARROWEST and render(recorder.records, least - 1) == typer_help(context, least - 1):
        least -= 1
    name = " ".join(path)
    if least > LEAST:
        raise ValueError(
            f"the help of {PROGRAM} {name} cannot be stored: Typer sets it otherwise at {least - 1}"
        )
    return "\n".join((f"{name}\t{len(recorder.records)}\t{least}", *recorder.records, ""))
