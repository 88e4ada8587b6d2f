"""Convert dataclasses to plain JSON values and back, by their annotations."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

_T = TypeVar("_T")


def plain(value: Any) -> Any:
    """Return a value in plain JSON form; raises TypeError if it has none."""
    if type(value) in {NoneType, bool, int, float, str}:
        return value
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, datetime):
        return value.isoformat()
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {_name(name): plain(item) for name, item in value.items()}
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    raise TypeError(f"{type(value).__name__} has no plain form")


def _name(name: Any) -> str:
    if isinstance(name, str):
        return str(name)
    raise TypeError(f"a name is not text but {type(name).__name__}")


def from_plain(kind: type[_T], value: Any) -> _T:
    """Return the dataclass of a plain form.

    Raises ValueError or TypeError for an invalid one, KeyError for a missing field.
    """
    restored: _T = _restore(kind, value)
    return restored


def _restore(kind: Any, value: Any) -> Any:
    origin, arguments = get_origin(kind), get_args(kind)
    if value is None or kind is Any or origin is Literal:
        return value
    if origin in {Union, UnionType}:
        return _restore(next(one for one in arguments if one is not NoneType), value)
    if origin is not None:
        return _container(origin, arguments, value)
    if is_dataclass(kind):
        hints = _hints(kind)  # type: ignore[arg-type]
        return kind(**{name: _restore(hint, value[name]) for name, hint in hints.items()})  # type: ignore[operator]
    return _single(kind, value)


def _container(origin: Any, arguments: Sequence[Any], value: Any) -> Any:
    if issubclass(origin, Mapping):
        return {name: _restore(arguments[1], item) for name, item in value.items()}
    items = [_restore(arguments[0], item) for item in value]
    return tuple(items) if origin is tuple else items


def _single(kind: Any, value: Any) -> Any:
    if kind is datetime:
        return datetime.fromisoformat(value)
    if issubclass(kind, Enum):
        return kind(value)
    # An integer is valid for a float, and stays one.
    if not isinstance(value, int | float if kind is float else kind):
        raise TypeError(f"{value!r} is not a {kind.__name__}")
    return value


@cache
def _hints(kind: type) -> Mapping[str, Any]:
    known = get_type_hints(kind)
    return {field.name: known[field.name] for field in fields(kind)}
