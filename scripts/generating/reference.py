"""docs/cli.md: the reference of the command line."""

from collections.abc import Iterator

from generating.tree import Argument, Command, Option, exit_codes, groups

CONTRACT = """\
## What holds for every command

- Standard output is the answer and nothing else; progress, notes, warnings and errors go to standard error.
- An error is one line, `ragmem: ...`, then an empty line and `hint: ...` with the next step. Standard output
  stays empty.
- `--json` writes one document with a `schema` number; fields are added, never changed, without a new number.
  Moments are RFC 3339 in UTC.
- Text is the same on a terminal and in a pipe. Colours need a terminal or `FORCE_COLOR`; `NO_COLOR` and
  `TERM=dumb` turn them off, and nothing is told by colour alone.
- What writes takes `--dry-run`: the same plan, not carried out.
- `ragmem hook EVENT` always exits 0 within its deadline, and writes JSON for the assistant or nothing
  (docs/hooks.md).
- `ragmem --offline COMMAND` lets nothing leave this machine, and says on standard error what was opened; so
  does `RAGMEM_OFFLINE=1`, which says nothing (docs/models.md).
- An option's value follows it as the next word or after `=`. `--` ends the options.

## Exit codes

Of all commands; a code that is not listed means failure.

"""


def reference(tree: Command) -> str:
    """Return docs/cli.md."""
    lines = [
        "# The command line",
        "",
        "Written by `scripts/generate.py` from the commands themselves: do not edit.",
        "",
        f"{tree.summary}. {tree.description}",
        "",
        *_list(tree),
        CONTRACT + exit_code_table(),
        "",
    ]
    for command in tree.commands:
        lines += _section(command, level=2)
    return "\n".join(lines).rstrip() + "\n"


def _list(tree: Command) -> Iterator[str]:
    for title, commands in groups(tree):
        yield from (f"**{title}**", "", "| command | what it does |", "|---|---|")
        for item in commands:
            yield f"| [`ragmem {item.name}`](#ragmem-{item.name}) | {_cell(item.summary)} |"
        yield ""


def exit_code_table() -> str:
    """Return the exit codes as a table."""
    rows = [f"| `{code}` | {meaning} |" for code, meaning in exit_codes()]
    return "\n".join(("| code | meaning |", "|---|---|", *rows))


def _section(command: Command, *, level: int) -> Iterator[str]:
    yield from ("#" * level + " ragmem " + " ".join(command.path), "", command.summary, "")
    if command.description:
        yield from (command.description, "")
    yield from ("```", command.usage, "```", "")
    if command.arguments:
        yield from ("| argument | meaning |", "|---|---|", *map(_argument_row, command.arguments), "")
    yield from ("| option | meaning |", "|---|---|", *map(_option_row, command.options), "")
    if command.examples:
        yield from ("Examples:", "", "```sh", *command.examples, "```", "")
    if command.exit_codes:
        codes = "; ".join(f"`{code}` {meaning}" for code, meaning in command.exit_codes)
        yield from (f"Exit codes: {codes}.", "")
    for below in command.commands:
        yield from _section(below, level=level + 1)


def _argument_row(argument: Argument) -> str:
    shown = argument.value.shown + ("..." if argument.repeatable else "")
    return f"| `{shown}` | {_cell(argument.help)} |"


def _option_row(option: Option) -> str:
    names = ", ".join(f"`{name}`" for name in option.names)
    meaning = option.help
    shown = ""
    if option.value and option.value.form == "words":
        meaning += " One of " + ", ".join(f"`{word}`" for word in option.value.words) + "."
    elif option.value:
        shown = f" `{option.value.shown}`"
    if option.default:
        meaning += f" Default: `{option.default}`."
    return f"| {names}{shown} | {_cell(meaning)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
