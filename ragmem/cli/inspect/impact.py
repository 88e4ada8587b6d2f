"""`ragmem inspect impact`: the code that a change of a symbol or file affects, and memories about it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragmem.cli.common import bold, check_target, dim, open_memory, plural, say, say_json, tell, write_picture
from ragmem.cli.options import ForceOption, JsonOption, LimitOption, SvgOption
from ragmem.domain.secrets.redaction import Redactor
from ragmem.errors import EXIT_OK, UsageError

if TYPE_CHECKING:
    from ragmem.services.code.impact import Impact

SYMBOLS, TESTS, MEMORIES = 40, 10, 10
"""Lines of each list without --limit."""

FIELDS = 500
"""Entries of each list in --json without --limit."""

SymbolArgument = Annotated[
    str,
    typer.Argument(metavar="SYMBOL", help="A symbol's name, a file's path, or the end of either."),
]
CodeProjectOption = Annotated[
    str, typer.Option("--project", "-p", help="The code of this project: name, id or path.")
]


def impact(
    symbol: SymbolArgument,
    depth: Annotated[
        int, typer.Option("--depth", "-d", min=1, max=100, help="Number of steps from the target.")
    ] = 3,
    project: CodeProjectOption = "",
    limit: LimitOption = None,
    svg: SvgOption = None,
    force: ForceOption = False,
    mermaid: Annotated[bool, typer.Option("--mermaid", help="Print a Mermaid flowchart.")] = False,
    as_json: JsonOption = False,
) -> int:
    """Show what calls, imports or inherits a symbol or file, with its tests and memories."""
    if sum((as_json, mermaid, svg is not None)) > 1:
        raise UsageError("--json, --svg and --mermaid are mutually exclusive", hint="give one of them")
    check_target(svg, force=force)
    with open_memory() as memory:
        found = memory.code.impact(
            symbol, project=project, depth=depth, memories=limit or (FIELDS if as_json else MEMORIES)
        )
    if svg is not None or mermaid:
        _draw(found, svg, limit=limit, force=force)
    elif as_json:
        from ragmem.services.code.shapes import impact_shape

        say_json({"schema": 1, **impact_shape(found, limit=limit or FIELDS, redactor=memory.redactor)})
    else:
        _say(found, limit, redactor=memory.redactor)
    if not found.complete:
        tell("note: the code graph is incomplete: ragmem ingest --code .")
    return EXIT_OK


def _draw(found: "Impact", svg: Path | None, *, limit: int | None, force: bool) -> None:
    from ragmem.charts import layered_diagram
    from ragmem.services.code.impact import MOST, picture

    drawn = picture(found, most=limit or MOST)
    if svg is None:
        say(layered_diagram.mermaid(drawn).rstrip("\n"))
    else:
        write_picture(layered_diagram.svg(drawn), svg, drawn.title, force=force)


def _say(found: "Impact", limit: int | None, redactor: Redactor) -> None:
    from ragmem.services.code.shapes import impact_shape, unreached

    shape = impact_shape(found, limit=max(limit or 0, FIELDS), redactor=redactor)
    target = shape["target"]
    place = f"file, {plural(len(target['symbols']), 'symbol')}"
    if target["kind"] != "file":
        place = f"{target['kind']}  {target['files'][0]}:{target['symbols'][0]['line']}"
    say(f"{bold(target['name'])}  {dim(place)}")
    if target["former_path"]:
        say(f"  {target['former_path']} is now {target['name']}")
    if target["symbols"] and (doc := target["symbols"][0]["doc"]):
        say(f"  {doc.splitlines()[0]}")
    say(f"  {_depth_summary(shape['depths']) or unreached(target['kind'])}")
    most = limit or SYMBOLS
    at = 0
    for one in shape["reached"][:most]:
        if one["depth"] != at:
            at = one["depth"]
            say(f"\n{bold(f'depth {at}')}")
        _say_symbol(one)
    _say_rest(shape["reached_total"] - most, "symbol")
    if shape["tests"]:
        most = limit or TESTS
        say(f"\n{bold('tests')}")
        for one in shape["tests"][:most]:
            _say_symbol(one)
        _say_rest(shape["tests_total"] - most, "test")
    else:
        say(f"\n{bold('tests')}  none found")
    say_memories(shape, limit or MEMORIES)
    if found.beyond:
        tell(f"{plural(found.beyond, 'symbol')} beyond depth {found.depth}; --depth shows them")


def _depth_summary(depths: dict[str, int]) -> str:
    total = sum(depths.values())
    if not total:
        return ""
    each = ", ".join(f"{count:,} at depth {depth}" for depth, count in depths.items())
    return f"1 symbol depends on it: {each}" if total == 1 else f"{total:,} symbols depend on it: {each}"


def _say_symbol(one: dict[str, Any]) -> None:
    reference = one["references"][0]
    how = ", ".join(dict.fromkeys(edge["kind"] for edge in one["references"] if edge["kind"] != "tests"))
    via = f" {reference['target']}" if one["depth"] > 1 else ""
    more = f" +{len(one['references']) - 1}" if len(one["references"]) > 1 else ""
    at = f"{how or reference['kind']}{via}  {reference['file']}:{reference['line']}{more}"
    say(f"  {one['score']:.2f}  {one['symbol']}  {dim(at)}")


def _say_rest(count: int, noun: str) -> None:
    if count > 0:
        say(f"  {count:,} more {noun if count == 1 else noun + 's'}; -n shows them")


def say_memories(shape: dict[str, Any], most: int) -> None:
    """Print the memories of code, as `services.code.shapes.memories_shape` returns them."""
    if not shape["memories"]:
        return
    say(f"\n{bold('memories')}")
    for one in shape["memories"][:most]:
        category = "" if one["category"] == "none" else f", {one['category'].replace('_', ' ')}"
        about = f"{one['id']}  {one['event_time'][:10]}  {one['kind']}{category}"
        say(f"  {one['title'] or one['source']}  {dim(about)}")
        for place in one["places"][:2]:
            where = "edited" if place["how"] == "edit" else f"line {place['line']}"
            where = "title" if place["line"] == 0 else where
            say(f"    {dim(where)}  {place['quote'] or place['means']}")
    rest = shape["memories_total"] - most
    if rest > 0:
        say(f"  {rest:,} more {'memory' if rest == 1 else 'memories'}; -n shows them")
