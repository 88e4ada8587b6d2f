"""docs/ragmem.1: the man page."""

from collections.abc import Iterator

from generating.tree import Command, Option, exit_codes
from ragmem import __version__

ENVIRONMENT = (
    ("RAGMEM_HOME", "One folder for configuration, data, state and cache, instead of the XDG folders."),
    ("RAGMEM_SECTION_KEY", "Overrides a setting; `ragmem inspect config` lists them with their origin."),
    ("NO_COLOR, FORCE_COLOR", "Turn colours off, or on where standard output is no terminal."),
)
FILES = (
    ("~/.config/ragmem/config.toml", "Settings; every key has a default."),
    ("~/.config/ragmem/sources.toml", "The files that `ragmem seed` reads, laid over the shipped ones."),
    ("~/.config/ragmem/decay.json", "Half-lives and weights of the ranking."),
    ("~/.local/share/ragmem/memory.db", "The memories."),
)


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
        ".SH DESCRIPTION",
        _text(tree.description),
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
    for title, items in (("ENVIRONMENT", ENVIRONMENT), ("FILES", FILES)):
        lines.append(f".SH {title}")
        for name, meaning in items:
            lines += _item(name, meaning)
    return "\n".join(lines) + "\n"


def _command(command: Command) -> Iterator[str]:
    yield f".SS {_text(command.usage)}"
    yield _text(command.summary)
    if command.description:
        yield from (".PP", _text(command.description))
    for argument in command.arguments:
        yield from _item(argument.value.shown + ("..." if argument.repeatable else ""), argument.help)
    for option in command.options:
        if "--help" not in option.names:
            yield from _option(option)
    if command.examples:
        yield from (".PP", "Examples:", ".PP", ".nf", ".RS")
        yield from (_text(example) for example in command.examples)
        yield from (".RE", ".fi")


def _option(option: Option) -> Iterator[str]:
    value = f" {option.value.shown}" if option.value else ""
    meaning = option.help + (f" Default: {option.default}." if option.default else "")
    yield from _item(", ".join(option.names) + value, meaning)


def _item(term: str, meaning: str) -> Iterator[str]:
    yield from (".TP", f".B {_text(term)}", _text(meaning))


def _text(text: str) -> str:
    """Return text that troff takes as it is: hyphens that can be searched and copied, no leading dot."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("`", "").replace('"', "\\(dq")
    return f"\\&{escaped}" if escaped[:1] in (".", "'") else escaped
