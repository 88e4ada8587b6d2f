"""Functions that all commands share: open the memory, write for people and for programs."""

import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import orjson

from ragmem.api.memory import Ragmem
from ragmem.cli.help import on_terminal
from ragmem.cli.options import JsonOption
from ragmem.errors import EXIT_OK, UsageError

if TYPE_CHECKING:
    import typer

SCHEMA = 1
"""Schema number of the JSON documents, raised when a field changes its meaning, not when one is added."""

SHOWN_GLOBS = 3


def format_reason(reason: str, *, explain: bool) -> str:
    """Return the first of the reasons for a decision; with `explain`, all of them."""
    return reason if explain else reason.partition("; ")[0]


def open_memory(*, sources_file: Path | None = None, quiet: bool = False) -> Ragmem:
    """Return this user's memory; warnings about the configuration and long waits go to stderr."""
    from ragmem.readers.failures import LOG

    memory = Ragmem.open(sources_file=sources_file)
    LOG.folder = memory.settings.places.state
    if not quiet:
        memory.catalog.announce = tell
        for warning in memory.settings.warnings:
            tell(f"warning: {warning}")
    return memory


def prepare_stored(memory: Ragmem) -> bool:
    """Bring an existing database up to date; return whether there is one.

    A disk that was full may have left it without tables.
    """
    if not memory.catalog.exists():
        return False
    memory.prepare()
    return True


def select_projects(memory: Ragmem, names: list[str] | None, *, every: bool) -> tuple[str, ...] | None:
    """Return the projects to search, as `query` does: the named ones, all, or this one and the user's."""
    if every and names:
        raise UsageError("--all and --project are mutually exclusive", hint="give one of them")
    memory.require()
    return memory.projects.resolve(names) if names else None if every else memory.projects.default()


def run_default_command(
    context: "typer.Context", show: Callable[..., int], *, group: str, as_json: bool
) -> int:
    """Run the default command of a group, unless a command was named.

    Raises UsageError for a --json before the name, which the named command would not see.
    """
    name = context.invoked_subcommand
    if name is None:
        return show(as_json=as_json)
    if as_json:
        raise UsageError(f"--json must follow {name}", hint=f"ragmem {group} {name} ... --json")
    return EXIT_OK


def command_group(name: str, *, about: str, epilog: str, default: str) -> "typer.Typer":
    """Return a group of commands that runs its command `default` if none is named."""
    import typer

    app = typer.Typer(
        rich_markup_mode=None,
        add_completion=False,
        pretty_exceptions_enable=False,
        help=about,
        epilog=epilog,
    )

    @app.callback(invoke_without_command=True)
    def run_default(context: typer.Context, as_json: JsonOption = False) -> int:
        commands = {
            one.name or one.callback.__name__: one.callback for one in app.registered_commands if one.callback
        }
        return run_default_command(context, commands[default], group=name, as_json=as_json)

    return app


def say(text: str = "") -> None:
    """Write a line of the answer to stdout, in its encoding, without control characters."""
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(_escape(text).encode(encoding, "backslashreplace").decode(encoding) + "\n")


def tell(text: str) -> None:
    """Write a line that is not part of the answer (progress, hints, warnings) to stderr, likewise."""
    encoding = sys.stderr.encoding or "utf-8"
    sys.stderr.write(_escape(text).encode(encoding, "backslashreplace").decode(encoding) + "\n")


_STYLE = f"\ufdd0{os.urandom(8).hex()}:"
"""Marks a style until it is written; random, so that stored texts cannot contain it."""

_STYLES = re.compile(f"{_STYLE}([0-9;]*)m")


def _escape(text: str) -> str:
    from ragmem.charts.widths import replace_controls

    return _STYLES.sub("\x1b[\\1m", replace_controls(text))


def say_fitted(text: str, *, indent: int = 0) -> None:
    """Write a line; on a terminal with colours wrapped, with further lines indented by `indent`."""
    if not on_terminal():
        say(text)
        return
    from ragmem.cli.terminal import write_line

    write_line(_escape(text), indent=indent)


