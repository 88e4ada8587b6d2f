"""Check the arguments of a tool call and the fields of a request; errors name the next step."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragmem.errors import UsageError

if TYPE_CHECKING:
    from ragmem.mcp.definitions import Schema, Tool

SHOWN = 60
"""Characters of a wrong value that the error quotes."""

_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list, tuple),
    "object": (dict,),
}
_IDS = frozenset({"ids", "replaces"})
_WORDS = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object of texts",
}


def check_arguments(tool: "Tool", arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call, without empty ones and with the defaults of missing ones.

    Models pass numbers and lists as text or the reverse, and "" or null for arguments that they leave out;
    these are converted. Raises UsageError for an argument that is unknown, missing or of the wrong type.
    """
    properties: dict[str, Schema] = tool.parameters["properties"]
    for name in arguments:
        if name not in properties:
            raise UsageError(
                f'{tool.name} has no argument "{name[:SHOWN]}"',
                hint=f"it has: {', '.join(properties) or 'none'}",
            )
    found: dict[str, Any] = {}
    for name, schema in properties.items():
        value = _coerce(name, schema, arguments.get(name))
        if value is not None:
            found[name] = _validate(name, schema, value)
        elif name in tool.parameters.get("required", ()):
            raise UsageError(f'{tool.name} needs the argument "{name}"', hint=_help(name, schema))
        elif "default" in schema:
            found[name] = schema["default"]
    return found


def _coerce(name: str, schema: "Schema", value: Any) -> Any:
    """Return a value, converted to the type of the schema where possible; None for an empty one."""
    kind = schema["type"]
    if isinstance(value, str):
        value = clean(value)
        if not value.strip():
            return None
        if kind == "boolean":
            value = _parse_json(value.lower())
        elif kind in {"integer", "number"} or (kind in {"array", "object"} and value.lstrip()[:1] in "[{"):
            value = _parse_json(value)
    if kind == "array" and value is not None and not isinstance(value, dict):
        if isinstance(value, str):
            # Lists of ids are shown with commas.
            value = re.split(r"[\s,]+", value.strip("[] ")) if name in _IDS else [value]
        items = value if isinstance(value, list | tuple) else [value]
        return [item for each in items if (item := _coerce(name, schema["items"], each)) is not None]
    if kind == "string" and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if kind == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text.strip())
    except (ValueError, RecursionError):
        return text


def _validate(name: str, schema: "Schema", value: Any) -> Any:
    kind = schema["type"]
    right = isinstance(value, _TYPES[kind]) and isinstance(value, bool) == (kind == "boolean")
    if kind == "array":
        wanted = _TYPES[schema["items"]["type"]]
        right = right and all(isinstance(item, wanted) and not isinstance(item, bool) for item in value)
    if kind == "object":
        right = right and all(isinstance(item, str) for item in value.values())
    if not right:
        words = f"a list, each item {_WORDS[schema['items']['type']]}" if kind == "array" else _WORDS[kind]
        raise UsageError(f"{name} is {_quote(value)}, not {words}", hint=_help(name, schema))
    if "enum" in schema and value not in schema["enum"]:
        if str(value).lower() in schema["enum"]:
            return str(value).lower()
        raise UsageError(f"there is no {name} {_quote(value)}", hint=f"one of: {', '.join(schema['enum'])}")
    least, most = schema.get("minimum"), schema.get("maximum")
    if (least is not None and not value >= least) or (most is not None and not value <= most):
        bounds = f"from {least} to {most}" if most is not None else f"{least} or more"
        raise UsageError(f"{name} is {value}", hint=f"give a number {bounds}")
    if kind == "object":
        return {clean(key): clean(item) for key, item in value.items()}
    return value


def text_field(request: Mapping[str, Any], name: str) -> str:
    """Return a text of a request, without lone surrogates; empty where it is missing. Raises UsageError."""
    value = request.get(name, "")
    if not isinstance(value, str):
        raise UsageError(f"{name} is not a text", hint="send a JSON string")
    return value.encode("utf-8", "replace").decode()


def folder_field(request: Mapping[str, Any], name: str) -> Path | None:
    """Return an absolute folder of a request; None for any other text. Raises UsageError."""
    folder = text_field(request, name)
    return Path(folder) if folder.startswith("/") and "\0" not in folder else None


def clean(text: str) -> str:
    """Return a text without NUL and lone surrogates, which neither the database nor a terminal accepts."""
    return text.encode("utf-8", "replace").decode().replace("\0", "")


def _quote(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return f'"{text[:SHOWN]}"'


def _help(name: str, schema: "Schema") -> str:
    return f"{name}: {schema.get('description') or _WORDS[schema['type']]}"
