"""Parse JSON of settings files with comments and trailing commas, recording the place of every value."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

MAX_DEPTH = 200
"""Nesting depth of settings; Python's stack is limited."""

_GAP = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_WORD = re.compile(r"-?[0-9][0-9eE+.\-]*|true|false|null")


class JsonTextError(ValueError):
    """The text is not JSON; `line` and `column` count from 1."""

    def __init__(self, what: str, text: str, place: int) -> None:
        super().__init__(what)
        self.line = text.count("\n", 0, place) + 1
        self.column = place - (text.rfind("\n", 0, place) + 1) + 1


@dataclass(frozen=True, slots=True)
class Node:
    """A value with its span in the text and its children."""

    kind: Literal["object", "array", "plain"]
    start: int
    end: int
    value: Any
    children: tuple["Child", ...] = ()

    def get(self, name: str) -> "Node | None":
        """Return a member of an object; of two with the same name the last one, which counts."""
        return next((child.node for child in reversed(self.children) if child.name == name), None)

    @property
    def items(self) -> Iterator["Node"]:
        """The values that an array or an object holds."""
        return (child.node for child in self.children)


@dataclass(frozen=True, slots=True)
class Child:
    """A member of an object or an item of an array (without a name); `comma` is the one after it, or -1."""

    start: int
    node: Node
    comma: int
    name: str | None = None


def read_json(text: str) -> Node:
    """Parse a text, which may have comments and a comma after the last entry.

    Raises JsonTextError for invalid JSON and for a text without a value.
    """
    reader = _Reader(text)
    start = reader.gap(1 if text.startswith("\ufeff") else 0)
    node = reader.value(start, 0)
    end = reader.gap(node.end)
    if end < len(text):
        reader.fail("there is text after the end", end)
    return node


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text

    def fail(self, what: str, place: int) -> NoReturn:
        raise JsonTextError(what, self.text, place)

    def gap(self, place: int) -> int:
        """Return the next place that is neither white space nor a comment."""
        found = _GAP.match(self.text, place)
        return found.end() if found else place

    def value(self, place: int, depth: int) -> Node:
        if depth > MAX_DEPTH:
            self.fail("nested too deeply", place)
        first = self.text[place : place + 1]
        if first == "{":
            return self._object(place, depth)
        if first == "[":
            return self._array(place, depth)
        if first == '"':
            end, value = self._string(place)
            return Node("plain", place, end, value)
        found = _WORD.match(self.text, place)
        if not found:
            self.fail(
                "a value is missing" if first in ("", "}", "]", ",", ":") else "this is not a value", place
            )
        try:
            return Node("plain", place, found.end(), json.loads(found[0]))
        except ValueError:
            self.fail(f"{found[0]} is not a number", place)

    def _string(self, place: int) -> tuple[int, str]:
        found = _STRING.match(self.text, place)
        if not found:
            self.fail("a text is not closed", place)
        try:
            return found.end(), json.loads(found[0])
        except json.JSONDecodeError as error:
            self.fail(error.msg.lower(), place + error.pos)

    def _object(self, start: int, depth: int) -> Node:
        children: list[Child] = []
        values: dict[str, Any] = {}
        place = self.gap(start + 1)
        while not self.text.startswith("}", place):
            if not self.text.startswith('"', place):
                self.fail("a name in quotes is missing, or the object is not closed", place)
            after, name = self._string(place)
            colon = self.gap(after)
            if not self.text.startswith(":", colon):
                self.fail('":" is missing', colon)
            node = self.value(self.gap(colon + 1), depth + 1)
            comma, following = self._comma(node.end, "}")
            children.append(Child(place, node, comma, name))
            values[name] = node.value
            place = following
        return Node("object", start, place + 1, values, tuple(children))

    def _array(self, start: int, depth: int) -> Node:
        children: list[Child] = []
        place = self.gap(start + 1)
        while not self.text.startswith("]", place):
            node = self.value(place, depth + 1)
            comma, following = self._comma(node.end, "]")
            children.append(Child(place, node, comma))
            place = following
        return Node("array", start, place + 1, [child.node.value for child in children], tuple(children))

    def _comma(self, end: int, closing: str) -> tuple[int, int]:
        place = self.gap(end)
        if self.text.startswith(",", place):
            return place, self.gap(place + 1)
        if not self.text.startswith(closing, place):
            self.fail(f'"," or "{closing}" is missing', place)
        return -1, place
