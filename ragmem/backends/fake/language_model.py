"""A language model that answers by rule: well, badly or not at all."""

import hashlib
import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

from ragmem.errors import BackendError
from ragmem.ports import Call, Meter, Purpose

_NAME = re.compile(r"\b[A-Z][\w-]+")
_WORD = re.compile(r"\s*\S+|\s+\Z")
_MOST_NAMES = 12
_CHARACTERS_PER_TOKEN = 4

_VALUES: Mapping[str, Any] = {"integer": 0, "number": 0.5, "boolean": True, "null": None}

# Outputs of bad models. {name} becomes a name from the prompt, so that a part of them is plausible.
_GARBAGE = (
    "",
    "   \n",
    "Sure! Here are the entities you asked for: {name} and a few others.",
    '```json\n{"entities": [{"name": "{name}", "type": "concept", "description": "It is named."}]}\n```',
    '{"entities": [{"name": "{name}", "type": "con',
    '{"entities": "{name}", "relationships": 7}',
    '{"entities": [7, null, ["{name}"], {"name": 3}, {"title": "{name}"}], "relationships": [{}, "{name}"]}',
    '{"entities": [{"name": "", "type": "", "description": ""}, {"name": "Nowhere in the text"}]}',
    '{"relationships": [{"source": "{name}", "target": "{name}", "keywords": [], "description": {}}]}',
    '["{name}"]',
    "null",
    "NaN",
    '{"entities": [{"name": "\\u0000\\ud800{name}", "type": "\\u001b[31m", "description": "'
    + "x" * 9000
    + '"}]}',
    "[" * 5000,
    '{"entities": [' + '{"name": "{name}", "type": "concept", "description": "Again."},' * 2000 + "]}",
    "<think>The user wants JSON, but what is JSON? " + "Let me think. " * 500,
)


class FakeLanguageModel:
    """Answers in the manner "valid", "garbage" or "down"; the same prompt always gets the same answer."""

    def __init__(self, manner: str, options: Mapping[str, object] | None = None) -> None:
        """Raise BackendError when the manner is not one of the three."""
        manners: Mapping[str, Callable[..., str]] = {"valid": _valid, "garbage": _garbage, "down": _refuse}
        if manner not in manners:
            raise BackendError(
                f'the fake backend has no language model "{manner}"', hint="use valid, garbage or down"
            )
        given = options or {}
        self._answer = manners[manner]
        self._meter = cast("Meter | None", given.get("meter"))
        self._purpose = cast("Purpose", given.get("purpose", "extraction"))
        self.model_id = f"fake-{manner}"

    def complete(
        self,
        prompt: str,
        *,
        system: str = "",
        max_tokens: int = 1024,
        json_schema: Mapping[str, Any] | None = None,
    ) -> str:
        """Return entities and relationships if requested, else an example for the schema, or a line.

        They are requested by a schema with the property `entities`, or by that word in the system prompt.
        Capitalised words of the prompt are the entities, neighbours are related. The answer is cut at
        max_tokens.
        """
        if self._meter is not None:
            self._meter.admit(self._purpose)
        answer, error = "", ""
        try:
            answer = self._answer(prompt, system, json_schema)[: max_tokens * _CHARACTERS_PER_TOKEN]
        except BackendError:
            error = "down"
            raise
        finally:
            if self._meter is not None:
                tokens = [-(-len(text) // _CHARACTERS_PER_TOKEN) for text in (system + prompt, answer)]
                self._meter.record(
                    Call("fake", self.model_id, self._purpose, tokens[0], tokens[1], error=error)
                )
        return answer

    def stream(self, prompt: str, *, system: str = "", max_tokens: int = 1024) -> Iterator[str]:
        """Yield the same answer word by word."""
        yield from _WORD.findall(self.complete(prompt, system=system, max_tokens=max_tokens))


def _valid(prompt: str, system: str, schema: Mapping[str, Any] | None) -> str:
    if "entities" in ((schema or {}).get("properties") or {}) or (schema is None and "entities" in system):
        return json.dumps(_extraction(prompt), ensure_ascii=False)
    if schema is not None:
        return json.dumps(_example(schema), ensure_ascii=False)
    return f"{len(prompt.split())} words were said."


def _extraction(text: str) -> dict[str, list[dict[str, str]]]:
    names = list(dict.fromkeys(_NAME.findall(text)))[:_MOST_NAMES]
    return {
        "entities": [
            {"name": name, "type": "concept", "description": f"{name} is named in the text."}
            for name in names
        ],
        "relationships": [
            {
                "source": source,
                "target": target,
                "keywords": "named together",
                "description": f"{source} is named beside {target}.",
            }
            for source, target in itertools.pairwise(names)
        ],
    }


def _example(schema: Mapping[str, Any]) -> Any:
    """Return the smallest value for a simple schema with types, required properties and choices."""
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type", "object")
    if isinstance(kind, Sequence) and not isinstance(kind, str):
        kind = kind[0]
    if kind == "object":
        properties = schema.get("properties", {})
        return {name: _example(properties.get(name, {})) for name in schema.get("required", properties)}
    if kind == "array":
        return [_example(schema.get("items", {})) for _ in range(schema.get("minItems", 0))]
    return "text" if kind == "string" else _VALUES[kind]


def _garbage(prompt: str, system: str, schema: Mapping[str, Any] | None) -> str:
    del system, schema
    number = int.from_bytes(hashlib.blake2b(prompt.encode("utf-8", "replace"), digest_size=4).digest())
    found = _NAME.search(prompt)
    return _GARBAGE[number % len(_GARBAGE)].replace("{name}", found.group() if found else "Nothing")


def _refuse(prompt: str, system: str, schema: Mapping[str, Any] | None) -> str:
    del prompt, system, schema
    raise BackendError("the fake language model is down", hint="set model = valid or garbage")
