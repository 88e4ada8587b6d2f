"""`ragmem inspect code`: a project's code, from an overview down to one symbol."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from ragmem.cli.common import (
    bold,
    dim,
    one_line,
    open_memory,
    plural,
    printable,
    say,
    say_json,
    table,
    tell,
    tell_rest,
)
from ragmem.cli.inspect.impact import CodeProjectOption
from ragmem.cli.options import JsonOption, LimitOption
from ragmem.domain.code.qualified_names import inside
from ragmem.errors import EXIT_OK

LINES = 60
"""Lines of a list that people see without --limit."""

LINKS = 12
"""Links of a memory to code that people see."""

SAID = 90
"""Characters of a purpose in a table."""


def code(
    symbol: Annotated[
        str, typer.Argument(metavar="[SYMBOL]", help="A folder, a file or a symbol; without it, everything.")
    ] = "",
    project: CodeProjectOption = "",
    limit: LimitOption = None,
    as_json: JsonOption = False,
) -> int:
    """Show the code graph: languages and most used files, a folder's files, or a file's symbols."""
    with open_memory() as memory:
        shape = memory.code.map(symbol, project=project)
    if as_json:
        say_json({"schema": 1, **shape})
        return EXIT_OK
    ((view, found),) = shape.items()
    {"overview": _say_overview, "folder": _say_folder, "file": _say_file, "symbol": _say_symbol}[view](
        found, limit or LINES
    )
    return EXIT_OK


def _say_overview(found: dict[str, Any], most: int) -> None:
    say(f"{bold('root')}       {found['root']}")
    counts = (
        f"{plural(found['files'], 'file')}, {plural(found['symbols'], 'symbol')},"
        f" {plural(found['references'], 'reference')}"
    )
    say(f"{bold('code')}       {counts}")
    for name in ("languages", "kinds", "folders"):
        listed = ", ".join(f"{key} {count:,}" for key, count in list(found[name].items())[:20])
        say(f"{bold(name.ljust(9))}  {listed}")
    outside = ", ".join(f"{name} {count:,}" for name, count in found["most_imported_from_outside"].items())
    if outside:
        say(f"{bold('outside')}    {outside}")
    say()
    table(
        ("most imported", "by files", "purpose"),
        [(one["file"], one["importers"], _line(one["purpose"])) for one in found["most_imported"][:most]],
    )
    for one in found["unread"][:most]:
        tell(f"note: {one['file']}: {one['problem']}")
    if not found["complete"]:
        tell("note: the code graph is incomplete: ragmem ingest --code .")
    from ragmem.readers.code.parsing import EXTRA, has_parser

    if not has_parser():
        tell(f"note: languages other than Python need tree_sitter: {EXTRA}")


def _say_folder(found: dict[str, Any], most: int) -> None:
    table(
        ("file", "symbols", "purpose"),
        [
            (one["file"], one["symbols"], _line(one["purpose"] or one["problem"]))
            for one in found["files"][:most]
        ],
    )
    tell_rest(len(found["files"]) - most, "file")


def _say_file(found: dict[str, Any], most: int) -> None:
    module = found["module"]
    say(f"{bold(found['path'])}  {dim(module)}")
    if found["purpose"]:
        say(f"  {found['purpose']}")
    if found["problem"]:
        tell(f"note: {found['problem']}")
    if found["former_paths"]:
        say(f"  formerly {', '.join(found['former_paths'])}")
    say()
    table(
        ("line", "kind", "symbol", "references", "doc"),
        [
            (
                one["line"],
                one["kind"],
                inside(one["symbol"], found["module"]),
                one["references"],
                _line(one["doc"]),
            )
            for one in found["symbols"][:most]
        ],
    )
    tell_rest(len(found["symbols"]) - most, "symbol")
    if found["referred_by"]:
        say(f"\n{bold('referred to by')}")
        for path, count in list(found["referred_by"].items())[:most]:
            say(f"  {path}  {dim(plural(count, 'reference'))}")


def _say_symbol(found: dict[str, Any], most: int) -> None:
    place = f"{found['kind']}  {found['file']}:{found['line']}-{found['end_line']}"
    say(f"{bold(found['symbol'])}  {dim(place)}")
    for line in found["doc"].splitlines():
        say(f"  {line}")
    if found["inside"]:
        say()
        table(
            ("line", "kind", "symbol", "doc"),
            [
                (
                    one["line"],
                    one["kind"],
                    inside(one["symbol"], found["symbol"]),
                    _line(one["doc"]),
                )
                for one in found["inside"][:most]
            ],
        )
    for name, end, said in (
        ("refers_to", "target", "refers to"),
        ("referred_by", "source", "referred to by"),
    ):
        if found[name]:
            say(f"\n{bold(said)}")
        for edge in found[name][:most]:
            at = f"{edge['kind']}  {edge['file']}:{edge['line']}"
            say(f"  {edge[end]}  {dim(at)}")
        tell_rest(len(found[name]) - most, "reference")


def say_code(links: Sequence[dict[str, Any]]) -> None:
    """Print the code that a memory mentions, as `services.code.shapes.links_shape` returns it."""
    for number, link in enumerate(links[:LINKS]):
        name = "code" if number == 0 else ""
        on = ", ".join(str(line) for line in link["mentioned_on"][:5])
        how = ["edited"] if link["edited"] else []
        how += [f"in line {on}"] if on not in {"", "0"} else ["in the title"] if on else []
        place = f"{link['file']}:{link['line']}  " if link["symbol"] else ""
        said = f"{printable(link['symbol'] or link['file'])}  {dim(printable(place + ', '.join(how)))}"
        say(f"{bold(name.ljust(12))} {said}")
    if len(links) > LINKS:
        tell(f"{len(links) - LINKS:,} more of its code; --json shows all")


def _line(text: str) -> str:
    return one_line(text.partition("\n\n")[0], SAID)
