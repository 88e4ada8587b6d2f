"""Check configuration values, and suggest the nearest name for a mistyped one."""

import re
from collections.abc import Iterable
from dataclasses import field
from typing import Any

from ragmem.frozen import dataclass

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})

MAX_QUOTED = 60
"""Characters of a wrong value that a message repeats."""


@dataclass(frozen=True, slots=True)
class Rule:
    """The description of a key and the bounds of its value; the type is that of its default."""

    about: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    patterns: bool = False


def key(
    default: Any,
    about: str,
    *,
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
    patterns: bool = False,
) -> Any:
    """Return a dataclass field with its rule; a default that is a table is copied."""
    rule = {"rule": Rule(about, low, high, choices, patterns)}
    if isinstance(default, dict):
        return field(default_factory=lambda: dict(default), metadata=rule)
    return field(default=default, metadata=rule)


def check(value: Any, default: Any, rule: Rule) -> Any:
    """Return the value in the type of the default (a list becomes a tuple, a whole number a float).

    Raises ValueError with the expected form.
    """
    if isinstance(default, bool):
        _require(isinstance(value, bool), "true or false", value)
    elif isinstance(default, int | float):
        value = _number(value, default, rule)
    elif isinstance(default, str):
        if rule.choices:
            _require(value in rule.choices, "one of " + ", ".join(rule.choices), value)
        _require(isinstance(value, str) and bool(value), "a text", value)
    elif isinstance(default, tuple):
        value = [value] if isinstance(value, str) else value
        listed = isinstance(value, list) and all(isinstance(item, str) and item for item in value)
        _require(listed, "a text or a list of texts", value)
        value = tuple(value)
        if rule.choices:
            _require(set(value) <= set(rule.choices), "some of " + ", ".join(rule.choices), ", ".join(value))
        if rule.patterns:
            _check_patterns(value)
    else:
        _require(isinstance(value, dict), "a table", value)
    return value


def _check_patterns(patterns: Iterable[str]) -> None:
    for pattern in patterns:
        try:
            matches_nothing = re.compile(pattern).fullmatch("") is not None
        except re.error as error:
            raise ValueError(f'is not a regular expression: "{pattern}" ({error})') from error
        _require(not matches_nothing, "a pattern that matches non-empty text", pattern)


def _number(value: Any, default: float, rule: Rule) -> float:
    whole = isinstance(default, int)
    wanted = "a whole number" if whole else "a number"
    bounds = [f"at least {rule.low:g}"] if rule.low is not None else []
    bounds += [f"at most {rule.high:g}"] if rule.high is not None else []
    if bounds:
        wanted += " of " + " and ".join(bounds)
    fits = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
    _require(fits, wanted, value)
    # Written so that NaN, which compares with nothing, fails as well.
    _require(rule.low is None or value >= rule.low, wanted, value)
    _require(rule.high is None or value <= rule.high, wanted, value)
    if whole:
        return int(value)
    try:
        number = float(value)
    except OverflowError:
        number = float("inf")
    _require(abs(number) < float("inf"), "a finite number", value)
    return number


def parse(text: str, default: Any) -> Any:
    """Return the text of an environment variable as a value of the default's type, for `check`.

    A text that does not fit the type is returned unchanged, and `check` refuses it.
    """
    if isinstance(default, bool):
        word = text.strip().lower()
        return True if word in _TRUE else False if word in _FALSE else text
    if isinstance(default, int | float):
        try:
            return int(text) if isinstance(default, int) else float(text)
        except ValueError:
            return text
    return text


def nearest(name: str, names: Iterable[str], *, otherwise: str = "") -> str:
    """Return a hint with the nearest valid name; if none is near, `otherwise`, or all names without it."""
    # Needed for what is misspelt alone.
    import difflib  # noqa: PLC0415

    known = list(names)
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    return f'did you mean "{close[0]}"?' if close else otherwise or "known: " + ", ".join(known)


def _require(fits: bool, wanted: str, value: Any) -> None:  # noqa: FBT001 - a condition, not a switch
    if fits:
        return
    shown = (
        f'"{value}"'
        if isinstance(value, str)
        else str(value).lower()
        if isinstance(value, bool)
        else f"{value}"
    )
    shown = shown if len(shown) <= MAX_QUOTED else shown[:MAX_QUOTED] + "..."
    raise ValueError(f"must be {wanted}, not {shown}")
