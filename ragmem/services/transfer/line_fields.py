"""The fields of a JSON object, each taken once and with its type."""

from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Self, TypeVar

LARGEST = 2**63 - 1

Line = Mapping[str, Any]
E_ = TypeVar("E_", bound=StrEnum)


class LineError(Exception):
    """A fault in a line; the message follows the line number."""


class Fields:
    """The fields of an object; each method takes one and raises LineError for an invalid one.

    At the end of a `with` block every field must have been taken; `taken` names those that are already known.
    """

    def __init__(self, values: Line, *taken: str) -> None:
        self._values = values
        self._taken = set(taken)

    def __enter__(self) -> Self:
        """Return the fields."""
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        """Raise LineError for a field that was not taken, unless another error was raised."""
        unknown = sorted(set(self._values) - self._taken)
        if unknown and error is None:
            raise LineError(f'the field "{unknown[0][:40]}" is unknown')

    def take(self, key: str, kind: type, words: str) -> Any:
        """Return the value under a key; `words` say what it must be."""
        self._taken.add(key)
        if key not in self._values:
            raise LineError(f'"{key}" is missing')
        value = self._values[key]
        # bool is an int to isinstance().
        if type(value) is not kind:
            raise LineError(f'"{key}" is not {words}')
        return value

    def text(self, key: str) -> str:
        """Return a text."""
        return str(self.take(key, str, "a text"))

    def name(self, key: str) -> str:
        """Return a text that is not empty."""
        if not (text := self.text(key)):
            raise LineError(f'"{key}" is empty')
        return text

    def number(self, key: str, *, lowest: int = 0) -> int:
        """Return a whole number that a database can hold."""
        return _bounded_int(key, self.take(key, int, "a whole number"), lowest)

    def moment(self, key: str) -> datetime:
        """Return a moment in UTC."""
        text = self.text(key)
        try:
            moment = datetime.fromisoformat(text)
            if moment.tzinfo is not None:
                return moment.astimezone(UTC)
        except (ValueError, OverflowError) as error:
            raise LineError(f'"{key}" is not a date') from error
        raise LineError(f'"{key}" has no time zone')

    def choice(self, key: str, choices: type[E_]) -> E_:
        """Return one of the words of an enumeration."""
        text = self.text(key)
        try:
            return choices(text)
        except ValueError as error:
            known = ", ".join(choices)
            raise LineError(f'"{key}" is "{text[:40]}", not one of {known}') from error

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of texts."""
        values = self.take(key, list, "a list")
        if not all(isinstance(value, str) for value in values):
            raise LineError(f'"{key}" contains something other than text')
        return tuple(values)

    def mapping(self, key: str, kind: type, words: str) -> dict[str, Any]:
        """Return an object whose values are all of one type."""
        values: dict[str, Any] = self.take(key, dict, "an object")
        if any(type(value) is not kind for value in values.values()):
            raise LineError(f'"{key}" contains something other than {words}')
        return values

    def numbers(self, key: str) -> dict[str, int]:
        """Return an object of whole numbers."""
        values = self.mapping(key, int, "a whole number")
        return {name: _bounded_int(key, value, 0) for name, value in values.items()}


def _bounded_int(key: str, value: int, lowest: int) -> int:
    if not lowest <= value <= LARGEST:
        raise LineError(f'"{key}" is out of range')
    return value
