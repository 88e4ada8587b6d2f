"""JSON schemas in the dialects of the providers."""

from collections.abc import Callable, Mapping
from typing import Any

import orjson

# The keywords of Google's subset of OpenAPI.
_SUBSET = {
    "type", "format", "description", "enum", "items", "minItems", "maxItems", "properties", "required",
    "nullable", "anyOf", "minimum", "maximum",
}  # fmt: skip
# Constraints that strict modes refuse; the answer is checked against them afterwards anyway.
_LOOSE = {
    "minLength", "maxLength", "pattern", "minItems", "maxItems", "uniqueItems", "minimum", "maximum",
    "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "default", "$schema", "title",
}  # fmt: skip


def strict_schema(schema: Any) -> Any:
    """Return the schema as strict modes want it: every object closed, and all its properties required."""
    closed = _map_parts(schema, strict_schema, lambda name: name not in _LOOSE)
    if isinstance(closed, dict) and "properties" in closed:
        closed["required"] = list(closed["properties"])
        closed["additionalProperties"] = False
    return closed


def openapi_subset(schema: Any) -> Any:
    """Return the schema with the keywords of Google's `responseSchema`, which refuses any other."""
    return _map_parts(schema, openapi_subset, lambda name: name in _SUBSET)


def _map_parts(schema: Any, convert: Callable[[Any], Any], is_kept: Callable[[str], bool]) -> Any:
    """Return the schema with the kept keywords, and each schema in it converted."""
    if isinstance(schema, list):
        return [convert(part) for part in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {
        name: {each: convert(part) for each, part in value.items()}
        if _holds_schemas(name, value)
        else convert(value)
        for name, value in schema.items()
        if is_kept(name)
    }


def add_schema_to_prompt(system: str, schema: Mapping[str, Any]) -> str:
    """Return the system prompt with the schema in it, for servers that take no schema."""
    wanted = f"Answer with JSON alone, of this JSON schema: {orjson.dumps(schema).decode()}"
    return f"{system}\n\n{wanted}" if system else wanted


def _holds_schemas(name: str, value: Any) -> bool:
    """Return whether the keys of a value are names of properties, not keywords of JSON schema."""
    return name in {"properties", "$defs", "definitions"} and isinstance(value, Mapping)
