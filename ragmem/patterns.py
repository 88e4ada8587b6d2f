"""Regular expressions that are compiled when they are first used.

Most texts need few of them, and compiling all took a fifth of the time of a cold question.
"""

import re
from typing import Any, TypeVar, cast

__all__ = ["lazy"]

_Letters = TypeVar("_Letters", str, bytes)

_METHODS = ("match", "search", "fullmatch", "finditer", "findall", "sub", "subn", "split")


class _Lazy:
    """A pattern that is compiled on first use, with the methods of the compiled one."""

    def __init__(self, source: str | bytes, flags: int) -> None:
        self.pattern, self._flags = source, flags

    def __getattr__(self, name: str) -> Any:
        made = re.compile(self.pattern, self._flags)
        for method in _METHODS:
            setattr(self, method, getattr(made, method))
        return getattr(made, name)

    def __reduce__(self) -> tuple[Any, ...]:
        return lazy, (self.pattern, self._flags)


def lazy(source: _Letters, flags: int = 0) -> re.Pattern[_Letters]:
    """Return a pattern that behaves like `re.compile(source, flags)`, but raises re.error at its first use.

    It is no instance of `re.Pattern`, so call its methods, not the functions of `re`.
    """
    return cast("re.Pattern[_Letters]", _Lazy(source, flags))
