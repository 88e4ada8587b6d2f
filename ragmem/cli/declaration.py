"""Declare commands, options and arguments without Typer, and read plain command lines by them.

Importing Typer takes a tenth of the time of a cold question. `app.load_command` gives it what is declared
here; whatever is not plain (a value to be checked, a mistake) is left to it.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ragmem.frozen import dataclass


@dataclass(frozen=True, slots=True)
class Parameter:
    """An option or, without names, an argument, with the settings that Typer knows it by."""

    names: tuple[str, ...]
    settings: Mapping[str, Any]


def option(*names: str, **settings: Any) -> Parameter:
    """Declare an option, as `typer.Option` does."""
    return Parameter(names, settings)


def argument(**settings: Any) -> Parameter:
    """Declare an argument, as `typer.Argument` does."""
    return Parameter((), settings)


@dataclass(frozen=True, slots=True)
class Command:
    """A command whose module does without Typer: a function with such parameters, and the end of its help."""

    function: Callable[..., int]
    epilog: str

    def read(self, arguments: Sequence[str]) -> dict[str, Any] | None:
        """Return name -> value for the function; None for all that is not plain, which Typer reads.

        Plain are flags, numbers in their range, words, and one argument.
        """
        options: dict[str, tuple[str, Any, Mapping[str, Any]]] = {}
        expected = []
        for name, hint in self.function.__annotations__.items():
            for parameter in getattr(hint, "__metadata__", ())[:1]:
                if os.environ.get(parameter.settings.get("envvar", "")):
                    return None
                options |= dict.fromkeys(parameter.names, (name, hint.__origin__, parameter.settings))
                expected += [] if parameter.names else [name]
        values: dict[str, Any] = {}
        words: list[str] = []
        rest = iter(arguments)
        for word in rest:
            if word == "--":
                words += rest
            elif word[:1] != "-":
                words.append(word)
            elif word not in options:
                return None
            else:
                name, form, settings = options[word]
                value = True if form is bool else _value(next(rest, "-"), form, settings)
                if value is None:
                    return None
                values[name] = value
        # Letters that are no UTF-8 are not printable.
        if len(words) != len(expected) or not all(word and word.isprintable() for word in words):
            return None
        return values | dict(zip(expected, words, strict=True))


def _value(word: str, form: Any, settings: Mapping[str, Any]) -> str | int | None:
    """Return the value of an option; None for one that is not plain."""
    if form is str and word and word.isprintable() and word[:1] != "-":
        return word
    if form == int | None and word.isascii() and word.isdigit() and len(word) < 10:
        number = int(word)
        return number if settings.get("min", 0) <= number <= settings.get("max", number) else None
    return None