def say_markdown(text: str) -> None:
    """Write Markdown; on a terminal with colours it is rendered."""
    if not on_terminal():
        say(text)
        return
    from ragmem.charts.widths import replace_controls
    from ragmem.cli.terminal import write_markdown

    write_markdown(replace_controls(text))


def style(text: str, codes: str) -> str:
    """Return the text in a style if stdout has colours; only `say` and `tell` can write it."""
    return f"{_STYLE}{codes}m{text}{_STYLE}0m" if colours() and text else text


def confirm(question: str) -> bool:
    """Ask a person at the terminal; Enter and the end of the input mean no."""
    try:
        sys.stderr.write(f"{_escape(question)} [y/N]: ")
        sys.stderr.flush()
        while True:
            answer = sys.stdin.readline()
            if answer.strip().lower() in {"y", "yes"}:
                return True
            if not answer:
                tell("")
            if answer.strip().lower() in {"", "n", "no"}:
                return False
            sys.stderr.write("answer y or n [y/N]: ")
            sys.stderr.flush()
    except KeyboardInterrupt:
        # The next output begins a new line.
        tell("")
        raise


def require_consent(question: str, *, nobody: str, hint: str, refused: str, refused_hint: str = "") -> None:
    """Ask a person; raise UsageError (`nobody`) without a terminal, and (`refused`) if the answer is no."""
    if not sys.stdin.isatty():
        raise UsageError(nobody, hint=hint)
    if not confirm(question):
        raise UsageError(refused, hint=refused_hint or hint)


def one_line(text: str, width: int) -> str:
    """Return a text in one line of at most `width` characters."""
    line = " ".join(text.split())
    return line if len(line) <= width else line[: width - 1].rstrip() + "…"


def tell_rest(count: int, noun: str, nouns: str = "") -> None:
    """Print on stderr how many more there are, if any."""
    if count > 0:
        tell(f"{count:,} more {noun if count == 1 else nouns or noun + 's'}; -n shows them")


def check_target(path: Path | None, *, force: bool) -> None:
    """Raise UsageError for a file that cannot be written; "-" is standard output, None no file."""
    from ragmem.services.processes.atomic_write import place_for

    if path is not None and str(path) != "-":
        place_for(path, force=force)


def write_picture(picture: str, path: Path, title: str, *, force: bool) -> None:
    """Write a picture into a new file, or to standard output for the path "-"."""
    if str(path) == "-":
        say(picture.rstrip("\n"))
        return
    from ragmem.services.processes.atomic_write import new_file

    with new_file(path, force=force) as file:
        file.write(picture.encode("utf-8"))
    say(f"{path}: {title}")


def standard_input(limit: int) -> bytes:
    """Return the bytes of standard input, at most `limit` + 1."""
    if sys.stdin.isatty():
        tell("reading from the terminal; end with ^D")
    return sys.stdin.buffer.read(limit + 1)


def say_json(value: Any, *, lines: bool = False) -> None:
    """Write a JSON document (indented) or one JSON line to stdout, UTF-8 whatever the locale."""
    from ragmem.charts.widths import escape_controls

    options = orjson.OPT_NAIVE_UTC | orjson.OPT_NON_STR_KEYS
    if not lines:
        options |= orjson.OPT_INDENT_2
    sys.stdout.flush()
    sys.stdout.buffer.write(escape_controls(orjson.dumps(value, default=_plain, option=options)) + b"\n")
    sys.stdout.buffer.flush()


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, set | frozenset):
        return sorted(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def moment(value: datetime) -> str:
    """Return a moment in RFC 3339, UTC, to the second."""
    return value.strftime("%Y-%m-%dT%H:%M:%SZ")


def local_minute(value: datetime) -> str:
    """Return a moment in the person's time zone, to the minute."""
    return f"{value.astimezone():%Y-%m-%d %H:%M}"


def colours() -> bool:
    """Return whether stdout takes colours: a terminal, and neither NO_COLOR nor a dumb one."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return bool(os.environ.get("FORCE_COLOR")) or sys.stdout.isatty()


def dim(text: str) -> str:
    """Return the text dimmed on a terminal with colours."""
    return style(text, "2")


def bold(text: str) -> str:
    """Return the text in bold on a terminal with colours."""
    return style(text, "1")


def printable(text: str) -> str:
    """Return the text with � for control characters, which could control the terminal."""
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() or character in "\n\t" else "�" for character in text)


def table(headers: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write aligned columns, numbers to the right; on a terminal with colours they fit its width."""
    cells = [[_cell(value) for value in row] for row in rows]
    numeric = [
        bool(cells) and all(_is_number(row[column]) for row in cells if row[column])
        for column in range(len(headers))
    ]
    if on_terminal():
        from ragmem.charts.widths import replace_controls
        from ragmem.cli.terminal import write_table

        write_table(headers, [[replace_controls(cell) for cell in row] for row in cells], numeric=numeric)
        return
    widths = [
        max(len(header), *(len(row[column]) for row in cells), 0) if cells else len(header)
        for column, header in enumerate(headers)
    ]

    def line(values: Sequence[str]) -> str:
        return "  ".join(
            value.rjust(width) if right else value.ljust(width)
            for value, width, right in zip(values, widths, numeric, strict=True)
        ).rstrip()

    say(bold(line(headers)))
    for row in cells:
        say(line(row))


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.4f}"
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d")
    return printable(str(value)).replace("\n", " ")


