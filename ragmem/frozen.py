"""Frozen dataclasses whose methods are compiled when they are first called.

`dataclasses` compiles six methods for each class while it is imported: a third of the time until a cold
question is answered. Most of these methods are never called.
"""

import dataclasses
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import dataclass  # type checkers know what that one makes
else:

    def dataclass(*, frozen: bool, slots: bool, kw_only: bool = False) -> "Callable[[type], type]":
        """Return the decorator that makes a frozen dataclass with slots; raises ValueError for another one.

        `fields`, `replace`, `asdict`, matching, comparing, hashing, copying and pickling work as they do with
        the decorator of `dataclasses`. Derived classes and InitVar are not supported.
        """
        if not (frozen and slots):
            raise ValueError("a class that is not frozen, or has no slots, needs dataclasses.dataclass")

        def decorate(cls: type) -> type:
            made = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True, kw_only=kw_only)(cls)
            for name, method in _METHODS.items():
                if name not in cls.__dict__:
                    setattr(made, name, method)
            for name, source in _SOURCES.items():
                if name not in cls.__dict__ or (name == "__hash__" and cls.__dict__[name] is None):
                    setattr(made, name, _first_call(made, name, source))
            return made

        return decorate


FEW = 4
"""Objects of a class that are made without a compiled `__init__`, which takes as long as making twenty."""


def _first_call(cls: type, name: str, source: "Callable[[type, dict[str, Any]], str]") -> Any:
    """Return a method that replaces itself by the compiled one."""
    made = 0

    def method(self: Any, *arguments: Any, **named: Any) -> Any:
        nonlocal made
        made += 1
        if name == "__init__" and made <= FEW and _assign(self, cls, arguments, named):
            return None
        scope: dict[str, Any] = {"cls": cls, "MISSING": dataclasses.MISSING}
        exec(source(cls, scope), scope)  # noqa: S102 - made of the names of fields, as `dataclasses` does
        compiled = scope[name]
        compiled.__qualname__ = f"{cls.__qualname__}.{name}"
        setattr(cls, name, compiled)
        return compiled(self, *arguments, **named)

    return method


def _assign(self: Any, cls: type, arguments: tuple[Any, ...], named: dict[str, Any]) -> bool:
    """Do what the compiled `__init__` would; return False for arguments that do not fit, which it reports."""
    fields = dataclasses.fields(cls)
    positional = [field.name for field in fields if field.init and not field.kw_only]
    given = dict(zip(positional, arguments, strict=False)) | named
    needed = {field.name for field in fields if field.init and _default_of(field) is dataclasses.MISSING}
    if (
        len(arguments) > len(positional)
        or len(given) < len(arguments) + len(named)
        or not needed <= given.keys() <= {field.name for field in fields if field.init}
    ):
        return False
    for field in fields:
        default = _default_of(field)
        if field.name in given:
            object.__setattr__(self, field.name, given[field.name])
        elif default is not dataclasses.MISSING:
            object.__setattr__(self, field.name, default if default is field.default else default())
    if hasattr(cls, "__post_init__"):
        self.__post_init__()
    return True


def _default_of(field: "dataclasses.Field[Any]") -> Any:
    return field.default if field.default is not dataclasses.MISSING else field.default_factory


def _init_source(cls: type, scope: dict[str, Any]) -> str:
    positional, named = ["self"], ["*"]
    body = []
    for field in dataclasses.fields(cls):
        value = name = field.name
        default = ""
        if field.default is not dataclasses.MISSING:
            scope[f"default_{name}"] = field.default
            default = f"=default_{name}"
            value = name if field.init else f"default_{name}"
        elif field.default_factory is not dataclasses.MISSING:
            scope[f"make_{name}"] = field.default_factory
            default = "=MISSING"
            value = f"make_{name}()" + (f" if {name} is MISSING else {name}" if field.init else "")
        if field.init:
            (named if field.kw_only else positional).append(f"{name}{default}")
        if field.init or default:
            # The descriptor of the slot sets it in two thirds of the time of `object.__setattr__`.
            scope[f"put_{name}"] = getattr(cls, name).__set__
            body.append(f" put_{name}(self, {value})")
    if hasattr(cls, "__post_init__"):
        body.append(" self.__post_init__()")
    parameters = ", ".join(positional + (named if named[1:] else []))
    return "\n".join((f"def __init__({parameters}):", *(body or [" pass"])))


def _values(cls: type, owner: str) -> str:
    names = [f"{owner}.{field.name}" for field in dataclasses.fields(cls) if field.compare]
    return f"({', '.join(names)}{',' if names else ''})"


def _equal_source(cls: type, _: dict[str, Any]) -> str:
    same = f"{_values(cls, 'self')} == {_values(cls, 'other')}"
    return (
        f"def __eq__(self, other):\n return {same} if other.__class__ is self.__class__ else NotImplemented"
    )


def _hash_source(cls: type, _: dict[str, Any]) -> str:
    return f"def __hash__(self):\n return hash({_values(cls, 'self')})"


_SOURCES = {"__init__": _init_source, "__eq__": _equal_source, "__hash__": _hash_source}


def _repr(self: Any) -> str:
    shown = (
        f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr
    )
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refuse(self: Any, name: str, *_: Any) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot change {name!r} of a {type(self).__qualname__}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _restore(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)


_METHODS = {
    "__repr__": _repr,
    "__setattr__": _refuse,
    "__delattr__": _refuse,
    "__getstate__": _state,
    "__setstate__": _restore,
}
