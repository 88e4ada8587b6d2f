"""Qualified names of code in the ways of the languages: `a.b.C.m`, `a::b::C::m`, `A::B#m`, `src/a.f`."""

import re

SEPARATOR = re.compile(r"::|->|[.#/]")
"""What stands between the parts; a slash within the path that is a module's name."""


def parts_of(name: str) -> list[str]:
    """Return the names that a qualified one is made of, the outermost first."""
    return [part for part in SEPARATOR.split(name) if part]


def is_within(name: str, outer: str) -> bool:
    """Tell whether one qualified name lies in another, at whatever depth; none lies in itself."""
    return name.startswith(outer) and SEPARATOR.match(name, len(outer)) is not None


def inside(name: str, outer: str) -> str:
    """Return what a qualified name is within another one; itself where it does not lie in it."""
    found = SEPARATOR.match(name, len(outer)) if name.startswith(outer) else None
    return name[found.end() :] if found else name


def ends_with(name: str, end: list[str]) -> bool:
    """Tell whether a qualified name ends with these parts, one at least."""
    return name.endswith(end[-1]) and end[0] in name and parts_of(name)[-len(end) :] == end