def _is_number(text: str) -> bool:
    return text.replace(",", "").replace(".", "").replace("-", "").isdigit()


def size(count: int) -> str:
    """Return bytes for people: 512 B, 3.4 MB."""
    amount = float(count)
    for unit in ("B", "kB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"


def shorten_home(path: str) -> str:
    """Return a path with ~ for the home folder."""
    home = str(Path.home())
    return f"~{path.removeprefix(home)}" if path.startswith(f"{home}/") else path


def plural(count: int, noun: str, nouns: str = "") -> str:
    """Return "1 memory", "2 memories"."""
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


def shown_globs(globs: Sequence[str]) -> str:
    """Return the globs of a source for people; of many, only the first ones."""
    more = len(globs) - SHOWN_GLOBS
    return ", ".join(globs[:SHOWN_GLOBS]) + (f" and {more} more" if more > 0 else "")


class Bar:
    """Progress on stderr: a bar on a terminal, nothing elsewhere."""

    def __init__(self, *, quiet: bool) -> None:
        self._live: Any = None
        self._task: Any = None
        self._unit = ""
        self._total = self._done = 0
        self._began = 0.0
        # A dumb terminal cannot erase a line.
        self._show = not quiet and sys.stderr.isatty() and os.environ.get("TERM") not in {"dumb", "unknown"}

    def begin(self, label: str, total: int, *, unit: str = "") -> None:
        """Start a phase of `total` steps, or bytes."""
        if not self._show:
            return
        self._unit, self._total, self._done, self._began = unit, total, 0, time.monotonic()
        if self._live is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

            self._live = Progress(
                TextColumn("{task.description:<12}"),
                BarColumn(20, style="dim", complete_style="magenta", finished_style="green"),
                TimeElapsedColumn(),
                TextColumn("left"),
                TimeRemainingColumn(),
                TextColumn("{task.fields[told]}"),
                console=Console(stderr=True),
                transient=True,
                # Output that is piped elsewhere must not be redirected.
                redirect_stdout=sys.stdout.isatty(),
            )
            self._live.start()
        elif self._task is not None:
            # The line of the former phase would stay until the end.
            self._live.remove_task(self._task)
        self._task = self._live.add_task(label, total=total, told=self._format_progress(""))

    def advance(self, steps: int = 1, *, told: str = "") -> None:
        """Count finished steps; `told` is a text about the result so far."""
        if self._live is not None:
            self._done += steps
            self._live.update(self._task, advance=steps, told=self._format_progress(told))

    def _format_progress(self, told: str) -> str:
        if self._unit != "bytes":
            return f"{self._done:,}/{self._total:,}"
        rate = self._done / max(0.001, time.monotonic() - self._began)
        also = f", {told}" if told else ""
        return f"{size(self._done)}, {size(int(rate))}/s{also}"

    def close(self) -> None:
        """Remove the bar."""
        if self._live is not None:
            self._live.stop()
            self._live = self._task = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
