r"""Split and compare qualified names of all languages: `a.b.C.m`, `a::b::C::m`, `A::B#m`, `A\B::m`."""

import re

SEPARATOR = re.compile(r"::|->|[.#/\\]")
"""Separators of the parts; the name of a module may be a path with slashes."""


def parts_of(name: str) -> list[str]:
    """Return the parts of a qualified name, the outermost first."""
    return [part for part in SEPARATOR.split(name) if part]


def is_within(name: str, outer: str) -> bool:
    """Return whether a qualified name is within another at any depth, but not equal to it."""
    return name.startswith(outer) and SEPARATOR.match(name, len(outer)) is not None


def inside(name: str, outer: str) -> str:
    """Return a qualified name relative to another one; unchanged if it is outside."""
    found = SEPARATOR.match(name, len(outer)) if name.startswith(outer) else None
    return name[found.end() :] if found else name


def is_constructor(name: str, owner: str) -> bool:
    """Return whether a qualified name is that of a class's constructor; calls of it name the class.

    Not so in Python, where both have edges of their own.
    """
    return is_within(name, owner) and parts_of(inside(name, owner)) in (
        [parts_of(owner)[-1]],
        ["constructor"],
        ["__construct"],
        ["initialize"],
    )


def ends_with(name: str, end: list[str]) -> bool:
    """Return whether a qualified name ends with these parts (at least one)."""
    return name.endswith(end[-1]) and end[0] in name and parts_of(name)[-len(end) :] == end
