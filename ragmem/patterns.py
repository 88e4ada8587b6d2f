"""Regular expressions that are compiled when they are first used.

Most texts need few of them, and compiling all took a fifth of the time of a cold question.
"""

import re
from collections.abc import Iterator
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


class _GuardPattern(_Lazy):
    """A pattern that is not even compiled while no text has what each match has.

    Once it is compiled, the compiled methods replace these.
    """

    def __init__(self, source: str, flags: int, needs: str) -> None:
        super().__init__(source, flags)
        self.needs = needs

    def may_match(self, text: str) -> bool:
        """Return whether a text has one of the needs; of letters beyond ASCII the cases are many."""
        return not text.isascii() or any(map(text.lower().__contains__, self.needs.split("|")))

    def search(self, text: str, *span: int) -> re.Match[str] | None:
        return self.__getattr__("search")(text, *span) if self.may_match(text) else None

    def match(self, text: str, *span: int) -> re.Match[str] | None:
        return self.__getattr__("match")(text, *span) if self.may_match(text) else None

    def fullmatch(self, text: str, *span: int) -> re.Match[str] | None:
        return self.__getattr__("fullmatch")(text, *span) if self.may_match(text) else None

    def finditer(self, text: str, *span: int) -> Iterator[re.Match[str]]:
        return self.__getattr__("finditer")(text, *span) if self.may_match(text) else iter(())

    def findall(self, text: str, *span: int) -> list[Any]:
        return self.__getattr__("findall")(text, *span) if self.may_match(text) else []

    def sub(self, put: Any, text: str, count: int = 0) -> str:
        return self.__getattr__("sub")(put, text, count) if self.may_match(text) else text

    def __reduce__(self) -> tuple[Any, ...]:
        return lazy, (self.pattern, self._flags, self.needs)


def lazy(source: _Letters, flags: int = 0, needs: str = "") -> re.Pattern[_Letters]:
    """Return a pattern that behaves like `re.compile(source, flags)`, but raises re.error at its first use.

    It is no instance of `re.Pattern`, so call its methods, not the functions of `re`. Each match of a pattern
    with `needs` ("a|b") has one of these strings, in lower case: for short texts that most often have none.
    """
    made = _GuardPattern(source, flags, needs) if needs and isinstance(source, str) else _Lazy(source, flags)
    return cast("re.Pattern[_Letters]", made)
