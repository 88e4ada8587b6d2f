"""The fields of JSON objects in answers: one definition of value, type, example and description.

The command line, MCP and REST use the values. `server.v1.memory_models` builds the models of `/openapi.json`
from the other attributes, and the web page shows each field without a place of its own.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Generic, TypeVar

from ragmem.domain.secrets.redaction import Redactor
from ragmem.frozen import dataclass

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class OutputField(Generic[_T]):
    """A field of an answer: `value` returns it without secrets, and `type` is its type in JSON.

    A field of the type `datetime` is a text in the format of RFC 3339.
    """

    name: str
    type: Any
    value: Callable[[_T, Redactor], Any]
    example: Any
    description: str = ""


def output_values(fields: Sequence[OutputField[_T]], item: _T, redactor: Redactor) -> dict[str, Any]:
    """Return name -> value of these fields of an item, in their order."""
    return {field.name: field.value(item, redactor) for field in fields}


def output_example(fields: Sequence[OutputField[_T]]) -> dict[str, Any]:
    """Return name -> example of these fields."""
    return {field.name: field.example for field in fields}


def rfc3339(moment: datetime) -> str:
    """Return a moment in UTC to the second, its year in four digits."""
    return f"{moment.year:04d}-{moment:%m-%dT%H:%M:%SZ}"
