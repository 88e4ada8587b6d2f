"""docs/cli.md: the reference of the command line."""

from collections import Counter
from collections.abc import Iterator

from generating.tree import Argument, Command, Option, exit_codes, groups

CONTRACT = """\
## Conventions of all commands

- Standard output is the answer and nothing else; progress, notes, warnings and errors go to standard error.
- An error is one line, `ragmem: ...`. If there is a next step, a blank line and `hint: ...` follow.
  Standard output stays empty.
- `--json` prints one document with a `schema` number. Fields may be added; any other change raises that
  number. Times are RFC 3339 in UTC.
- The text is the same on a terminal and in a pipe. Colours need a terminal or `FORCE_COLOR`; `NO_COLOR` and
  `TERM=dumb` turn them off, and colour never carries meaning alone.
- Most commands that write take `--dry-run`, which shows the plan without carrying it out.
- `ragmem hook EVENT` always exits with 0 within its deadline, and prints JSON for the assistant or nothing
  (docs/hooks.md).
- `ragmem --offline COMMAND` lets nothing leave this machine, and reports on standard error what was opened.
  `RAGMEM_OFFLINE=1` does the same without the report (docs/models.md).
- An option's value follows it as the next word or after `=`, and is never empty. `--` ends the options.

## Exit codes

These apply to all commands. A code that is not listed means failure.

"""


MANY = 5
"""Of so many commands an option with the same words is described once, at the head of the page."""


def reference(tree: Command) -> str:
    """Return docs/cli.md."""
    counted = Counter(_option_row(option) for one in _all(tree) for option in one.options)
    shared = {row for row, commands in counted.items() if commands >= MANY}
    lines = [
        "# The command line",
        "",
        "```",
        "ragmem COMMAND --help    # the section below about one command",
        "ragmem help WORDS        # search all pages offline",
        "```",
        "",
        "`scripts/generate.py` writes this page from the commands: do not edit it.",
        "",
        f"{tree.summary}. {tree.description}",
        "",
        *_list(tree),
        CONTRACT + exit_code_table(),
        "",
        "## Common options",
        "",
        "Every command has `-h`, `--help`. The others mean the same in every command that lists them:",
        "",
        *(row for row in counted if row in shared and "`--help`" not in row),
        "",
    ]
    for command in tree.commands:
        lines += _section(command, shared, level=2)
    return "\n".join(lines).rstrip() + "\n"


def _list(tree: Command) -> Iterator[str]:
    for title, commands in groups(tree):
        yield from (f"**{title}**", "")
        for item in commands:
            yield f"- [`ragmem {item.name}`](#ragmem-{item.name}): {item.summary}"
        yield ""


def _all(command: Command) -> Iterator[Command]:
    for below in command.commands:
        yield below
        yield from _all(below)


def exit_code_table() -> str:
    """Return the exit codes as a table."""
    rows = [f"| `{code}` | {meaning} |" for code, meaning in exit_codes()]
    return "\n".join(("| code | meaning |", "|---|---|", *rows))


def _section(command: Command, shared: set[str], *, level: int) -> Iterator[str]:
    yield from ("#" * level + " ragmem " + " ".join(command.path), "", command.summary, "")
    if command.description:
        yield from (command.description, "")
    yield from ("```", command.usage, "```", "")
    arguments = [_argument_row(argument) for argument in command.arguments]
    own = [row for option in command.options if (row := _option_row(option)) not in shared]
    if arguments or own:
        yield from (*arguments, *own, "")
    also = [option.names[-1] for option in command.options if _option_row(option) in shared]
    if also := [f"`{name}`" for name in also if name != "--help"]:
        yield from (f"Also {', '.join(also)}.", "")
    if command.examples:
        yield from ("```sh", *command.examples, "```", "")
    if command.exit_codes:
        codes = ". ".join(f"`{code}` {meaning}" for code, meaning in command.exit_codes)
        yield from (f"Exit codes: {codes}.", "")
    for below in command.commands:
        yield from _section(below, shared, level=level + 1)


def _argument_row(argument: Argument) -> str:
    shown = argument.value.shown + ("..." if argument.repeatable else "")
    return f"- `{shown}`: {argument.help}"


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
    return f"- {names}{shown}: {meaning}"
