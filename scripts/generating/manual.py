"""docs/ragmem.1: the man page."""

import textwrap
from collections.abc import Iterator, Sequence

from generating.environment import VARIABLES
from generating.tree import Command, Option, exit_codes, groups
from ragmem import __version__

WIDTH = 78
"""Letters of a line of the source; what is shown is filled anew."""

CONTRACT = """\
Standard output is the answer and nothing else; progress, notes, warnings and errors go to standard error. An
error is one line, then a hint with the next step.

Text is the same on a terminal and in a pipe. With --json it is one document with a schema number; fields are
added, never changed, without a new number.

What writes takes --dry-run, the same plan, not carried out; a command that sets a single mark has none. A
value follows its option as the next word or after =; -- ends the options. An id may be cut short, to four
letters at least."""
EXAMPLES = (
    (
        "Seed the memory from files on disk, and query it:",
        ("ragmem seed", 'ragmem query "why did the deploy fail"'),
    ),
    ("Keep something, and look at it:", ("git log -5 | ragmem ingest -", "ragmem inspect memories")),
    ("Let an assistant remember by itself:", ("ragmem connect claude-code", "ragmem doctor")),
    (
        "See what would be merged or archived, do it, and take it back:",
        ("ragmem gc --dry-run", "ragmem gc", "ragmem gc --undo"),
    ),
    ("Move everything to another machine:", ("ragmem backup memory.tar.gz", "ragmem restore memory.tar.gz")),
)
SETTING = ("RAGMEM_SECTION_KEY", "Overrides a setting; `ragmem inspect config` lists them with their origin.")
FILES = (
    ("~/.config/ragmem/config.toml", "Settings; every key has a default."),
    ("~/.config/ragmem/sources.toml", "The files that `ragmem seed` reads, laid over the shipped ones."),
    ("~/.config/ragmem/decay.json", "Half-lives and weights of the ranking."),
    ("~/.config/ragmem/rules.md, rules.toml", "What `ragmem check` checks answers by."),
    (".ragmem.toml", "In a project: what it leaves out, its tags and sizes of chunks; nothing else."),
    ("~/.local/share/ragmem/memory.db", "The memories, their vectors and the graph."),
    ("~/.local/share/ragmem/operational.db", "Agents that work here, their messages and events."),
    ("~/.local/share/ragmem/backups", "Backups without a name of their own."),
    ("~/.local/share/ragmem/models", "Models that `ragmem models pull` has fetched."),
    ("~/.local/state/ragmem", "What hooks and the server noted, the server's token, the audit log."),
    ("~/.cache/ragmem", "What can be made again."),
)
SEE_ALSO = """\
docs/quickstart.md, docs/cli.md, docs/configuration.md, docs/troubleshooting.md and the other pages in docs of
the source. `ragmem COMMAND --help` tells the same as COMMANDS."""


def manual_page(tree: Command) -> str:
    """Return docs/ragmem.1."""
    lines = [
        '.\\" Written by scripts/generate.py: do not edit.',
        f'.TH RAGMEM 1 "" "ragmem {__version__}" "User Commands"',
        ".SH NAME",
        _text(f"ragmem - {tree.summary[:1].lower()}{tree.summary[1:]}"),
        ".SH SYNOPSIS",
        ".B ragmem",
        _text("COMMAND [OPTIONS] [ARGUMENTS]"),
        ".br",
        ".B ragmem",
        _text("COMMAND --help"),
        ".SH DESCRIPTION",
        *_filled(tree.description),
    ]
    for title, commands in groups(tree):
        lines += [".PP", f"{title}:"]
        for command in commands:
            lines += _item(f"ragmem {command.name}", command.summary)
    for paragraph in CONTRACT.split("\n\n"):
        lines += [".PP", *_filled(paragraph)]
    lines += [
        ".SH OPTIONS",
        *(line for option in tree.options for line in _option(option)),
        ".SH COMMANDS",
    ]
    for command in tree.walk():
        if command.path:
            lines += _command(command)
    lines.append(".SH EXIT STATUS")
    for code, meaning in exit_codes():
        lines += _item(code, meaning)
    variables = [(", ".join(one.names), f"{one.meaning[0].upper()}{one.meaning[1:]}.") for one in VARIABLES]
    for title, items in (("ENVIRONMENT", (SETTING, *variables)), ("FILES", FILES)):
        lines.append(f".SH {title}")
        for name, meaning in items:
            lines += _item(name, meaning)
    lines.append(".SH EXAMPLES")
    for number, (purpose, commands) in enumerate(EXAMPLES):
        lines += [*([".PP"] if number else []), *_filled(purpose), *_block(commands)]
    lines += [".SH SEE ALSO", *_filled(SEE_ALSO)]
    return "\n".join(lines) + "\n"


def _command(command: Command) -> Iterator[str]:
    yield f".SS {_text(command.usage)}"
    yield from _filled(command.summary)
    if command.description:
        yield from (".PP", *_filled(command.description))
    for argument in command.arguments:
        yield from _item(argument.value.shown + ("..." if argument.repeatable else ""), argument.help)
    for option in command.options:
        if "--help" not in option.names:
            yield from _option(option)
    if command.examples:
        yield from (".PP", "Examples:", *_block(command.examples))
    if command.exit_codes:
        codes = "; ".join(f"{code} {meaning}" for code, meaning in command.exit_codes)
        yield from (".PP", *_filled(f"Exit status: {codes}."))


def _block(lines: Sequence[str]) -> Iterator[str]:
    """Yield lines that are shown as they are."""
    yield from (".PP", ".nf", ".RS", *map(_text, lines), ".RE", ".fi")


def _option(option: Option) -> Iterator[str]:
    value = f" {option.value.shown}" if option.value else ""
    meaning = option.help + (f" Default: {option.default}." if option.default else "")
    yield from _item(", ".join(option.names) + value, meaning)


def _item(term: str, meaning: str) -> Iterator[str]:
    yield from (".TP", f".B {_text(term)}", *_filled(meaning))


def _filled(text: str) -> Iterator[str]:
    """Yield text in lines that are not too long to be read in the source."""
    for line in textwrap.wrap(text, WIDTH - WIDTH // 8, break_long_words=False, break_on_hyphens=False):
        yield _text(line)


def _text(text: str) -> str:
    """Return text that troff takes as it is: hyphens that can be searched and copied, no leading dot."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("`", "").replace('"', "\\(dq")
    return f"\\&{escaped}" if escaped[:1] in (".", "'") else escaped
