"""JSON schemas in the dialects of the providers."""

from collections.abc import Mapping
from typing import Any

import orjson

# What Google's subset of OpenAPI knows.
_SUBSET = {
    "type", "format", "description", "enum", "items", "minItems", "maxItems", "properties", "required",
    "nullable", "anyOf", "minimum", "maximum",
}  # fmt: skip
# Constraints that strict modes refuse; the answer is checked against them afterwards anyway.
_LOOSE = {
    "minLength", "maxLength", "pattern", "minItems", "maxItems", "uniqueItems", "minimum", "maximum",
    "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "default", "$schema", "title",
}  # fmt: skip


def strict(schema: Any) -> Any:
    """Return the schema as strict modes want it: every object closed, and all its properties required."""
    if isinstance(schema, list):
        return [strict(part) for part in schema]
    if not isinstance(schema, Mapping):
        return schema
    closed = {
        name: {each: strict(part) for each, part in value.items()}
        if _holds_schemas(name, value)
        else strict(value)
        for name, value in schema.items()
        if name not in _LOOSE
    }
    if "properties" in closed:
        closed["required"] = list(closed["properties"])
        closed["additionalProperties"] = False
    return closed


def subset(schema: Any) -> Any:
    """Return the schema with what Google's `responseSchema` knows; it refuses anything else."""
    if isinstance(schema, list):
        return [subset(part) for part in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {
        name: {each: subset(part) for each, part in value.items()}
        if _holds_schemas(name, value)
        else subset(value)
        for name, value in schema.items()
        if name in _SUBSET
    }


def in_words(system: str, schema: Mapping[str, Any]) -> str:
    """Return the system prompt with the schema in it, for servers that take none."""
    wanted = f"Answer with JSON alone, of this JSON schema: {orjson.dumps(schema).decode()}"
    return f"{system}\n\n{wanted}" if system else wanted


def _holds_schemas(name: str, value: Any) -> bool:
    """Return whether the keys of a value are names of the person's, not of JSON schema."""
    return name in {"properties", "$defs", "definitions"} and isinstance(value, Mapping)
