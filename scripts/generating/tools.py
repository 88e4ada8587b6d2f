"""docs/mcp.md: the parameters and costs of the tools, written into the page between two marks."""

import json
from collections.abc import Iterator
from pathlib import Path

from generating.tree import Command
from ragmem.mcp.definitions import INSTRUCTIONS, Tool, tools_of

PAGE = Path(__file__).resolve().parents[2] / "docs" / "mcp.md"
BEGIN, END = "<!-- BEGIN parameters -->", "<!-- END parameters -->"
CHARACTERS_PER_TOKEN = 4


def tools_page(tree: Command) -> str:
    """Return docs/mcp.md as it stands, with what the definitions say between the marks."""
    del tree  # the tools are no commands
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return "\n".join((f"{before}{BEGIN}", *_lines(), f"{END}{after}"))


def _lines() -> Iterator[str]:
    yield "Written by `scripts/generate.py` from the definitions: do not edit between the marks."
    yield "A tool that stores deletes and overwrites nothing."
    yield ""
    yield "| what is sent | tools | characters of JSON | tokens, at four characters each |"
    yield "|---|---|---|---|"
    for profile in ("default", "full"):
        tools = tools_of(profile)
        yield f"| `tools/list`, profile `{profile}` | {len(tools)} | {_cost(tools)} |"
    yield f"| instructions | | {_told(len(INSTRUCTIONS))} |"
    for profile in ("default", "full"):
        for tool in tools_of(profile):
            if tool.profile == profile:
                yield from _tool(tool)


def _cost(tools: tuple[Tool, ...]) -> str:
    listed = {"tools": [tool.to_json() for tool in tools]}
    return _told(len(json.dumps(listed, separators=(",", ":"))))


def _told(characters: int) -> str:
    return f"{characters:,} | {round(characters / CHARACTERS_PER_TOKEN):,}"


def _tool(tool: Tool) -> Iterator[str]:
    profile = "" if tool.profile == "default" else " (profile full)"
    yield ""
    yield f"### {tool.name}{profile}"
    yield ""
    yield f"{tool.description} {'Reads only.' if tool.read_only else 'Stores.'}"
    yield ""
    properties = tool.parameters["properties"]
    if not properties:
        yield "No parameters."
        return
    required = tool.parameters.get("required", ())
    for name, schema in properties.items():
        default = f"default `{schema['default']}`" if "default" in schema else ""
        told = "required" if name in required else default
        yield f"- `{name}`: {'; '.join(filter(None, (_meant(schema), told)))}"


def _meant(schema: dict[str, object]) -> str:
    words = {"string": "text", "integer": "whole number", "array": "list", "object": "object of texts"}
    said = [words.get(str(schema["type"]), str(schema["type"]))]
    if "minimum" in schema and "maximum" in schema:
        said.append(f"{schema['minimum']} to {schema['maximum']}")
    if isinstance(choices := schema.get("enum"), list):
        said.append("one of " + ", ".join(f"`{one}`" for one in choices))
    if told := schema.get("description"):
        said.append(str(told).replace("*", "\\*"))
    return "; ".join(said)
